"""Forms in which models write calls of tools: a table, and which of them a chat template speaks.

Each form is what its family was trained with. Literals may be written by special tokens or by their characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class ParameterForm:
    """Form of parameters: `before`, name, `between`, value, `after`."""

    before: str
    between: str
    after: str


@dataclass(frozen=True, slots=True)
class CallForm:
    """Form of calls: `begin`, then each call as `open`, name, `middle`, arguments, `close`, with `separator` between
    calls, then `end`.

    A `trigger`, with which `begin` and `open` start, tells calls from text. A tool that takes a text is called alone:
    `text_middle` stands between its name and the text, `text_end` behind it.
    """

    trigger: str
    open: str
    middle: str
    close: str
    separator: str
    text_middle: str
    text_end: str
    begin: str = ""
    end: str = ""
    parallel: bool = True
    """Whether an answer may hold several calls: Llama 3's templates refuse to show them."""
    parameters: ParameterForm | None = None
    """Form of arguments that are not a JSON object: a tag for each."""
    marks: tuple[str, ...] = ()
    """Texts that a chat template holds, all of them, where its model writes calls so; none: no template tells."""
    foreign: tuple[str, ...] = ()
    """Texts that such a template doesn't hold."""

    @property
    def lead(self) -> str:
        """Literal before the first call's name."""
        return self.begin + self.open

    @property
    def next(self) -> str:
        """Literal between one call's arguments and the next one's name."""
        return self.close + self.separator + self.open

    @property
    def last(self) -> str:
        """Literal behind the last call's arguments."""
        return self.close + self.end

    def is_of(self, template: str) -> bool:
        """Whether a chat template's source speaks this form."""
        held = bool(self.marks) and all(mark in template for mark in self.marks)
        return held and not any(mark in template for mark in self.foreign)


_MISTRAL = CallForm(
    trigger="[TOOL_CALLS]",
    begin="[TOOL_CALLS][",
    open='{"name": "',
    middle='", "arguments": ',
    close="}",
    separator=", ",
    end="]",
    text_middle='"}]\n',
    text_end="",
    marks=("[TOOL_CALLS]",),
)
_LLAMA = CallForm(
    trigger='{"name"',
    open='{"name": "',
    middle='", "parameters": ',
    close="}",
    separator="; ",
    text_middle='"}\n',
    text_end="",
    parallel=False,
    marks=('{"name": ', '"parameters": '),
)
_DEEPSEEK = CallForm(
    trigger="<｜tool▁calls▁begin｜>",
    begin="<｜tool▁calls▁begin｜>",
    open="<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    middle="\n```json\n",
    close="\n```<｜tool▁call▁end｜>",
    separator="\n",
    end="<｜tool▁calls▁end｜>",
    text_middle="\n```\n",
    text_end="\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    marks=("<｜tool▁calls▁begin｜>", "```json"),
)
_GLM = CallForm(
    trigger="<tool_call>",
    open="<tool_call>",
    middle="\n",
    close="</tool_call>",
    separator="\n",
    text_middle="\n<arg_key>input</arg_key>\n<arg_value>",
    text_end="</arg_value>\n</tool_call>",
    parameters=ParameterForm("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"),
    marks=("<arg_key>", "</arg_key>\n<arg_value>"),
)

FORMS: Mapping[str, CallForm] = {
    "hermes": CallForm(
        trigger="<tool_call>",
        open='<tool_call>\n{"name": "',
        middle='", "arguments": ',
        close="}\n</tool_call>",
        separator="\n",
        text_middle='"}\n',
        text_end="\n</tool_call>",
        marks=("<tool_call>", "arguments"),
        foreign=("<function=", "<arg_key>", "<parameter"),
    ),
    "qwen_coder": CallForm(
        trigger="<tool_call>",
        open="<tool_call>\n<function=",
        middle=">\n",
        close="</function>\n</tool_call>",
        separator="\n",
        text_middle=">\n<parameter=input>\n",
        text_end="\n</parameter>\n</function>\n</tool_call>",
        parameters=ParameterForm("<parameter=", ">\n", "\n</parameter>\n"),
        marks=("<tool_call>", "<function=", "<parameter="),
    ),
    "glm": _GLM,
    "glm_4_7": replace(
        _GLM,
        middle="",
        separator="",
        text_middle="<arg_key>input</arg_key><arg_value>",
        text_end="</arg_value></tool_call>",
        parameters=ParameterForm("<arg_key>", "</arg_key><arg_value>", "</arg_value>"),
        marks=("<arg_key>", "</arg_key><arg_value>"),
    ),
    "mistral_args": CallForm(
        trigger="[TOOL_CALLS]",
        open="[TOOL_CALLS]",
        middle="[ARGS]",
        close="",
        separator="",
        text_middle="[ARGS]",
        text_end="",
        marks=("[TOOL_CALLS]", "[ARGS]"),
    ),
    "mistral_spaced": replace(_MISTRAL, begin="[TOOL_CALLS] [", marks=("[TOOL_CALLS] [",)),
    "mistral": _MISTRAL,
    "deepseek": _DEEPSEEK,
    "deepseek_3_1": CallForm(
        trigger="<｜tool▁calls▁begin｜>",
        begin="<｜tool▁calls▁begin｜>",
        open="<｜tool▁call▁begin｜>",
        middle="<｜tool▁sep｜>",
        close="<｜tool▁call▁end｜>",
        separator="",
        end="<｜tool▁calls▁end｜>",
        text_middle="<｜tool▁sep｜>",
        text_end="<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        marks=("<｜tool▁calls▁begin｜>",),
    ),
    "harmony": CallForm(
        trigger="<|end|><|start|>assistant<|channel|>commentary",
        open="<|end|><|start|>assistant<|channel|>commentary to=functions.",
        middle=" <|constrain|>json<|message|>",
        close="",
        separator="",
        text_middle=" <|message|>",
        text_end="",
        parallel=False,
        marks=("<|channel|>", "to=functions."),
    ),
    "llama": _LLAMA,
    "python_tag": replace(_LLAMA, trigger="<|python_tag|>", begin="<|python_tag|>", marks=()),
}
"""Forms by name; the first one that a template speaks is its model's."""

NEUTRAL = "hermes"
"""Form for templates that speak none: JSON between tags, as which such templates are told of earlier calls too."""


def form_of(template: str) -> CallForm:
    """Form of calls for a chat template's source."""
    return next((form for form in FORMS.values() if form.is_of(template)), FORMS[NEUTRAL])
