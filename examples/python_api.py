"""The constraint core by itself: no server, no model, only a tokenizer.

Usage: python examples/python_api.py [FOLDER]   (one with a tokenizer.json; default: the embedded model's)

The folder of the embedded model is there after the first `make serve` or `make model`.
"""

import sys
from pathlib import Path

from server.engines.embedded import NAME, default_cache
from swyb import Constraint, GrammarError, Vocabulary, compile_grammar

GRAMMAR = (Path(__file__).parent / "query.gbnf").read_text()


def main(folder: Path) -> None:
    vocabulary = Vocabulary.from_pretrained(folder)
    grammar = compile_grammar(Constraint(kind="gbnf", text=GRAMMAR), vocabulary)
    print("fewest tokens:", grammar.minimum)
    print("shortest text:", vocabulary.text(grammar.witness(grammar.start)).decode())

    begun = grammar.consume_bytes(grammar.start, b"SELECT name FROM users WHERE (age > 3")
    assert begun is not None, "every beginning of a text has a configuration"
    need = grammar.distance(begun)
    assert need is not None, "and a completion, unless the vocabulary can't spell one"
    print("tokens needed:", need)
    print("one way:      ", vocabulary.text(grammar.witness(begun)).decode())
    for budget in (need - 1, need, need + 1, None):
        print(f"tokens that may come next, budget {budget}: {grammar.mask(begun, budget).sum()}")

    try:
        compile_grammar(
            Constraint(kind="json_schema", text='{"items": {"uniqueItems": true, "minItems": 65}}'), vocabulary
        )
    except GrammarError as refusal:
        print("refused:      ", refusal.code, refusal.pointer, refusal.message)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache() / "models" / NAME)
