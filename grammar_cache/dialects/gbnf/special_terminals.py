"""Special tokens as terminals of GBNF, as llama.cpp and xgrammar write them.

    <think>   <[1000]>   Token(1000, 1001)            one of these tokens
    !<think>* !<[1000]>+ ExcludeToken(1000)*          any text and any special tokens but these
    TokenTagDispatch((1000, rule), loop_after_dispatch=true, excludes=(1001,))

llama.cpp's and xgrammar's negations match one token of whatever length. Here they are repeated by `*` or `+`, or
refused: how a text falls into tokens is not a matter of grammar. Tokens of text are written as text.
"""

from __future__ import annotations

import re

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.gbnf.macros import Arguments, Made, Value, boolean, only_named
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream
from grammar_cache.errors import UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, Expression, Ref
from grammar_cache.special_tokens import SpecialTokens, special_terminal

TOKEN_MACROS = frozenset({"Token", "ExcludeToken", "TokenTagDispatch"})

_NUMBERED = re.compile(r"<\[([0-9]{1,9})\]>")


class SpecialTerminals:
    """Terminals of one grammar that are tokens; `used` says whether there are any."""

    def __init__(self, stream: TokenStream, tokens: SpecialTokens) -> None:
        self._stream = stream
        self._tokens = tokens
        self.used = False

    def written(self, token: GbnfToken) -> Expression:
        """`<think>`, `<[1000]>`, or either behind `!`."""
        negated = token.text.startswith("!")
        text = token.text.removeprefix("!")
        numbered = _NUMBERED.fullmatch(text)
        number = self._find(int(numbered[1]) if numbered else text, token, is_terminal=not negated)
        if not negated:
            return special_terminal(number)
        self._require_repetition(token.text, token)
        return self._tokens.others([number])

    def called(self, macro: GbnfToken, arguments: Arguments) -> Made:
        """One of the calls `TOKEN_MACROS`."""
        if macro.text == "TokenTagDispatch":
            return self._dispatch(macro, arguments)
        only_named(self._stream, arguments, macro, set())
        is_terminal = macro.text == "Token"
        numbers = [self._numbered(value, is_terminal=is_terminal) for value in arguments.values]
        if not numbers:
            raise self._stream.syntax_error(f"{macro.text} takes ids of tokens", macro.offset)
        if is_terminal:
            return Made(Alt(tuple(map(special_terminal, numbers))), size=len(numbers))
        self._require_repetition("ExcludeToken", macro)
        return Made(self._tokens.others(numbers), size=len(self._tokens.names or ()))

    def _dispatch(self, macro: GbnfToken, arguments: Arguments) -> Made:
        """Free text and tokens, in which each of some tokens starts a rule."""
        only_named(self._stream, arguments, macro, {"excludes", "loop_after_dispatch"})
        ways: list[Expression] = []
        triggers: list[int] = []
        for value in arguments.values:
            if isinstance(value, GbnfToken) or len(value) != 2 or value[1].kind != "name":
                raise self._stream.syntax_error("expected a pair: (token, rule)", macro.offset)
            triggers.append(self._numbered(value[0], is_terminal=True))
            ways.append(sequence((special_terminal(triggers[-1]), Ref(value[1].text))))
        given = arguments.named["excludes"][1] if "excludes" in arguments.named else ()
        excluded = (given,) if isinstance(given, GbnfToken) else given
        others = self._tokens.others([*triggers, *(self._numbered(one, is_terminal=False) for one in excluded)])
        loops = "loop_after_dispatch" not in arguments.named or boolean(
            self._stream, arguments.named["loop_after_dispatch"][1]
        )
        size = len(ways) + len(self._tokens.names or ())
        if loops:
            return Made(repetition(Alt((others, *ways)), 0, None), size=size)
        return Made(sequence((repetition(others, 0, None), Alt((EMPTY, *ways)))), size=size)

    def _numbered(self, value: Value, *, is_terminal: bool) -> int:
        token = value if isinstance(value, GbnfToken) else value[0]
        if not isinstance(value, GbnfToken) or not value.text.isdecimal() or len(value.text) > 9:
            raise self._stream.syntax_error("expected the id of a token", token.offset)
        return self._find(int(value.text), token, is_terminal=is_terminal)

    def _find(self, wanted: int | str, token: GbnfToken, *, is_terminal: bool) -> int:
        self.used = True
        try:
            return self._tokens.find(wanted, terminal=is_terminal)
        except UnsupportedFeature as error:
            raise self._stream.unsupported(error.message, token.offset) from error

    def _require_repetition(self, what: str, token: GbnfToken) -> None:
        after = self._stream.peek()
        if after.kind != "punctuation" or after.text not in {"*", "+"}:
            message = f"{what} without * or + behind it: how many tokens a text is made of is not enforced"
            raise self._stream.unsupported(message, token.offset)
