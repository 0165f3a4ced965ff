"""Terminals by Python regular expressions end where `re.match` ends."""

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.lexemes.lexeme import FATAL, HARMLESS, OPEN
from grammar_cache.dialects.lexemes.python_regex import lexeme
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from tests.grammar_cache.dialects.lexemes.lexemes import ends, matched

LIMITS = Limits()
SMALL = Limits(rule_states=3000)

ATOMS = ("a", "b", "c", "é", ".", "[ab]", "[^a]", r"\w", r"\n", r"\W", r"\s", "(?i:A)", "(?:)")
BEHIND = ("a", "b", "ab", "[ab]c", "a|b", "ca|bb", r"\w", "")
ANCHORS = ("$", r"\Z", r"\b", r"\B", "^", r"\A")
QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{0}")
FLAGS = (0, 0, re.I, re.S, re.M, re.A, re.M | re.S, re.A | re.I)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifier = st.tuples(st.sampled_from(QUANTIFIERS), st.sampled_from(("", "", "?", "+"))).map("".join)
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: f"(?:{'|'.join(items)})"),
        st.tuples(inner, quantifier).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        inner.map(lambda item: f"(|{item})"),
        st.tuples(st.sampled_from(("(?=", "(?!", "(?>")), inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
    )


def patterns() -> st.SearchStrategy[str]:
    """Patterns over a few characters with all that `lexeme` understands."""
    behind = st.tuples(st.sampled_from("=!"), st.sampled_from(BEHIND)).map(lambda pair: f"(?<{pair[0]}{pair[1]})")
    atoms = st.sampled_from(ATOMS)
    leaves = st.one_of(atoms, atoms, atoms, st.tuples(atoms, behind).map("".join), st.sampled_from(ANCHORS))
    return st.recursive(leaves, _larger, max_leaves=8)


ALTERNATIVES = st.lists(st.tuples(patterns(), st.sampled_from(FLAGS)), min_size=1, max_size=2)
TEXTS = st.lists(st.text("aabbcéA\n", max_size=8), min_size=6, max_size=12)


def _agrees_with_re(alternatives: list[tuple[str, int]], texts: list[str]) -> None:
    try:
        found = lexeme(alternatives, SMALL)
    except GrammarSyntaxError:
        with pytest.raises(re.error):
            [re.compile(*alternative) for alternative in alternatives]
        return
    except (UnsupportedFeature, LimitExceeded):
        return
    for text in texts:
        expected = matched(alternatives, text)
        assert expected == ends(found, text), text


@settings(max_examples=100, deadline=None)
@given(ALTERNATIVES, TEXTS)
def test_ends_where_re_match_ends(alternatives: list[tuple[str, int]], texts: list[str]) -> None:
    """Whatever the pattern, a lexeme that isn't refused closes where `re.match` does, and nowhere else."""
    _agrees_with_re(alternatives, texts)


@pytest.mark.full
@settings(max_examples=40_000, deadline=None)
@given(ALTERNATIVES, TEXTS)
def test_ends_where_re_match_ends_often(alternatives: list[tuple[str, int]], texts: list[str]) -> None:
    """Runs the quick test tens of thousands of times."""
    _agrees_with_re(alternatives, texts)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"a+?b", ["ab", "aab", "aabab"]),
        (r"a|ab", ["a", "ab", "abc"]),
        (r"(a|ab)(c|bcd)", ["abcd", "ac", "abc"]),
        (r"(?:|a)+b", ["aab", "b"]),
        (r"(?:|a)*b", ["aab", "b"]),
        (r"a(?:b??)*?c", ["abc", "ac"]),
        (r'".*?(?<!\\)(\\\\)*?"', ['"a"', r'"a\""', r'"a\\" "', '"a', '"\n"']),
        (r'"(?!"").*?"', ['""', '"""', '"" "', '"a"']),
        (r"[?](?![a-z])", ["?", "?a", "? a"]),
        (r"[+*]|[?](?![a-z])", ["+", "?a", "?"]),
        (r"\/(?!\/)(\\\/|\\\\|[^\/])*?\/[imslux]*", ["/a/i", "//", r"/\//x", "/a/iz"]),
        (r"\/\*(\*(?!\/)|[^*])*\*\/", ["/**/", "/* * */ */", "/*a"]),
        (r"0(?![1-9])", ["0", "00", "01"]),
        (r"\d+\b", ["12", "12a", "12 ", "1é"]),
        (r"a\Bb*", ["ab", "a", "ab "]),
        (r"a$", ["a", "a\n", "a\nb", "ab"]),
        (r"(?m)a+$", ["aa", "aa\nb", "aab"]),
        (r"a\Z", ["a", "a\n"]),
        (r"(?m)a\n^b", ["a\nb", "a\nc"]),
        (r"a^b|ab", ["ab"]),
        (r"a(?=(?:b(?!c))*d)", ["abbd", "abcd", "ad", "a"]),
        (r"(?:(?!end).)*", ["abend", "abe", "en", "aend"]),
        (r"(?>a*?)b|a", ["aab", "b", "a"]),
        (r"(?>a|ab)c|.", ["abc", "ac"]),
        (r"a*+a?b", ["aab", "b"]),
        (r"(?:ab|a){2}+b?", ["abab", "aab", "aba"]),
        (r"(?x) a # (comment \n b", ["ab", "a"]),
        (r"(?s).+\n", ["a\nb\n", "a"]),
        (r"x{2,3}?y*", ["xxx", "xxy"]),
        (r"[a-zA-Z_]\w*", ["été", "a_1 b", "aµ\u0300", "_\U00010400-"]),
    ],
)
def test_examples(pattern: str, texts: list[str]) -> None:
    """Greedy, lazy, ordered, looking, atomic: as `re` has it."""
    found = lexeme([(pattern, 0)], LIMITS)
    for text in texts:
        expected = matched([(pattern, 0)], text)
        assert expected == ends(found, text), text


def test_alternatives_are_tried_in_order() -> None:
    """The label is that of the first alternative that matches, as in one alternation."""
    alternatives = [(r"if\b", 0), (r"(?:in|if)\d", re.I), (r"\w+", 0)]
    found = lexeme(alternatives, LIMITS)
    for text in ("if", "ifx", "if1", "IN2", "in2x", "é", "if "):
        expected = matched(alternatives, text)
        assert expected == ends(found, text), text


@pytest.mark.parametrize(
    ("pattern", "watches"), [('"[^"]*"', 0), ("select", 0), ("a+", 1), ("ab|a", 1), (r"a(?!b)", 1), (r"/\*.*?\*/", 0)]
)
def test_nothing_is_watched_without_need(pattern: str, watches: int) -> None:
    """A watch is only where a later text can undo the end, and there are as few of its states as possible."""
    assert watches == len(lexeme([(pattern, 0)], LIMITS).watches)


def _blocks(moves: np.ndarray, colours: np.ndarray) -> int:
    """The number of classes of equivalent states, by refining until nothing changes."""
    block = np.unique(colours, axis=0, return_inverse=True)[1].reshape(-1)
    while True:
        targets = np.where(moves >= 0, block[np.maximum(moves, 0)], moves)
        finer = np.unique(np.column_stack([block, targets]), axis=0, return_inverse=True)[1].reshape(-1)
        if finer.max() == block.max():
            return int(block.max()) + 1
        block = finer


@pytest.mark.parametrize("pattern", [r"[^\W\d]\w*", r"\w+ \w+|\d+", r'"(?!"").*?(?<!\\)(\\\\)*?"', r"(?i)sesak|\s+x"])
def test_automata_are_minimal(pattern: str) -> None:
    """No two states are equivalent, also inside characters; a watch that can't fail or can't hold is no state."""
    found = lexeme([(pattern, 0)], LIMITS)
    assert len(found.moves) == _blocks(found.moves, np.column_stack([found.closes, found.label]))
    if len(found.watches):
        assert len(found.watches) == _blocks(found.watches, found.ends[:, None])
    assert found.closes[0] == OPEN
    assert (found.watches >= FATAL).all() and (found.closes[found.closes != OPEN] >= HARMLESS).all()


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "a back-reference"),
        (r"(a)?(?(1)b|c)", "a conditional group"),
        (r"^a", "anchor"),
        (r"\Aa", "anchor"),
        (r"\ba", "word boundary"),
        (r"(?<!x)a", "a lookbehind that depends on the text before the terminal"),
        (r"a(?<=xa)b", "a lookbehind that depends on the text before the terminal"),
        (r"ab(?<=(?<=a)b)", "inside a lookbehind"),
    ],
)
def test_refused_by_name(pattern: str, message: str) -> None:
    """A lexeme that can't be decided from itself and what follows is refused."""
    with pytest.raises(UnsupportedFeature, match=message):
        lexeme([(pattern, 0)], LIMITS)


def test_which_alternative_must_not_depend_on_what_follows() -> None:
    """One place can't be the end of two alternatives, depending on the text behind."""
    with pytest.raises(UnsupportedFeature, match="which of two terminals"):
        lexeme([("a(?=b)", 0), ("a", 0)], LIMITS)


@pytest.mark.parametrize("pattern", ["(", "a)", "[b-a]", "*", "a**", "(?<=a+)b", "(?P<x>a)(?P<x>b)", r"\q", "(?z)a"])
def test_syntax_errors_have_the_message_of_re(pattern: str) -> None:
    """An invalid pattern is refused in the words of `re`."""
    with pytest.raises(re.error) as expected:
        re.compile(pattern)
    with pytest.raises(GrammarSyntaxError) as refusal:
        lexeme([(pattern, 0)], LIMITS)
    assert expected.value.msg in refusal.value.message


def test_flags_that_contradict_each_other_are_refused() -> None:
    """Flags that `re.compile` doesn't take are errors of the grammar."""
    with pytest.raises(GrammarSyntaxError):
        lexeme([("a", re.ASCII | re.UNICODE)], LIMITS)
    with pytest.raises(UnsupportedFeature, match="LOCALE"):
        lexeme([("a", re.LOCALE)], LIMITS)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(" * 30_000, "nesting"),
        ("(?:" * 300 + "a" + ")" * 300, "nesting"),
        ("a{0,100000}", "rule_states"),
        ("(?:a{1000}){1000}", "rule_states"),
        ("(?:(?:a{0}){1000000000}){1000000000}", "rule_states"),
        ("(a|b)*a(a|b){20}", "rule_states"),
        ("a?" * 2000, "rule_states"),
        ("(?>" * 30 + "a" + "*)" * 30 + "b", "rule_states"),
        ("(?:" * 20 + "a" + "){2}" * 20, "rule_states"),
        ("(?:" + "|".join(f"[^{chr(0x4E00 + i)}]" for i in range(9000)) + ")b", "rule_states"),
        ("".join(rf"[\w{chr(0x2000 + i)}]" for i in range(3000)), "rule_states"),
        (r"[a-z]{70000}(?<=[a-z]{30000})", "rule_states"),
    ],
)
def test_limits(pattern: str, limit: str) -> None:
    """A lexeme that would grow without bound is refused by a limit."""
    with pytest.raises(LimitExceeded) as refusal:
        lexeme([(pattern, 0)], Limits(rule_states=20_000))
    assert limit == refusal.value.limit


def test_shared_bodies_do_not_multiply() -> None:
    """Loops inside loops cost one copy of their body."""
    pattern = "(?:" * 60 + "a" + ")+" * 60
    assert lexeme([(pattern, 0)], Limits(rule_states=500)).moves.shape == (2, 256)


@pytest.mark.parametrize("pattern", ["[[a]", "[!--b]", "[a||b]", "[^[a]"])
def test_python_warns_nobody(pattern: str) -> None:
    """Sets about which `re` warns mean what they mean today."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [matched([(pattern, 0)], text) for text in "[a-b|]"]
    found = lexeme([(pattern, 0)], LIMITS)
    assert expected == [ends(found, text) for text in "[a-b|]"]


def test_nothing_matches() -> None:
    """A pattern without any match is an automaton that never closes."""
    found = lexeme([("a^b", 0)], LIMITS)
    assert ends(found, "ab") == []
    assert (found.closes == OPEN).all()


@settings(max_examples=60, deadline=None)
@given(st.text(r"ab([{*+?|\)]}.^$1,-=!<>:#", max_size=14))
def test_any_text_is_a_pattern_or_refused(pattern: str) -> None:
    """No text raises anything but a refusal, and only what `re` refuses is a syntax error."""
    if not _raises(GrammarSyntaxError, lexeme, [(pattern, 0)], SMALL):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _raises((re.error, OverflowError), re.compile, pattern)


def _raises(
    kinds: type[Exception] | tuple[type[Exception], ...], function: Callable[..., object], *arguments: object
) -> bool:
    """Whether one of these errors is raised; other refusals are not."""
    try:
        function(*arguments)
    except kinds:
        return True
    except GrammarError:
        return False
    return False
