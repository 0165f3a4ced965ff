"""Structural tags as a grammar: `{"type": "structural_tag", "format": …}`, and the older form with `structures`.

Formats mean what xgrammar documents: see docs/reference/structural-tags.md. Free text is any text without a trigger,
and where a tag ends free text, without the tag's end. Names of special tokens in literals are read as the tokens or as
their characters, so that a model may write `<tool_call>` in its own way; free text shows the tags of templates.
Whatever can't be enforced is refused with a JSON Pointer.
"""

from __future__ import annotations

import re

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.dialects.json_schema import compiler as json_schema
from grammar_cache.dialects.json_schema.schema.loading import Json, load
from grammar_cache.dialects.json_schema.schema.subschema import pointer_in_whole, subschema
from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.dialects.rule_book import RuleBook
from grammar_cache.dialects.structural_tags.format import Format, placed
from grammar_cache.dialects.structural_tags.free_formats import FreeFormats, Until
from grammar_cache.dialects.structural_tags.named_literals import NamedLiterals
from grammar_cache.dialects.structural_tags.token_formats import TokenFormats, others
from grammar_cache.dialects.structural_tags.xml_parameters import STYLES, xml_parameters
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, Expression, Grammar
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.special_tokens import NO_TOKENS, SpecialTokens

START = "structural tag"

_TAG = re.compile("^/tags/([0-9]+)")
_SCHEMA_OF_TAG = re.compile("^/structures/([0-9]+)/content/json_schema")
_UNTIL_THE_END = Until()


def parse(
    text: str,
    *,
    whitespace: Whitespace = "bounded",
    lenient: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    tokens: SpecialTokens = NO_TOKENS,
) -> Grammar:
    """The texts that a structural tag allows. Raises a `GrammarError`, with the pointer to what is to blame."""
    return _Compiler(whitespace, limits, tokens, lenient=lenient).grammar(load(text, limits, "the structural tag"))


class _Compiler:
    """Formats are read by `expression`; `until` says where text behind them begins that free text leaves alone."""

    def __init__(self, whitespace: Whitespace, limits: Limits, tokens: SpecialTokens, *, lenient: bool) -> None:
        self._whitespace = whitespace
        self._lenient = lenient
        self._limits = limits
        self._tokens = tokens
        self._book = RuleBook(limits)
        self._literals = NamedLiterals(tokens)
        self._depth = 0

    def grammar(self, value: Json) -> Grammar:
        """The grammar of a whole structural tag."""
        tag = Format(value, "", "structural_tag")
        if tag.kind not in ("structural_tag", "structural"):
            raise GrammarSyntaxError("a structural tag has the type structural_tag", pointer="/type")
        older = tag.has("structures")
        root = Format(_legacy(tag), "") if older else tag.format("format")
        tag.unenforced("format" if older else "structures")
        tag.close()
        self._book.rules[START] = EMPTY  # its name is taken
        try:
            self._book.rules[START] = self.expression(root, _UNTIL_THE_END)
        except GrammarError as error:
            if older and error.pointer:
                error.pointer = _in_structures(error.pointer)
            raise
        ignored = map(_in_structures, self._book.ignored) if older else self._book.ignored
        return Grammar(self._book.rules, START, tuple(ignored), self._book.unique)

    def expression(self, one: Format, until: Until) -> Expression:
        """Texts of a format."""
        self._depth += 1
        if self._depth > self._limits.nesting:
            raise LimitExceeded(
                f"more than {self._limits.nesting} formats inside each other", limit="nesting", pointer=one.pointer
            )
        try:
            found = self._read(one, until)
        except GrammarError as error:
            raise error if error.pointer is not None else placed(error, one.pointer) from error
        one.close()
        self._depth -= 1
        return found

    def _read(self, one: Format, until: Until) -> Expression:
        match one.kind:
            case "const_string":
                return self._literals.read(one.text("value"))
            case "json_schema" | "qwen_xml_parameter":
                return self._json_schema(one)
            case "grammar":
                return self._grammar(one)
            case "regex":
                return self._regex(one)
            case "sequence":
                return self._sequence(one, until)
            case "or":
                return Alt(tuple(self.expression(element, until) for element in one.formats("elements")))
            case "optional":
                return Alt((EMPTY, self.expression(one.format("content"), until)))
            case "star" | "plus":
                return self._repeated(one, until, int(one.kind == "plus"), None)
            case "repeat":
                return self._counted(one, until)
        # Made for each: kept here, they and this compiler would know each other, and be left to Python's collector of
        # garbage with all the rules that they hold.
        free = FreeFormats(self._book, self._literals, self._limits, self.expression)
        found = free.read(one, until)
        if found is None:
            found = TokenFormats(free, self._tokens).read(one, until)
        if found is None:
            raise UnsupportedFeature(f"a format of type {one.kind}", pointer=one.place("type"))
        return found

    def _json_schema(self, one: Format) -> Expression:
        one.unenforced("max_whitespace_cnt", "excludes")
        name = "json_schema" if one.has("json_schema") or not one.has("schema") else "schema"
        schema = one.raw(name)
        style = one.text("style") if one.has("style") else "json" if one.kind == "json_schema" else "qwen_xml"
        if one.flag("any_order"):
            self._book.ignored.append(f"{one.place('any_order')}: properties come as they are declared")
        if style == "json":
            return self._schema(schema, one.place(name))
        if style not in STYLES:
            raise UnsupportedFeature(f"the style {style}", pointer=one.place("style"))
        return xml_parameters(schema, one.place(name), style, self._literals, self._limits, self._schema)

    def _schema(self, schema: Json, pointer: str, at: str = "") -> Expression:
        """Values of a schema that stands at `pointer`, or of what is in it `at` another one. Raises GrammarError."""
        try:
            value = load(schema, self._limits) if isinstance(schema, str) else schema
            if isinstance(value, dict) and at:
                value = subschema(value, at)
            made = json_schema.parse_value(
                value, whitespace=self._whitespace, lenient=self._lenient, limits=self._limits
            )
        except GrammarError as error:
            error.pointer = pointer_in_whole(error.pointer or "", at)
            raise placed(error, pointer) from error
        ignored = (f"{pointer}{pointer_in_whole(line, at)}" for line in made.ignored)
        self._book.ignored += [line for line in ignored if line not in self._book.ignored]
        return self._book.include(made)

    def _grammar(self, one: Format) -> Expression:
        text = one.text("grammar")
        syntax = one.text("syntax") if one.has("syntax") else "gbnf" if "::=" in text else "lark"
        try:
            if syntax == "lark":
                return self._book.include(lark.parse(text, limits=self._limits, tokens=self._tokens))
            if syntax in ("gbnf", "ebnf"):
                return self._book.include(gbnf.parse(text, limits=self._limits, tokens=self._tokens))
        except GrammarError as error:
            raise placed(error, one.place("grammar")) from error
        raise UnsupportedFeature(f"the syntax {syntax}", pointer=one.place("syntax"))

    def _regex(self, one: Format) -> Expression:
        one.unenforced("excludes")
        try:
            return self._book.include(regex.parse_grammar(one.text("pattern"), limits=self._limits))
        except GrammarError as error:
            raise placed(error, one.place("pattern")) from error

    def _sequence(self, one: Format, until: Until) -> Expression:
        elements = one.formats("elements")
        last = len(elements) - 1
        return sequence(
            self.expression(element, until if at == last else _UNTIL_THE_END) for at, element in enumerate(elements)
        )

    def _counted(self, one: Format, until: Until) -> Expression:
        least, most = one.count("min"), one.count("max", -1)
        if 0 <= most < least:
            raise GrammarSyntaxError("max is below min", pointer=one.place("max"))
        return self._repeated(one, until, least, None if most < 0 else most)

    def _repeated(self, one: Format, until: Until, least: int, most: int | None) -> Expression:
        content = one.format("content")
        if content.kind == "exclude_token" and most is None:  # how many there are says nothing then, but for none
            item = others(content, until, self._tokens)
            content.close()
            return repetition(item, min(least, 1), None) if least <= 1 else self.expression(content, until)
        return repetition(self._book.define(self.expression(content, until)), least, most)


def _legacy(tag: Format) -> Json:
    """The older form, of vLLM, SGLang and xgrammar before 0.1.26, as triggered tags."""
    tags: list[Json] = []
    for at, structure in enumerate(tag.formats("structures", "structure")):
        place = f"/structures/{at}"
        schema = structure.raw("schema")
        one: dict[str, Json] = {"type": "json_schema", "json_schema": schema}
        tags.append({"type": "tag", "begin": structure.text("begin"), "content": one, "end": structure.text("end")})
        if not isinstance(schema, dict | str | bool):
            raise GrammarSyntaxError("a schema is an object", pointer=f"{place}/schema")
        structure.close()
    return {"type": "triggered_tags", "triggers": list(tag.texts("triggers")), "tags": tags}


def _in_structures(place: str) -> str:
    """Place in the older form, of one in the triggered tags that it becomes."""
    return _SCHEMA_OF_TAG.sub(r"/structures/\1/schema", _TAG.sub(r"/structures/\1", place))
