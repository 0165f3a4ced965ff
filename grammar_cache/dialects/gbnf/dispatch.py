"""`TagDispatch` of xgrammar's EBNF: free text in which a tag starts a rule.

    TagDispatch(("<a>", a), ("<b>", b), excludes=("</s>",), loop_after_dispatch=true)

Text is free up to the first tag; the rule of that tag comes next, and then text is free again, or, without
`loop_after_dispatch`, the call is over. It is also over wherever text is free. Excluded texts can't occur in
free text.
"""

from __future__ import annotations

from grammar_cache.dialects.free_text import FreeText
from grammar_cache.dialects.gbnf.macros import Arguments, Made, Value, boolean, only_named, string
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream
from grammar_cache.errors import LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Alt, Expression, Ref
from grammar_cache.limits import Limits


def tag_dispatch(stream: TokenStream, macro: GbnfToken, arguments: Arguments, prefix: str, limits: Limits) -> Made:
    """The call as rules. Tags that occur in each other are refused: which of them starts its rule is not defined."""
    only_named(stream, arguments, macro, {"excludes", "loop_after_dispatch"})
    loops = True
    if "loop_after_dispatch" in arguments.named:
        loops = boolean(stream, arguments.named["loop_after_dispatch"][1])
    ways: dict[str, list[Expression]] = {}
    for value in arguments.values:
        tag, rule = _pair(stream, value)
        ways.setdefault(_tag(stream, tag), []).append(Ref(rule))
    excludes = []
    for excluded in _excludes(stream, arguments):
        excludes.append(_tag(stream, excluded))
        if excludes[-1] in ways:
            raise stream.syntax_error("an excluded text is a tag", excluded.offset)
    try:
        free = FreeText(ways, excludes, limits)
    except UnsupportedFeature as error:
        raise stream.unsupported(error.message, macro.offset) from error
    except LimitExceeded as error:
        raise stream.limit_exceeded(error.message, error.limit, macro.offset) from error
    name = f"{prefix}0"
    return Made(Ref(name), {name: free.then(lambda tag, _: Alt(tuple(ways[tag])), loops=loops)}, free.size)


def rules_of(arguments: Arguments) -> list[GbnfToken]:
    """The names of rules in the pairs of a call."""
    return [value[1] for value in arguments.values if isinstance(value, tuple) and len(value) == 2]


def _pair(stream: TokenStream, value: Value) -> tuple[GbnfToken, str]:
    if isinstance(value, GbnfToken) or len(value) != 2 or value[1].kind != "name":
        first = value if isinstance(value, GbnfToken) else value[0]
        raise stream.syntax_error('expected a pair: ("tag", rule)', first.offset)
    return value[0], value[1].text


def _excludes(stream: TokenStream, arguments: Arguments) -> tuple[GbnfToken, ...]:
    if "excludes" not in arguments.named:
        return ()
    value = arguments.named["excludes"][1]
    return (value,) if isinstance(value, GbnfToken) else value


def _tag(stream: TokenStream, token: GbnfToken) -> str:
    tag = string(stream, token)
    if not tag:
        raise stream.syntax_error("an empty tag", token.offset)
    return tag
