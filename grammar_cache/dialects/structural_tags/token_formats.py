"""Formats about special tokens. How many tokens a text falls into is not enforced: no format counts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.structural_tags.format import Format, as_token
from grammar_cache.dialects.structural_tags.free_formats import FreeFormats, Reader, Until, pair
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, Expression
from grammar_cache.special_tokens import SpecialTokens, special_terminal


class TokenFormats:
    """Readers of formats by their types."""

    def __init__(self, free: FreeFormats, tokens: SpecialTokens) -> None:
        self._free = free
        self._tokens = tokens
        self.readers: Mapping[str, Reader] = {
            "token": lambda one, until: special_terminal(self._token(one)),
            "exclude_token": self._one_of_any,
            "any_tokens": self._any_tokens,
            "token_triggered_tags": self._triggered_tags,
            "token_dispatch": self._dispatch,
        }

    def others(self, one: Format, until: Until, *more: int) -> Expression:
        """A character, or a special token but those in `exclude_tokens` and those that end it; to be repeated."""
        excluded = [self._tokens.find(token, terminal=False) for token in one.tokens("exclude_tokens")]
        return self._tokens.others([*excluded, *until.tokens, *more])

    def _token(self, one: Format) -> int:
        return self._tokens.find(as_token(one.raw("token"), one.place("token")))

    def _one_of_any(self, one: Format, until: Until) -> Expression:
        message = "one token of any text: how a text falls into tokens is not enforced; any_tokens is"
        raise UnsupportedFeature(message, pointer=one.pointer)

    def _any_tokens(self, one: Format, until: Until) -> Expression:
        one.unenforced("max_tokens")
        return repetition(self.others(one, until), 0, None)

    def _triggered_tags(self, one: Format, until: Until) -> Expression:
        triggers = [self._tokens.find(token) for token in one.tokens("trigger_tokens")]
        tags = []
        for each in one.formats("tags", "tag"):
            tag = self._free.tag(each, until)
            if tag.begin not in triggers:
                raise GrammarSyntaxError("a tag begins with a token of trigger_tokens", pointer=each.place("begin"))
            tags.append(self._free.written(tag))
        others = self.others(one, until, *triggers)
        return self._free.first_and_more(one, Alt(tuple(tags)), self._with(others, tags))

    def _dispatch(self, one: Format, until: Until) -> Expression:
        triggers, ways = [], []
        for at, rule in enumerate(one.listed("rules")):
            place = f"{one.place('rules')}/{at}"
            token, content = pair(rule, place)
            triggers.append(self._tokens.find(as_token(token, f"{place}/0")))
            ways.append(sequence((special_terminal(triggers[-1]), self._free.expression(content, until))))
        loops = one.flag("loop") or not one.has("loop")
        return self._with(self.others(one, until, *triggers), ways)(loops)

    def _with(self, others: Expression, ways: list[Expression]) -> Callable[[bool], Expression]:
        """Text and tokens, in which one of the ways may stand, or as many as come."""

        def more(loops: bool) -> Expression:
            if loops:
                return repetition(Alt((others, *ways)), 0, None)
            return sequence((repetition(others, 0, None), Alt((EMPTY, *ways))))

        return more
