"""The trie of a set of byte strings: what it holds, and where its skips lead."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grammar_cache.vocabulary.trie import Trie, flatten

strings_of_few_bytes = st.lists(st.integers(0x61, 0x63), min_size=1, max_size=6).map(bytes)
string_sets = st.sets(strings_of_few_bytes | st.binary(min_size=1, max_size=5), max_size=40).map(sorted)

unhurried = settings(deadline=None)  # the first call compiles


def spelled(trie: Trie) -> list[bytes]:
    """The string of every node, by its bytes and depths alone."""
    strings = [b""]
    for byte, depth in zip(trie.byte[1:], trie.depth[1:], strict=True):
        assert 1 <= depth <= len(strings[-1]) + 1
        strings.append(strings[-1][: depth - 1] + bytes([byte]))
    return strings


@unhurried
@given(string_sets)
@example([])
@example([b"a", b"aa", b"aab", b"b"])
@example([b"\x00", b"\x00\x00", b"\xff"])
def test_nodes_are_the_prefixes(strings: list[bytes]) -> None:
    """The nodes are exactly the prefixes of the strings, each once, in ascending order."""
    prefixes = {string[:length] for string in strings for length in range(len(string) + 1)} | {b""}
    assert spelled(Trie.of(strings)) == sorted(prefixes)


@unhurried
@given(string_sets)
def test_strings_end_at_their_nodes(strings: list[bytes]) -> None:
    """A node carries the index of its own string if that is in the set, and -1 if it is a mere prefix."""
    trie = Trie.of(strings)
    index = {string: at for at, string in enumerate(strings)}
    assert trie.string.tolist() == [index.get(string, -1) for string in spelled(trie)]


@unhurried
@given(string_sets)
@example([])
@example([b"aaa", b"aab", b"b"])
def test_skip_leaves_out_exactly_the_subtree(strings: list[bytes]) -> None:
    """Nodes from a node to its skip are all that begin with its string, and no other."""
    trie = Trie.of(strings)
    nodes = spelled(trie)
    for at, prefix in enumerate(nodes):
        within = [number for number, string in enumerate(nodes) if string.startswith(prefix)]
        assert within == list(range(at, int(trie.skip[at])))


@given(st.lists(st.binary(max_size=5), max_size=20))
def test_flatten_keeps_every_string(strings: list[bytes]) -> None:
    """The flat bytes between two offsets are the string that was put there, empty ones included."""
    data, offsets = flatten(strings)
    assert [data[start:end].tobytes() for start, end in pairwise(offsets)] == strings


def test_long_strings_need_no_recursion() -> None:
    """A string of 30,000 bytes makes a path of as many nodes."""
    trie = Trie.of([b"a" * 30_000])
    assert (trie.size, int(trie.depth[-1]), int(trie.skip[30_000])) == (30_001, 30_000, 30_001)
