"""Small grammars and vocabularies that the tests of decoding share."""

from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar, compile_expression
from grammar_cache.limits import Limits
from grammar_cache.vocabulary import Vocabulary

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
