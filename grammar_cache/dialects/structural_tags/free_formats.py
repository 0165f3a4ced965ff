"""Formats with free text, and tags, which stand in it or by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.free_text import FreeText, text_without
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.rule_book import RuleBook
from grammar_cache.dialects.structural_tags.format import Format, as_token
from grammar_cache.dialects.structural_tags.named_literals import NamedLiterals
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import ANY_CHAR, EMPTY, Alt, And, Expression
from grammar_cache.limits import Limits
from grammar_cache.special_tokens import special_terminal

STATES_PER_CHAR = 8
"""States of an automaton that counts any characters, for each of them: those inside UTF-8 included."""


@dataclass(frozen=True, slots=True)
class Until:
    """Texts and special tokens that end free text: they stand behind it, and so not in it."""

    texts: tuple[str, ...] = ()
    tokens: frozenset[int] = frozenset()


Reader = Callable[[Format, Until], Expression]


@dataclass(frozen=True, slots=True)
class Tag:
    """Tag as it was read: how it begins, as a text or a token, and content and end as one expression."""

    begin: str | int
    rest: Expression


class FreeFormats:
    """Reader of formats with free text, and of tags. `expression` reads what is inside."""

    def __init__(self, book: RuleBook, literals: NamedLiterals, limits: Limits, expression: Reader) -> None:
        self.expression = expression
        self._book = book
        self._literals = literals
        self._limits = limits

    def read(self, one: Format, until: Until) -> Expression | None:
        """Texts of a format; None where its type is none of these."""
        match one.kind:
            case "any_text":
                return self._any_text(one, until)
            case "tag":
                return self.written(self.tag(one, until))
            case "triggered_tags":
                return self._triggered_tags(one, until)
            case "tags_with_separator":
                return self._tags_with_separator(one, until)
            case "dispatch":
                return self._dispatch(one, until)
        return None

    def tag(self, one: Format, until: Until) -> Tag:
        """A tag. Where it may end with nothing, free text in it ends where it does around it."""
        if one.kind != "tag":
            raise GrammarSyntaxError("a tag was expected", pointer=one.place("type"))
        begin = self._delimiter(one, "begin")
        if isinstance(one.raw("end"), list):
            ends: list[str | int] = list(one.texts("end"))
            if not ends:
                raise GrammarSyntaxError("a tag has an end", pointer=one.place("end"))
        else:
            ends = [self._delimiter(one, "end")]
        texts = tuple(end for end in ends if isinstance(end, str) and end)
        tokens = frozenset(end for end in ends if isinstance(end, int))
        inner = Until(texts, tokens)
        if "" in ends:
            inner = Until((*texts, *until.texts), tokens | until.tokens)
        content = self._book.define(self.expression(one.format("content"), inner))
        one.close()
        return Tag(begin, sequence((content, Alt(tuple(map(self.delimiter, ends))))))

    def delimiter(self, delimiter: str | int) -> Expression:
        """A text, or a special token."""
        return self._literals.read(delimiter) if isinstance(delimiter, str) else special_terminal(delimiter)

    def written(self, tag: Tag) -> Expression:
        """The whole of a tag."""
        return sequence((self.delimiter(tag.begin), tag.rest))

    def first_and_more(self, one: Format, first: Expression, more: Callable[[bool], Expression]) -> Expression:
        """Tags in free text by the flags `at_least_one`, which leaves no text before the first, and `stop_after_first`.

        `more` is free text in which a tag may stand, or as many as come, if told so.
        """
        stops = one.flag("stop_after_first")
        if one.flag("at_least_one"):
            return first if stops else sequence((first, more(True)))
        return more(not stops)

    def _delimiter(self, one: Format, name: str) -> str | int:
        value = one.raw(name)
        if isinstance(value, str):
            return value
        token = one.format(name)
        if token.kind != "token":
            raise GrammarSyntaxError("a text or a token was expected", pointer=one.place(name))
        found = self._literals.token(as_token(token.raw("token"), token.place("token")))
        token.close()
        return found

    def _any_text(self, one: Format, until: Until) -> Expression:
        one.unenforced("max_tokens")
        excludes = (*self._excludes(one), *until.texts)
        if not one.has("max_chars"):
            one.unenforced("max_chars")  # null
            return text_without(excludes, self._limits, self._shown((), until))
        most = one.count("max_chars")
        if not excludes:
            return repetition(ANY_CHAR, 0, most)
        if STATES_PER_CHAR * most > self._limits.rule_states:
            message = f"max_chars beyond {self._limits.rule_states // STATES_PER_CHAR} with excluded texts"
            raise LimitExceeded(message, limit="rule_states", pointer=one.place("max_chars"))
        return And((repetition(ANY_CHAR, 0, most), text_without(excludes, self._limits)))

    def _triggered_tags(self, one: Format, until: Until) -> Expression:
        triggers = self._distinct(one, "triggers")
        ways: dict[str, list[tuple[str, Expression]]] = {trigger: [] for trigger in triggers}
        tags = []
        begins = []
        for each in one.formats("tags", "tag"):
            tag = self.tag(each, until)
            if not isinstance(tag.begin, str):
                raise GrammarSyntaxError("a tag in free text begins with a text", pointer=each.place("begin"))
            found = [trigger for trigger in triggers if tag.begin.startswith(trigger)]
            if len(found) != 1:
                message = "a tag begins with one trigger, and this one with " + ("none" if not found else "several")
                raise GrammarSyntaxError(message, pointer=each.place("begin"))
            ways[found[0]].append((tag.begin[len(found[0]) :], tag.rest))
            tags.append(tag)
            begins.append(tag.begin)
        excludes = (*self._excludes(one), *until.texts)
        shown = self._shown((*triggers, *begins), until)

        def more(loops: bool) -> Expression:
            return self._free(ways, excludes, shown, loops=loops)

        return self.first_and_more(one, Alt(tuple(map(self.written, tags))), more)

    def _tags_with_separator(self, one: Format, until: Until) -> Expression:
        separator = self._literals.read(one.text("separator"))
        tags = Alt(tuple(self.written(self.tag(each, until)) for each in one.formats("tags", "tag")))
        several: Expression = tags
        if not one.flag("stop_after_first"):
            item = self._book.define(tags)
            several = sequence((item, repetition(sequence((separator, item)), 0, None)))
        return several if one.flag("at_least_one") else Alt((EMPTY, several))

    def _dispatch(self, one: Format, until: Until) -> Expression:
        ways: dict[str, list[tuple[str, Expression]]] = {}
        for at, rule in enumerate(one.listed("rules")):
            pattern, content = pair(rule, f"{one.place('rules')}/{at}")
            if not isinstance(pattern, str) or not pattern:
                raise GrammarSyntaxError("a pattern is a text", pointer=f"{one.place('rules')}/{at}/0")
            ways.setdefault(pattern, []).append(("", self._book.define(self.expression(content, until))))
        excludes = (*self._excludes(one), *until.texts)
        loops = one.flag("loop") or not one.has("loop")
        return self._free(ways, excludes, self._shown(tuple(ways), until), loops=loops)

    def _free(
        self,
        ways: Mapping[str, list[tuple[str, Expression]]],
        excludes: Iterable[str],
        shown: Mapping[int, str],
        *,
        loops: bool,
    ) -> Expression:
        # An excluded text with a trigger in it can't be met: the trigger is met before.
        met = [excluded for excluded in excludes if not any(trigger in excluded[:-1] for trigger in ways)]

        def way(trigger: str, beyond: str) -> Expression:
            left = [(rest[len(beyond) :], then) for rest, then in ways[trigger] if rest.startswith(beyond)]
            return Alt(tuple(sequence((self._literals.read(rest), then)) for rest, then in left))

        return FreeText(ways, met, self._limits, shown).then(way, loops=loops)

    def _shown(self, triggers: tuple[str, ...], until: Until) -> dict[int, str]:
        return {token: name for token, name in self._literals.shown(triggers).items() if token not in until.tokens}

    def _excludes(self, one: Format) -> tuple[str, ...]:
        return self._distinct(one, "excludes")

    def _distinct(self, one: Format, name: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(one.texts(name)))
        if "" in found:
            raise GrammarSyntaxError("an empty text is everywhere", pointer=one.place(name))
        if name == "triggers" and not found:
            raise UnsupportedFeature("triggered tags without a trigger", pointer=one.place(name))
        return found


def pair(value: Json, pointer: str) -> tuple[Json, Format]:
    """A pattern and the format that it starts."""
    if not isinstance(value, list) or len(value) != 2:
        raise GrammarSyntaxError("a rule is a pair: [pattern, format]", pointer=pointer)
    return value[0], Format(value[1], f"{pointer}/1")
