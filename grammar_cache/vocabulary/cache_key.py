"""Keys of vocabularies that are kept on disk: by the files they were read from, and by the code that read them."""

from __future__ import annotations

from hashlib import sha256
from importlib import resources

from grammar_cache.vocabulary.tokenizer_file import Files

_FORMAT = 2
"""Version of the format in a cache folder."""
_CODE = ("vocabulary.py", "distinct_strings.py", "tokenizer_file.py", "token_spelling.py", "trie.py")


def key_of(files: Files, extra_stop_ids: frozenset[int]) -> str | None:
    """Key of a cached vocabulary: the files, the stop ids, and the code that reads them.

    None where the code isn't there as text: another version couldn't be told from it.
    """
    digest = sha256(f"{_FORMAT} {sorted(extra_stop_ids)}\n".encode())
    for name in _CODE:
        code = resources.files("grammar_cache.vocabulary") / name
        if not code.is_file():
            return None
        digest.update(sha256(code.read_bytes()).digest())
    digest.update(files.digest())
    return digest.hexdigest()
