"""`/v1/grammars`, `/v1/certify` and `/v1/explain`: what is asked and answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from server.protocol.completion import AnswerModel
from server.protocol.constraints.fields import ConstraintFields, ConstraintOptions
from server.protocol.strict import StrictModel
from server.protocol.tools.fields import ToolFields


class Precompute(StrictModel):
    """Distances of configurations up to a stack height, and of so many of them at most."""

    height: int = Field(ge=0, le=1_000)
    configurations: int = Field(default=10_000, ge=1, le=50_000)


class GrammarRequest(ConstraintFields):
    """`POST /v1/grammars`: a name for a constraint, which is told as in a chat request."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    swyb: ConstraintOptions | None = None
    precompute: Precompute | None = None


class TableInfo(AnswerModel):
    """A table of distances computed offline: its name, and how many it has. `height`: it is whole up to there."""

    name: str
    height: int
    entries: int


class Registered(AnswerModel):
    """`shared`: whether all who share the store know the name. `size`: see `CompiledGrammar.size`."""

    name: str
    object: Literal["grammar"] = "grammar"
    grammar_id: str
    min_tokens: int
    exact: bool
    example: str | None
    size: Mapping[str, int]
    compile_ms: float
    cache: Literal["hit", "miss", "shared"]
    ignored: list[str]
    table: TableInfo | None
    shared: bool


class CertifyRequest(ConstraintFields, ToolFields):
    """`POST /v1/certify`: one constraint, or tools, told as in a chat request."""

    model: str | None = None
    """Name of the served model. Another name is a 404."""
    swyb: ConstraintOptions | None = None


class ExplainRequest(CertifyRequest):
    """`POST /v1/explain`: one constraint, told as in a chat request, a text of it, and a token that may follow."""

    prefix: str = ""
    """Text so far."""
    token: str | int
    """Token by its id, by its text, or by its name if it is special."""
    tokens_left: int | None = Field(default=None, ge=0)
    """Tokens that may still come, this one included; null: any number."""


class Explained(AnswerModel):
    """Verdict on a token. `reason`: what forbids it, null if nothing does. `distance`: tokens that a complete text
    still needs behind it, at most; null where the grammar or a limit forbids it. `next`: texts of which one may come in
    its place, by the grammar, or ranges of their first characters; `may_end`: whether the text may end there.
    """

    object: Literal["explanation"] = "explanation"
    allowed: bool
    reason: Literal["grammar", "budget", "limit"] | None
    message: str
    distance: int | None
    next: list[str]
    may_end: bool


class Certification(AnswerModel):
    """Certificate of a constraint with this model's tokenizer. `field`: where the request has it. `example`: a shortest
    answer that is known, null if it is very long. `exact`: whether `min_tokens` can't be lowered. `size`: see
    `CompiledGrammar.size`. `ignored`: what is not enforced, annotations and what `lenient` dropped.

    `finite`: whether answers have a bound without a budget; null for very large grammars, and for those with arrays
    whose items may not repeat. `largest_tokens`: most tokens of an answer, null without a bound; `largest_exact`:
    whether some answer has as many, or else it is an upper bound. `ambiguous`: whether some text of a grammar in GBNF
    or Lark has two derivations, such as `ambiguous_example`; null: not known, or another dialect. `unreachable_rules`:
    rules of such a grammar that its start doesn't lead to.
    """

    object: Literal["certificate"] = "certificate"
    model: str
    kind: Literal["gbnf", "lark", "regex", "choice", "json_schema", "structural_tag"]
    field: str
    grammar_id: str
    min_tokens: int
    exact: bool
    example: str | None
    finite: bool | None
    largest_tokens: int | None
    largest_exact: bool | None
    ambiguous: bool | None
    ambiguous_example: str | None
    unreachable_rules: list[str]
    ignored: list[str]
    size: Mapping[str, int]
    distance_version: str
    compile_ms: float
    cache: Literal["hit", "miss", "shared"]
    table: TableInfo | None


class Deleted(AnswerModel):
    name: str
    object: Literal["grammar"] = "grammar"
    deleted: bool = True


class Stored(AnswerModel):
    """Grammar in the store: bytes as stored, times in Unix time."""

    artefact_bytes: int
    entries: int
    origin: str
    created: float
    used: float
    uses: int


class Listed(AnswerModel):
    """A grammar that this server keeps compiled. `source`: whether it was compiled here or came out of the store."""

    grammar_id: str
    object: Literal["grammar"] = "grammar"
    min_tokens: int
    exact: bool
    size: Mapping[str, int]
    compile_ms: float
    source: Literal["miss", "shared"]
    table: TableInfo | None
    store: Stored | None


class Named(AnswerModel):
    """`shipped`: it comes with the server."""

    name: str
    shipped: bool


class StoreState(AnswerModel):
    """`counters`: see docs/explain/store.md."""

    reading: Literal["on", "off"]
    writing: Literal["on", "off"]
    counters: Mapping[str, int]


class GrammarList(AnswerModel):
    """`data`: the last used last. `compiled`: grammars compiled here since the server began. `store`: null without."""

    object: Literal["list"] = "list"
    data: list[Listed]
    named: list[Named]
    compiled: int
    store: StoreState | None
