"""The terminals of real Lark grammars end where `re.match` ends, on texts made for them."""

import os
import random
import re
from functools import cache
from pathlib import Path

import lark
import numpy as np
import pytest

from grammar_cache.dialects.lexemes.lexeme import DEAD, OPEN, Lexeme
from grammar_cache.dialects.lexemes.python_regex import lexeme
from grammar_cache.errors import UnsupportedFeature
from grammar_cache.limits import Limits
from tests.grammar_cache.dialects.lexemes.lexemes import ends, matched

ROOT = Path(__file__).parents[4]
FILES = Path(os.environ.get("SWYB_DATA", ROOT.parent / "shared" / "data")) / "grammars" / "files"


BUNDLED = {
    "common": "CNAME NUMBER SIGNED_FLOAT ESCAPED_STRING WS C_COMMENT CPP_COMMENT SQL_COMMENT SH_COMMENT LETTER",
    "python": "NAME STRING LONG_STRING DEC_NUMBER HEX_NUMBER FLOAT_NUMBER IMAG_NUMBER COMMENT",
    "unicode": "WS_INLINE WS",
}
RULE = re.compile(r"^[?!]{0,2}(_?[a-z]\w*)(?:\.\d+)?\s*:", re.MULTILINE)


@cache
def _bundled() -> tuple[str, ...]:
    """The regular expressions of the grammars that come with Lark."""
    found: list[str] = []
    for module, names in BUNDLED.items():
        imports = "\n".join(f"%import {module}.{name}" for name in names.split())
        found += _terminals(lark.Lark(f"start: ({'|'.join(names.split())})*\n{imports}", lexer="dynamic"))
    return tuple(found)


def _terminals(parser: lark.Lark) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terminal.pattern.to_regexp() for terminal in parser.terminals))


@cache
def _files(most_bytes: int) -> tuple[str, ...]:
    """The regular expressions of all grammars in the corpus up to this size that Lark can load."""
    found: dict[str, None] = {}
    for path in sorted(path for path in FILES.rglob("*.lark") if path.stat().st_size <= most_bytes):
        rules = RULE.findall(path.read_text())
        try:
            parser = lark.Lark.open(str(path), lexer="dynamic", start=rules, import_paths=[str(path.parent)])
        except lark.exceptions.LarkError:
            continue  # it has terminals only, or Lark refuses it too
        found.update(dict.fromkeys(_terminals(parser)))
    return tuple(found)


def _walk(found: Lexeme, choose: random.Random) -> str:
    """A text that the lexeme reads, perhaps to an end of it."""
    data, state = bytearray(), 0
    while len(data) < 30:
        if found.closes[state] != OPEN and choose.random() < 0.3:
            break
        ways = np.flatnonzero(found.moves[state] != DEAD).tolist()
        if not ways:
            break
        data.append(choose.choice(ways))
        state = int(found.moves[state, data[-1]])
    return data.decode(errors="ignore")


def _check(pattern: str, texts: int) -> int:
    """Compares with `re` and says how many texts matched."""
    found = lexeme([(pattern, 0)], Limits())
    choose = random.Random(pattern)
    signs = pattern + " \n\t\\\"'aZ09_é٣/"
    count = 0
    for _ in range(texts):
        behind = "".join(choose.choices(signs, k=choose.randrange(6)))
        text = _walk(found, choose) + choose.choice(("", behind, behind + _walk(found, choose)))
        expected = matched([(pattern, 0)], text)
        assert expected == ends(found, text), (pattern, text)
        count += bool(expected)
    return count


def test_bundled_terminals() -> None:
    """Names, numbers, strings and comments of Lark's own grammars."""
    assert len(_bundled()) > 18
    assert sum(_check(pattern, 40) for pattern in _bundled()) > 300


@pytest.mark.skipif(not FILES.is_dir(), reason=f"no grammar files at {FILES} (set SWYB_DATA to their folder)")
def test_terminals_of_the_corpus() -> None:
    """Terminals of real grammars are read, but for those that look at the text before the terminal."""
    refused = {}
    patterns = _files(6_000)
    for pattern in patterns:
        try:
            _check(pattern, 5)
        except UnsupportedFeature as refusal:
            refused[pattern] = refusal.message
    assert len(patterns) > 60
    assert all("before the terminal" in message for message in refused.values()), refused
    assert len(refused) < 0.01 * len(patterns), refused


@pytest.mark.full
def test_terminals_often() -> None:
    """Runs the quick test with many texts."""
    for pattern in (*_bundled(), *(_files(1 << 20) if FILES.is_dir() else ())):
        try:
            _check(pattern, 500)
        except UnsupportedFeature:
            continue
