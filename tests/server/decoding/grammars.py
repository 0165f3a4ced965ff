"""Small grammars and vocabularies that the tests of decoding share."""

from collections.abc import Callable

from grammar_cache.compile import compile_expression
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary

DYCK = Grammar(
    {
        "root": Seq((Ref("b"), Bytes(b"x"))),
        "b": Alt((Seq((Bytes(b"("), Ref("b"), Bytes(b")"), Ref("b"))), Bytes(b""))),
    },
    "root",
)
DYCK_VOCABULARY = Vocabulary([b"(", b")", b"x", None], [3])
"""( is 0, ) is 1, x is 2; 3 ends."""

LETTERS = Grammar({"root": Repeat(Alt((Bytes(b"a"), Bytes(b"b"))), 1, None)}, "root")


def compiled(grammar: Grammar, vocabulary: Vocabulary) -> CompiledGrammar:
    return compile_expression(grammar, vocabulary, Limits())


def longest_match(vocabulary: Vocabulary) -> Callable[[str], list[int]]:
    """A tokenizer: always the longest token that fits; it stops where none does."""
    ids = {token: number for number, token in reversed(list(enumerate(vocabulary.token_bytes))) if token}

    def split(text: str) -> list[int]:
        data, found = text.encode(), list[int]()
        while data:
            token = next((data[:n] for n in range(len(data), 0, -1) if data[:n] in ids), None)
            if token is None:
                break
            found.append(ids[token])
            data = data[len(token) :]
        return found

    return split
