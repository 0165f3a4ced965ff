"""States that another one's tokens are walked beside: a loop behind it, or one of its rule that reads alike."""

from __future__ import annotations

import json
import random
from unittest import mock

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.masks.inside_walks import InsideWalks
from grammar_cache.masks.insides import Inside
from grammar_cache.successors import rule_classes
from grammar_cache.successors.rule_classes import RuleClasses
from tests.grammar_cache.masks.test_masks import expected

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def vocabulary(seed: int = 0, before: str = "") -> Vocabulary:
    """All bytes, and two thousand texts of letters, two thirds of which have a text `before` them."""
    rng = random.Random(seed)
    texts = {before * rng.choice((0, 1, 1)) + "".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(2_000)}
    return Vocabulary([*(bytes([byte]) for byte in range(256)), *(text.encode() for text in sorted(texts)), None], [])


def compiled(schema: object, known: Vocabulary) -> CompiledGrammar:
    return compile_grammar(Constraint("json_schema", json.dumps(schema)), known)


def walks(grammar: CompiledGrammar, texts: list[bytes]) -> list[Inside]:
    """Insides that the walks of masks behind some texts are beside; the masks are those of all tokens."""
    with mock.patch.object(InsideWalks, "_walked", autospec=True, side_effect=InsideWalks._walked) as walked:
        for text in texts:
            at = grammar.consume_bytes(grammar.start, text)
            assert at is not None
            assert grammar.mask(at).tolist() == expected(grammar, at, None)
    return [call.args[1] for call in walked.call_args_list]


def test_a_key_that_goes_on_with_what_most_tokens_begin_with_is_walked_beside_any_key() -> None:
    """Most tokens lead to more of the declared keys, not to the inside of any key: it is a loop all the same."""
    known = vocabulary(before=" ")
    grammar = compiled({"type": "object", "properties": {"cache name": {}, "cache size": {}}}, known)
    at = grammar.consume_bytes(grammar.start, b'{"cache')
    assert at is not None
    state, _ = grammar._configurations.items(at)[0]
    insides = grammar._masks._insides
    loop = insides._loop_behind(insides._outlook(state)[0], 0)
    assert loop is not None
    beside = insides.of(loop)
    found = walks(grammar, [b'{"cache'])
    assert found[-1] is beside
    assert len(found) == 1


@pytest.mark.parametrize("most", [40, 90])
def test_characters_of_a_text_are_walked_beside_its_first(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters near its end are others: long tokens don't fit there."""
    monkeypatch.setattr(RuleClasses, "found", lambda *_: None)
    grammar = compiled({"type": "string", "maxLength": most}, vocabulary())
    grammar.mask(grammar.consume_bytes(grammar.start, b'"') or 0)
    nothing = grammar._masks._insides._nothing
    found = walks(grammar, [b'"' + b"x" * count for count in range(1, 20)])
    assert found
    assert all(one is not nothing for one in found)


def test_parts_take_classes_that_tell_little_more_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters with an end and without one are walked by one trie, and others by their own."""
    rules = 'root ::= "<" [a-z]{60} | ">" [a-z]{0,70} "!" | "#" [a-xA-Z]{40} | "+" ("abcdefghijk" "!" | [a-z]* ".")'
    grammar = compile_grammar(Constraint("gbnf", rules), vocabulary())
    classes = grammar._tables.rule_classes

    def key(text: bytes) -> bytes | None:
        at = grammar.consume_bytes(grammar.start, text)
        state, _ = grammar._configurations.items(at or 0)[0]
        found = classes.found([state])
        return None if found is None else found.key

    keys = [key(text) for text in (b"<", b">", b"#", b"+")]
    assert keys[0] is not None
    assert keys[0] != keys[2] is not None
    assert keys[3] is None  # most of its states lead into a loop
    assert keys[0] == keys[1]
    monkeypatch.setattr(rule_classes, "_FINER", 0)
    vars(classes).pop("_chosen")
    classes._wide.clear()
    assert key(b"<") != key(b">")


def test_masks_of_random_texts_are_those_of_all_tokens() -> None:
    """Objects with keys that begin alike, and texts of bounded length, some of them at every place of a text."""
    rng = random.Random(7)
    for _ in range(12):
        names = {" ".join(rng.choices(("ab", "abc", "b", "bcd"), k=rng.randint(1, 3))) for _ in range(4)}
        value = {"type": "string", "minLength": rng.randint(0, 3), "maxLength": rng.randint(3, 30)}
        grammar = compiled({"type": "object", "properties": dict.fromkeys(sorted(names), value)}, vocabulary(3, " a"))
        at = grammar.start
        for _ in range(14):
            mask = grammar.mask(at)
            assert mask.tolist() == expected(grammar, at, None)
            likely = np.flatnonzero(mask[256:-1]) + 256
            following = grammar.consume(at, int(rng.choice(likely if len(likely) else np.flatnonzero(mask))))
            if following is None or grammar.distance(following) == 0:
                break
            at = following
