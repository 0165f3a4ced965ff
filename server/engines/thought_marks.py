"""Marks around a model's thought, and what a chat template tells of them. Knows strings only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

SWITCHES = ("enable_thinking", "thinking")
"""Variables by which templates open or close the thought of a turn (Qwen3, SmolLM3 and GLM; DeepSeek and Granite)."""


@dataclass(frozen=True, slots=True)
class ThoughtMarks:
    """Texts around a thought: `begin`, the thought, `end`, `between`, the answer.

    `begin` may have white space behind, with which models begin. `skip`: text that opens an answer without a thought,
    for templates that open neither.
    """

    begin: str
    end: str
    between: str = "\n\n"
    skip: str = ""

    @property
    def closer(self) -> str:
        """Text from the thought's last word to the answer's first."""
        return self.end + self.between

    def opened_in(self, prompt: str) -> bool | None:
        """Whether a prompt ends within a thought: False behind one that is closed, None where no mark ends it."""
        text = prompt.rstrip()
        if text.endswith(self.end.strip()):
            return False
        return True if text.endswith(self.begin.strip()) else None


HARMONY = ThoughtMarks(
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "",
    "<|channel|>final<|message|>",
)
"""Channels of gpt-oss: an analysis, then the final message."""
USUAL = ThoughtMarks("<think>\n", "</think>")
"""Marks of most models, and those by which any model is asked to think."""
KNOWN = (
    HARMONY,
    USUAL,
    ThoughtMarks("[THINK]", "[/THINK]", ""),
    ThoughtMarks("<seed:think>\n", "</seed:think>", "\n"),
    ThoughtMarks("◁think▷", "◁/think▷", ""),
)


@dataclass(frozen=True, slots=True)
class ThinkingTemplate:
    """Thoughts in a chat template. `by_default`: the model thinks where a turn's opening has no mark."""

    marks: ThoughtMarks
    by_default: bool


def thinking_template(
    template: str, variables: Collection[str], opening: Callable[[Mapping[str, object]], str]
) -> ThinkingTemplate | None:
    """Thoughts in a template, or None where it has no such marks.

    `variables`: names that it reads. `opening`: a chat with the opening of the assistant's turn, as the template
    renders it by some variables. A template may have marks only to cut thoughts from earlier turns; one that also has
    a switch to close them is of a model that thinks by itself.
    """
    marks = next((known for known in KNOWN if known.begin.strip() in template or known.end in template), None)
    if marks is None:
        return None
    for name in SWITCHES:
        closed = opening({name: False}) if name in variables else ""
        if closed and marks.opened_in(closed) is False:
            return ThinkingTemplate(replace(marks, between=closed[len(closed.rstrip()) :]), by_default=True)
    return ThinkingTemplate(marks, by_default=marks is HARMONY)
