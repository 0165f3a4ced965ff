"""Formats about special tokens. How many tokens a text falls into is not enforced: no format counts them."""

from __future__ import annotations

from collections.abc import Callable

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.structural_tags.format import Format, as_token
from grammar_cache.dialects.structural_tags.free_formats import FreeFormats, Until, pair
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, Expression
from grammar_cache.special_tokens import SpecialTokens, special_terminal


def others(one: Format, until: Until, tokens: SpecialTokens, *more: int) -> Expression:
    """A character, or a special token but those in `exclude_tokens` and those that end it; to be repeated."""
    excluded = [tokens.find(token, terminal=False) for token in one.tokens("exclude_tokens")]
    return tokens.others([*excluded, *until.tokens, *more])


class TokenFormats:
    """Reader of formats about special tokens."""

    def __init__(self, free: FreeFormats, tokens: SpecialTokens) -> None:
        self._free = free
        self._tokens = tokens

    def read(self, one: Format, until: Until) -> Expression | None:
        """Texts of a format; None where its type is none of these."""
        match one.kind:
            case "token":
                return special_terminal(self._token(one))
            case "exclude_token":
                message = "one token of any text: how a text falls into tokens is not enforced; any_tokens is"
                raise UnsupportedFeature(message, pointer=one.pointer)
            case "any_tokens":
                one.unenforced("max_tokens")
                return repetition(others(one, until, self._tokens), 0, None)
            case "token_triggered_tags":
                return self._triggered_tags(one, until)
            case "token_dispatch":
                return self._dispatch(one, until)
        return None

    def _token(self, one: Format) -> int:
        return self._tokens.find(as_token(one.raw("token"), one.place("token")))

    def _triggered_tags(self, one: Format, until: Until) -> Expression:
        triggers = [self._tokens.find(token) for token in one.tokens("trigger_tokens")]
        tags = []
        for each in one.formats("tags", "tag"):
            tag = self._free.tag(each, until)
            if tag.begin not in triggers:
                raise GrammarSyntaxError("a tag begins with a token of trigger_tokens", pointer=each.place("begin"))
            tags.append(self._free.written(tag))
        between = others(one, until, self._tokens, *triggers)
        return self._free.first_and_more(one, Alt(tuple(tags)), self._with(between, tags))

    def _dispatch(self, one: Format, until: Until) -> Expression:
        triggers, ways = [], []
        for at, rule in enumerate(one.listed("rules")):
            place = f"{one.place('rules')}/{at}"
            token, content = pair(rule, place)
            triggers.append(self._tokens.find(as_token(token, f"{place}/0")))
            ways.append(sequence((special_terminal(triggers[-1]), self._free.expression(content, until))))
        loops = one.flag("loop") or not one.has("loop")
        return self._with(others(one, until, self._tokens, *triggers), ways)(loops)

    def _with(self, between: Expression, ways: list[Expression]) -> Callable[[bool], Expression]:
        """Text and tokens, in which one of the ways may stand, or as many as come."""

        def more(loops: bool) -> Expression:
            if loops:
                return repetition(Alt((between, *ways)), 0, None)
            return sequence((repetition(between, 0, None), Alt((EMPTY, *ways))))

        return more
