"""The trie of all suffixes of a vocabulary's strings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.vocabulary.suffix_trie import SuffixTrie
from tests.strategies import examples


@given(st.sets(st.text("abc", min_size=1, max_size=5).map(str.encode), min_size=1, max_size=12))
@examples(80)
def test_nodes_are_what_suffixes_begin_with(strings: set[bytes]) -> None:
    """Every beginning of a suffix is a node, which knows whether it is a string and whether longer ones begin so."""
    found, path = SuffixTrie.of(sorted(strings)), [b""]
    suffixes = {string[begin:] for string in strings for begin in range(len(string))}
    seen = set()
    for node in range(1, found.trie.size):
        path[found.trie.depth[node] :] = [path[found.trie.depth[node] - 1] + bytes([found.trie.byte[node]])]
        text = path[-1]
        seen.add(text)
        assert (found.trie.string[node] >= 0) == (text in suffixes)
        assert found.whole[node] == (text in strings)
        assert found.within[node] == any(string.startswith(text) and string != text for string in strings)
    assert seen == {suffix[:end] for suffix in suffixes for end in range(1, len(suffix) + 1)}
