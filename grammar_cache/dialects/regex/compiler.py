"""Regular expressions as expressions over code points.

Two readings: a pattern that the whole text must match, and (`search`) JSON Schema's `pattern`, which by
ECMA-262 matches anywhere. Anchors, word boundaries, lookaheads and lookbehinds are exact in both; what is no
condition on the text alone (atomic groups) or on no regular language (back-references) is refused.

Anchors and lookaheads outside repetitions are resolved as expressions (`fragment`). The rest goes by way of
an automaton (`looking`), which unrolls counts and so has a limit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from grammar_cache.dialects.bottom_up import operands, values_of_parts
from grammar_cache.dialects.regex.closing import close
from grammar_cache.dialects.regex.elimination import expression_of
from grammar_cache.dialects.regex.fragment import BeyondFragments
from grammar_cache.dialects.regex.looking import automaton_of
from grammar_cache.dialects.regex.pieces import piece_of
from grammar_cache.dialects.regex.syntax import Flags, RegexReader
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Expression, Grammar
from grammar_cache.limits import DEFAULT_LIMITS, Limits

START_RULE = "root"


def parse(
    text: str,
    *,
    search: bool = False,
    ignore_case: bool = False,
    dot_all: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Expression:
    """The texts that match `text`; with `search`, the texts that hold a match, by the rules of ECMA-262.

    `ignore_case` and `dot_all` are the flags that the pattern starts with.

    Without `search` the differences between Python and ECMA-262 (`.`, `\\s`, `[]`, `{,n}`) are settled as in
    Python with the flag ASCII. One difference stays: `$` is the end of the text, not a place before its last
    line feed.
    """
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"regex: longer than {limits.text_bytes} bytes", limit="text_bytes", line=1, column=1)
    flags = Flags(ignore_case=ignore_case, dot_all=dot_all)
    tree = RegexReader(text, ecma=search, flags=flags, limits=limits).read()
    try:
        whole = close(piece_of(tree), search=search)
    except BeyondFragments:
        return expression_of(automaton_of(tree, search=search, limits=limits), limits)
    if whole.height > limits.nesting + 2:
        message = f"regex: more than {limits.nesting} levels of nesting"
        raise LimitExceeded(message, limit="nesting", line=1, column=1)
    expression = whole.whole
    if size(expression) > limits.expression_size:
        message = f"regex: more than {limits.expression_size} nodes once its anchors are resolved"
        raise LimitExceeded(message, limit="expression_size", line=1, column=1)
    return expression


def parse_grammar(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Grammar:
    """The texts that match `text`, as a grammar of one rule."""
    return Grammar({START_RULE: parse(text, limits=limits)}, START_RULE)


def size(expression: Expression) -> int:
    """Nodes of the expression as a tree; anchors make shared parts, which are counted wherever they stand."""
    return values_of_parts(expression, _size)[id(expression)]


def _size(node: Expression, sizes: Mapping[int, int]) -> int:
    return 1 + sum(sizes[id(part)] for part in operands(node))
