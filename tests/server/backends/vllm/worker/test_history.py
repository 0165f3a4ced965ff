"""A text followed by its tokens, whatever becomes of them between two looks."""

from __future__ import annotations

import random

import pytest

from server.backends.vllm.worker.history import History, LostTrack
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
END = 3


def followed(tokens: list[int]) -> int | None:
    configuration: int | None = GRAMMAR.start
    for token in tokens:
        if configuration is None or token == END:
            return configuration
        configuration = GRAMMAR.consume(configuration, token)
    return configuration


def test_any_way_to_a_text_ends_in_its_configuration():
    """Growing, shrinking, changing, jumping between texts: the same as from the start."""
    rng = random.Random(0)
    texts = [rng.choices((0, 0, 1, 2, 3), k=rng.randint(0, 9)) for _ in range(40)]
    texts = [text for text in texts if followed(text) is not None]
    history = History((END,))
    for _ in range(1_500):
        text = rng.choice(texts)
        text = text[: rng.randint(0, len(text))]
        history.follow(GRAMMAR, text)
        assert history.configuration == followed(text)
        assert history.stopped == (END in text)
    assert len(texts) > 15


def test_what_is_known_is_not_followed_again(monkeypatch: pytest.MonkeyPatch):
    """One more token is one more step."""
    asked = []
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    take = grammar.take
    monkeypatch.setattr(grammar, "take", lambda *what: asked.append(1) or take(*what))
    history = History((END,))
    for length in range(9):
        history.follow(grammar, [0] * length)
    assert len(asked) == 8
    history.follow(grammar, [0, 0, 1])
    assert len(asked) == 9


def test_another_grammar_of_the_same_id_is_followed_anew():
    """A grammar of the same id has other numbers for its configurations."""
    history = History((END,))
    history.follow(GRAMMAR, [0, 0, 1])
    other = compiled(DYCK, DYCK_VOCABULARY)
    for text in (b"(((((", b"()()("):
        other.consume_bytes(other.start, text)
    history.follow(other, [0, 0, 1])
    assert history.configuration == other.consume_bytes(other.start, b"(()")


@pytest.mark.parametrize("bad", [-1, 1, 4, 1 << 40])
def test_a_token_that_leads_nowhere(bad: int):
    """A token that leads nowhere is told each time; without it all is well."""
    history = History((END,))
    for _ in range(2):
        with pytest.raises(LostTrack, match=f"token 2 of the answer, {bad}"):
            history.follow(GRAMMAR, [0, 1, bad, 0])
    history.follow(GRAMMAR, [0, 1])
    assert history.configuration == followed([0, 1])
