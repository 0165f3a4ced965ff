"""A bounded cache keeps what was used last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.lru import LruCache
from tests.strategies import examples


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 12)), max_size=30))
@examples(150)
def test_the_last_used_stay_within_the_bound(calls: list[tuple[str, int | None]]) -> None:
    """Against a list of names, values and sizes. None: it is asked for; else cached, unless that is more than all."""
    kept, expected = LruCache[str, int](10), list[tuple[str, int, int]]()
    for value, (name, size) in enumerate(calls):
        known = [entry for entry in expected if entry[0] == name]
        if size is None:
            assert kept.get(name) == (known[0][1] if known else None)
        else:
            kept.keep(name, value, size)
        new = known if size is None else [(name, value, size)] if size <= 10 else []
        expected = [entry for entry in expected if entry[0] != name] + new
        while sum(size for _, _, size in expected) > 10:
            expected.pop(0)
    assert len(kept) == len(expected)
    assert [kept.get(name) for name, _, _ in expected] == [value for _, value, _ in expected]


def test_what_is_taken_is_gone() -> None:
    """All entries leave at once, and there is room for others."""
    kept = LruCache[str, int](2)
    kept.keep("a", 1, 1)
    kept.keep("b", 2, 1)
    assert dict(kept.taken()) == {"a": 1, "b": 2}
    assert (len(kept), kept.size, kept.get("a")) == (0, 0, None)
    kept.keep("c", 3, 2)
    assert kept.taken() == [("c", 3)]
