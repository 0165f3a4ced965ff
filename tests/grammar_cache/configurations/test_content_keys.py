"""Keys of configurations: equal for equal content in every process and every order, different where content is."""

from __future__ import annotations

import os
import random
import subprocess
import sys

from hypothesis import given

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.errors import EmptyLanguage, GrammarError
from grammar_cache.lexer.configurations import configurations_of
from tests import oracle
from tests.documents import ROOT
from tests.grammar_cache.configurations.test_interner import Reader, reader_of
from tests.grammar_cache.configurations.test_stack_digests import node_contents, read
from tests.grammar_cache.dialects.lark.grammars import LETTERS, random_grammar
from tests.server.decoding.trials.lexed_trials import random_vocabulary
from tests.strategies import Case, cases, examples

GRAMMARS = (
    Constraint("gbnf", 'root ::= root "+" root | "(" root ")" | "1"'),
    Constraint("lark", 'start: (N | "(" start ")")+\nN: /1+/\n%ignore "+"'),
)


def keys_after_texts() -> list[str]:
    """Keys of configurations with recursive stacks and with lexer contexts."""
    tokens = Vocabulary([bytes([byte]) for byte in b"()1+"], [])
    found = []
    for constraint in GRAMMARS:
        grammar = compile_grammar(constraint, tokens)
        keys = ConfigurationKeys(grammar._configurations)
        for text in ("", "(", "((1", "(1)+1", "1+(1+1"):
            configuration = grammar.consume_bytes(grammar.start, text.encode())
            assert configuration is not None
            found.append(keys.of(configuration).hex())
    return found


@given(cases())
@examples(40)
def test_keys_are_of_the_content(case: Case) -> None:
    """Two tables that have read texts in opposite orders give the same key to the same text."""
    try:
        one, two = reader_of(case), reader_of(case)
    except EmptyLanguage:
        return
    texts = sorted(oracle.all_words(case.letters, 4))
    read(one, texts)
    read(two, texts[::-1])
    first, second = ConfigurationKeys(one.table), ConfigurationKeys(two.table)
    for text in texts:
        if one.after(text) != DEAD:
            assert first.of(one.after(text)) == second.of(two.after(text))


@given(cases())
@examples(20)
def test_keys_tell_configurations_apart(case: Case) -> None:
    """Configurations whose items or stacks differ somewhere near have different keys."""
    try:
        reader = reader_of(case)
    except EmptyLanguage:
        return
    read(reader, sorted(oracle.all_words(case.letters, 3)))
    table, keys, contents = reader.table, ConfigurationKeys(reader.table), node_contents(reader.table, 4)
    of_key: dict[bytes, object] = {}
    for c in range(table.count):
        content = (table.accepts(c), frozenset((state, contents[node]) for state, node in table.items(c)))
        assert of_key.setdefault(keys.of(c), content) == content


def test_lexer_contexts_count_by_their_content() -> None:
    """With a lexer, states are read in contexts that are numbered as they are met: keys don't depend on that."""
    compared = 0
    for number in range(30):
        rng = random.Random(number)
        lexer = rng.choice(("dynamic", "contextual"))
        try:
            constraint = Constraint("lark", random_grammar(rng), lexer=lexer)  # type: ignore[arg-type]
            network = compile_grammar(constraint, random_vocabulary(rng)).network
        except GrammarError:
            continue
        texts = ["".join(rng.choices(LETTERS, k=rng.randint(0, 5))).encode() for _ in range(20)]
        one, two = reader_over(configurations_of(network, 100_000)), reader_over(configurations_of(network, 100_000))
        read(one, texts)
        read(two, texts[::-1])
        first, second = ConfigurationKeys(one.table), ConfigurationKeys(two.table)
        for text in texts:
            if one.after(text) != DEAD:
                assert first.of(one.after(text)) == second.of(two.after(text))
                compared += 1
    assert compared > 80


def reader_over(table: Configurations) -> Reader:
    reader = Reader.__new__(Reader)
    reader.table = table
    return reader


def test_keys_are_the_same_in_another_process() -> None:
    """Python's random hashes are others there."""
    code = f"from {__name__} import keys_after_texts as keys; print(*keys(), sep=chr(10))"
    seed = {**os.environ, "PYTHONHASHSEED": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=seed, cwd=ROOT, capture_output=True, check=True, text=True)
    assert run.stdout.split() == keys_after_texts()
    assert len(set(keys_after_texts())) == 10
