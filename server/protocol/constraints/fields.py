"""Fields that constrain an answer, as OpenAI, vLLM, SGLang, llama.cpp and Ollama name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr

from grammar_cache.constraint import Whitespace
from server.protocol.formats import Choices, GrammarText, ResponseFormat, SchemaText, TagText
from server.protocol.strict import StrictModel

Lexer = Literal["dynamic", "contextual"]


class ConstraintOptions(StrictModel):
    """Options for reading a constraint; see `grammar_cache.constraint`."""

    whitespace: Whitespace | None = None
    """White space in JSON (docs/how-to/whitespace.md); null means `bounded`."""
    lenient: bool | None = None
    """Drops schema keywords that can't be enforced, and reports them."""
    start: str | None = Field(default=None, min_length=1, max_length=1_000)
    """Start rule of a grammar; null means `root` in GBNF, `start` in Lark."""
    lexer: Lexer | None = None
    """Way to tell the terminals of a Lark grammar apart (docs/explain/lexing.md); null means `dynamic`, Lark's own
    default.
    """


class StructuredOutputs(StrictModel):
    """A constraint as vLLM has it since 0.12: one of the first six."""

    json_: SchemaText | None = Field(default=None, alias="json")
    json_object: bool | None = None
    regex: str | None = None
    choice: Choices | None = None
    grammar: str | None = None
    structural_tag: TagText | None = None
    whitespace_pattern: str | None = None
    disable_any_whitespace: bool | None = None


class ConstraintFields(StrictModel):
    """Fields of a request that constrain its answer: at most one of them is set."""

    response_format: ResponseFormat | None = None
    """A constraint, by its `type`."""
    grammar: GrammarText | None = None
    """A constraint: a grammar, in GBNF if it holds `::=`, else in Lark; or `{"name": "sql"}`, a shipped grammar
    (docs/reference/grammars.md) or one that was registered.
    """
    json_schema: SchemaText | None = None
    """A constraint: a JSON Schema (docs/reference/json-schema.md), or its text."""
    regex: str | None = None
    """A constraint, as SGLang has it: a regular expression that the whole answer matches."""
    ebnf: str | None = None
    """A constraint, as SGLang has it: a grammar in GBNF."""
    structural_tag: TagText | None = None
    """A constraint, as vLLM and SGLang have it: a structural tag (docs/reference/structural-tags.md), or its text."""
    structured_outputs: StructuredOutputs | None = None
    """A constraint, as vLLM has it: one of `json` (a JSON Schema, or its text), `json_object` (if true), `regex`,
    `choice`, `grammar` (in GBNF if it holds `::=`, else in Lark) and `structural_tag` (or its text). With JSON,
    `disable_any_whitespace` asks for `compact` white space, and `whitespace_pattern` may be the empty one (`compact`)
    or all white space of JSON (`any`).
    """
    guided_json: SchemaText | None = None
    """A constraint, as vLLM had it: a JSON Schema, or its text."""
    guided_json_object: bool | None = None
    """A constraint, as vLLM had it: if true, any JSON object."""
    guided_regex: str | None = None
    """A constraint, as vLLM had it: a regular expression that the whole answer matches."""
    guided_choice: Choices | None = None
    """A constraint, as vLLM had it: up to 100,000 texts, one of which is the answer."""
    guided_grammar: str | None = None
    """A constraint, as vLLM had it: a grammar, in GBNF if it holds `::=`, else in Lark."""
    guided_whitespace_pattern: str | None = None
    """White space of JSON, as vLLM had it: see `structured_outputs`."""
    format: Literal["json"] | dict[str, Any] | None = None
    """A constraint, as Ollama has it: `json` for any JSON object, or a JSON Schema."""

    _unknown: tuple[str, ...] = PrivateAttr(())
    _other_names: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """Paths of fields that nobody knows, which were let through (`Settings.unknown_fields`)."""
        return self._unknown

    @property
    def other_names(self) -> Mapping[str, str]:
        """Paths of fields that were sent by another name (`server.protocol.foreign.names`), by ours."""
        return self._other_names

    def as_sent(self, let_through: Iterable[str], other_names: Mapping[str, str]) -> Self:
        """The request with what is told of the body that it was: see `unknown_fields` and `other_names`."""
        made = self.model_copy()
        made._unknown = tuple(let_through)
        made._other_names = dict(other_names)
        return made

    def constraining(self) -> Iterator[tuple[str, object]]:
        """Fields of the request that were set, with their values; some of them may constrain nothing."""
        for name in ConstraintFields.model_fields:
            value = getattr(self, name)
            if value is not None:
                yield name, value
