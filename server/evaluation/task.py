"""Tasks, as every method of an evaluation is given them, and their judges: the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from grammar_cache import Constraint
from server.evaluation.members import Members

Form: TypeAlias = Literal["json_schema", "gbnf", "lark", "regex", "structural_tag"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a judge on a text, by programs that know no grammar of ours.

    `syntax`: the text is one of the format (JSON, SQL, LTL). `valid`: it meets the task's constraint too (the schema).
    `correct`: it means what the gold answer means; None where nobody can tell. `detail`: why not, in a few words.
    `members`: how those of the answer are, where it is JSON that is compared with a reference.
    """

    syntax: bool
    valid: bool
    correct: bool | None = None
    detail: str = ""
    members: Members | None = None


def cleaned(text: str) -> str:
    """A model's answer without what chat models put around it: the first fenced block if there is one, stripped.

    Applied to the text of every method, constrained or not.
    """
    opening = text.find("```")
    if opening >= 0:
        body = text[opening + 3 :]
        closing = body.find("```")
        body = body if closing < 0 else body[:closing]
        first, newline, rest = body.partition("\n")
        text = rest if (newline and first.strip().isalnum()) or not first.strip() else body
    return text.strip()


@dataclass(frozen=True, slots=True)
class Task:
    """One question of a dataset.

    `messages`: the chat, in the shape of OpenAI's API. `constraint`: what our engine enforces. `forms`: the same
    language in the dialects of other engines, as far as it was written in them; an engine without a form that it reads
    can't take part. `gold`: the reference answer. `judge` takes what `read` makes of the text. `shorter`: more texts
    that may be valid, made without any grammar: with `gold` they say how few tokens are known to be enough. `tools`:
    those that the prompt shows, in the shape of OpenAI's API; `tool_choice`: whether one has to be called.
    """

    name: str
    messages: tuple[Mapping[str, str], ...]
    constraint: Constraint
    gold: str
    judge: Callable[[str], Verdict] = field(repr=False, compare=False)
    forms: Mapping[Form, str] = field(default_factory=dict, repr=False)
    shorter: tuple[str, ...] = field(default=(), repr=False)
    tools: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    tool_choice: Literal["auto", "required"] = "auto"
    read: Callable[[str], str] = field(default=cleaned, repr=False, compare=False)
