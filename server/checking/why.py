"""Question why a token may follow a text of a constraint, or may not, as people ask it: by texts."""

from __future__ import annotations

from bisect import bisect_left

from grammar_cache.analysis.explanation import Explanation, explain, leaves_at, quoted, stops
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary


class Unanswerable(ValueError):
    """Question about what can't be. `field`: the part of it to blame, `prefix` or `token`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def why(grammar: CompiledGrammar, prefix: str, token: int | str, tokens_left: int | None) -> Explanation:
    """Explanation of a token behind a text, the token given by its id or its text, with `tokens_left`, itself included.

    Raises Unanswerable where there is no such token, or no text of the language begins so, and LimitExceeded.
    """
    number = _token(grammar.vocabulary, token)
    try:
        data = prefix.encode()
    except UnicodeEncodeError as error:
        raise Unanswerable("prefix", "half of a surrogate pair is no text") from error
    read, configuration = leaves_at(grammar, grammar.start, data)
    if read < len(data):
        _, message = stops(grammar, configuration, data[:read], data[read:])
        raise Unanswerable("prefix", message)
    return explain(grammar, configuration, number, tokens_left, text=data)


def _token(vocabulary: Vocabulary, token: int | str) -> int:
    if isinstance(token, int):
        if not 0 <= token < vocabulary.size:
            raise Unanswerable("token", f"the model's tokens have the ids 0 to {vocabulary.size - 1}")
        return token
    data = token.encode(errors="replace")
    place = bisect_left(vocabulary.strings, data)
    if place < len(vocabulary.strings) and vocabulary.strings[place] == data:
        return int(vocabulary.token_list[vocabulary.token_offsets[place]])
    for number, name in (vocabulary.special.names or {}).items():
        if name == token:
            return number
    raise Unanswerable("token", f"{quoted(token)} is no single token of this model: {_instead(vocabulary, data)}")


def _instead(vocabulary: Vocabulary, data: bytes) -> str:
    """The longest token that the text begins with, which may be sent instead."""
    known = set(vocabulary.strings)
    longest = next((data[:size] for size in range(len(data), 0, -1) if data[:size] in known), b"")
    begins = f", or {quoted(longest.decode(errors='replace'))}, which it begins with" if longest else ""
    return f"send a token's id{begins}"
