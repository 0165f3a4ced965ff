"""`TagDispatch` of xgrammar's EBNF: free text in which a tag starts a rule.

    TagDispatch(("<a>", a), ("<b>", b), excludes=("</s>",), loop_after_dispatch=true)

Text is free up to the first tag; the rule of that tag comes next, and then text is free again, or, without
`loop_after_dispatch`, the call is over. It is also over wherever text is free. Excluded texts can't occur in
free text. One rule is made for each state of the automaton of Aho and Corasick over tags and excluded texts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from grammar_cache.dialects.combine import sequence
from grammar_cache.dialects.gbnf.macros import Arguments, Made, Value, boolean, only_named, string
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream
from grammar_cache.expression import EMPTY, Alt, Expression, Ref, char_class
from grammar_cache.limits import Limits


@dataclass(slots=True)
class _Node:
    """A beginning of a tag or an excluded text; `whole`: it is all of one."""

    children: dict[str, int] = field(default_factory=dict)
    whole: bool = False
    rules: list[str] = field(default_factory=list)
    moves: dict[str, int] = field(default_factory=dict)
    """State that a character leads to, but for those that lead back to the start."""


def tag_dispatch(stream: TokenStream, macro: GbnfToken, arguments: Arguments, prefix: str, limits: Limits) -> Made:
    """The call as rules. Tags that occur in each other are refused: which of them starts its rule is not defined."""
    only_named(stream, arguments, macro, {"excludes", "loop_after_dispatch"})
    nodes = [_Node()]
    for value in arguments.values:
        tag, rule = _pair(stream, value)
        _insert(stream, nodes, tag).rules.append(rule)
        if len(nodes) > limits.rules:
            raise stream.limit_exceeded(f"tags of more than {limits.rules} characters", "rules", macro.offset)
    for excluded in _excludes(stream, arguments):
        if _insert(stream, nodes, excluded).rules:
            raise stream.syntax_error("an excluded text is a tag", excluded.offset)
    loops = True
    if "loop_after_dispatch" in arguments.named:
        loops = boolean(stream, arguments.named["loop_after_dispatch"][1])
    size = _link(stream, macro, nodes, limits)
    again = Ref(f"{prefix}0") if loops else EMPTY
    rules: dict[str, Expression] = {}
    for state, node in enumerate(nodes):
        if not node.whole:
            rules[f"{prefix}{state}"] = _free(nodes, node, prefix, again)
    return Made(Ref(f"{prefix}0"), rules, size)


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


def _insert(stream: TokenStream, nodes: list[_Node], token: GbnfToken) -> _Node:
    tag = string(stream, token)
    if not tag:
        raise stream.syntax_error("an empty tag", token.offset)
    at = 0
    for char in tag:
        if char not in nodes[at].children:
            nodes[at].children[char] = len(nodes)
            nodes.append(_Node())
        at = nodes[at].children[char]
    nodes[at].whole = True
    return nodes[at]


def _link(stream: TokenStream, macro: GbnfToken, nodes: list[_Node], limits: Limits) -> int:
    """Fills in where each character leads; returns how many nodes the expressions will have."""
    failure = {0: 0}
    size = 0
    todo = deque([0])
    while todo:
        at = todo.popleft()
        node = nodes[at]
        shorter = nodes[failure[at]]
        if at and (shorter.whole or (node.whole and node.children)):
            raise stream.unsupported("a tag or excluded text that holds another one", macro.offset)
        node.moves = {**(shorter.moves if at else {}), **node.children}
        size += 8 + 4 * len(node.moves)
        if size > limits.expression_size:
            message = f"tags that need more than {limits.expression_size} nodes"
            raise stream.limit_exceeded(message, "expression_size", macro.offset)
        for char, child in node.children.items():
            failure[child] = shorter.moves.get(char, 0) if at else 0
            todo.append(child)
    return size


def _free(nodes: list[_Node], node: _Node, prefix: str, again: Expression) -> Expression:
    """The rest of a call from a place in free text."""
    points: dict[int, list[str]] = {}
    for char, to in node.moves.items():
        points.setdefault(to, []).append(char)
    others = char_class([(ord(char), ord(char)) for char in node.moves], negated=True)
    options: list[Expression] = [EMPTY, sequence((others, Ref(f"{prefix}0")))]
    for to, chars in points.items():
        read = char_class((ord(char), ord(char)) for char in chars)
        target = nodes[to]
        if not target.whole:
            options.append(sequence((read, Ref(f"{prefix}{to}"))))
        elif target.rules:
            options.append(sequence((read, Alt(tuple(Ref(rule) for rule in target.rules)), again)))
    return Alt(tuple(options))
