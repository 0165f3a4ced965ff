"""Stay within your bounds, in one file: structured text that is always complete within its token budget.

This program is a short paper, to be read from top to bottom. `python examples/one_file.py` runs it and needs nothing
but Python. It is the readable twin of SWYB's core: tests hold that both compute the same distances, masks and texts.

*Problem.* A language model writes one token after another, at most T of them. A grammar says which texts are wanted.
A server that masks the tokens which the grammar forbids writes no wrong text, but may cut one. A look ahead is missing.

*Idea.* Call *configuration* all that matters about a text so far, and *distance* d(e) a number of tokens that is enough
to complete a text of configuration e, 0 exactly if it is complete. While K tokens are left, a token t is *viable* in e
if the grammar allows it and d(e·t) ≤ K - 1. Only viable tokens are written.

*Theorem.* Let d be *consistent*: whenever 0 < d(e) < ∞, some token t, the *witness*, has d(e·t) ≤ d(e) - 1. If
d(start) ≤ T, then whatever the model says, the text is complete after at most T tokens.

*Proof.* The invariant is d(e) ≤ K. It holds at the start, where K = T. Suppose that it holds. If d(e) = 0, the text is
complete. Else d(e) - 1 ≤ K - 1, so the witness is viable, and there is a viable token. Behind any viable token the
distance is at most K - 1, and K - 1 tokens are left: the invariant holds again. At K = 0 it says that d(e) = 0. ∎
If d(start) > T, the request is refused before the model is asked, and told how many tokens would be enough.

*Plan.* A grammar (section 1) becomes a network of automata (2), which a text leads through configurations (3), whose
distances a vocabulary determines (4). Decoding chooses among viable tokens (5). The method is from Collura, Tit,
Giunchiglia, Papadakis and Cordy, "Stay Within Your Bounds: Distance-Guided Decoding for Guaranteed Context-Free Grammar
Compliance", whose worked example section 6 prints.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, TypeAlias

# ---------------------------------------------------------------------------------------------------- 1. Grammars
# A grammar is a set of rules, `root` the one that whole texts are made by, in a part of GBNF's notation: "literals",
# [classes] of ASCII characters, (groups), alternatives |, repetition * + ? {2} {2,} {2,4}, and names of rules. Any rule
# may call any rule, also before it reads (left recursion), and may be empty. Texts are bytes, in UTF-8.

Body: TypeAlias = "tuple[Branch, ...]"  # alternatives
Branch: TypeAlias = "tuple[Part, ...]"  # one part after the other
Item: TypeAlias = "range | str | Body"  # a byte out of a range, the name of a rule that is called, or a group
Part: TypeAlias = "tuple[Item, int, int | None]"  # an item, at least and at most so many times

TOKEN = r"""(?xs) \s+ | \#[^\n]* | (?P<rule>[\w-]+)\s*::= | (?P<call>[\w-]+) | "(?P<text>(?:[^"\\]|\\.)*)"
    | (?P<mark>[|()]) | \[(?P<set>\^?(?:[^]\\]|\\.)*)\] | (?P<times>[?*+]|\{\d+(?:,\d*)?\}) | (?P<wrong>.)"""
TIMES = {"?": "0,1", "*": "0,", "+": "1,"}
WIDE = "C2DF80BF E0E0A0BF80BF E1EC80BF80BF EDED809F80BF EEEF80BF80BF F0F090BF80BF80BF F1F380BF80BF80BF F4F4808F80BF80BF"
"""The first and the last of each byte, for all characters that aren't ASCII."""


def parsed(text: str) -> dict[str, Body]:
    """The rules by name. Raises ValueError, or IndexError where a text ends too early."""
    tokens = deque((match.lastgroup, match[match.lastgroup]) for match in re.finditer(TOKEN, text) if match.lastgroup)
    called = {"root", *(value for kind, value in tokens if kind == "call")}
    rules: dict[str, Body] = {}
    while tokens:
        kind, name = tokens.popleft()
        if kind != "rule" or name in rules:
            raise ValueError(f"a new rule was expected, not {name!r}")
        rules[name] = alternatives(tokens)
    if not called <= set(rules):
        raise ValueError(f"rules are missing: {called - set(rules)}")
    return rules


def alternatives(tokens: deque[tuple[str, str]]) -> Body:
    """Reads up to the end of a rule or a group."""
    branches: list[list[Part]] = [[]]
    while tokens and tokens[0][0] not in ("rule", "wrong") and tokens[0] != ("mark", ")"):
        kind, value = tokens.popleft()
        item: Item = value
        if kind == "text":
            unescaped = value.encode("latin-1", "backslashreplace").decode("unicode_escape")
            item = (tuple((range(byte, byte + 1), 1, 1) for byte in unescaped.encode()),)
        elif kind == "set":
            item = tuple(((range(byte, byte + 1), 1, 1),) for byte in range(128) if re.match(f"[{value}]", chr(byte)))
            pairs = [bytes.fromhex(word) for word in WIDE.split() if value.startswith("^")]
            item += tuple(tuple((range(p[i], p[i + 1] + 1), 1, 1) for i in range(0, len(p), 2)) for p in pairs)
        elif value == "(":
            item = alternatives(tokens)
            tokens.popleft()
        if value == "|" and kind == "mark":
            branches.append([])
        elif kind != "times":
            branches[-1].append((item, 1, 1))
        else:
            least, comma, most = TIMES.get(value, value.strip("{}")).partition(",")
            item = ((branches[-1].pop(),),)
            branches[-1].append((item, int(least), int(most or least) if most or not comma else None))
    return tuple(map(tuple, branches))


# ----------------------------------------------------------------------------------------------------- 2. Networks
# Each rule becomes a minimal automaton that reads bytes and calls rules; a call remembers the state to return to. Calls
# of rules that may be empty can also be skipped, and those of rules that are never more than empty are left out. So
# whatever is called reads at least a byte. All automata together are a recursive transition network.

State: TypeAlias = tuple[str, int]  # a rule and a number; its automaton begins in 0
Edge: TypeAlias = tuple[int, int | str, int]  # from a state by a byte, or by a call of a rule, to a state
Items: TypeAlias = "set[tuple[State, Node]]"  # section 3


class Network:
    """The rules in `empty` derive the empty text, those in `reading` another one, maybe both. Rules end in `final`."""

    def __init__(self, rules: Mapping[str, Body]) -> None:
        self.rules, self.empty, self.reading, self.final = rules, set[str](), set[str](), set[State]()
        for name, body in [*rules.items()] * 2 * len(rules):  # up to the least fixpoint
            empty, reads = self.derives(body)
            self.empty |= {name} if empty else set()
            self.reading |= {name} if reads else set()
        self.moves: dict[State, dict[int, State]] = {}  # the states behind bytes
        self.calls: dict[State, list[tuple[State, State]]] = {}  # first states of rules, and states to return to
        for name in rules:
            edges, finals = self.automaton(name)
            self.final |= {(name, number) for number in finals}
            for begin, label, end in edges:
                if isinstance(label, int):
                    self.moves.setdefault((name, begin), {})[label] = name, end
                else:
                    self.calls.setdefault((name, begin), []).append(((label, 0), (name, end)))

    def derives(self, item: Item) -> tuple[bool, bool]:
        """Whether the empty text, and whether another one, by what is known of the rules."""
        if not isinstance(item, tuple):
            return item in self.empty, isinstance(item, range) or item in self.reading
        found = [[(*self.derives(one), not least, most != 0) for one, least, most in branch] for branch in item]
        empty = any(all(empty or skipped for empty, _, skipped, _ in branch) for branch in found)
        able = (branch for branch in found if all(empty or reads or skipped for empty, reads, skipped, _ in branch))
        return empty, any(reads and taken for branch in able for _, reads, _, taken in branch)

    def steps(self, branch: Branch) -> Iterator[tuple[range | str, Branch]]:
        """Steps of a branch: what it reads or calls first, and what is left of it (Antimirov's partial derivatives)."""
        if not branch:
            return
        (item, least, most), rest = branch[0], branch[1:]
        empty, reads = self.derives(item)
        if empty or not least:
            yield from self.steps(rest)
        again: Branch = () if most == 1 else ((item, max(0, least - 1), most and most - 1),)
        if isinstance(item, tuple) and most != 0:
            yield from ((label, left + again + rest) for inner in item for label, left in self.steps(inner))
        elif not isinstance(item, tuple) and reads and most != 0:
            yield item, again + rest

    def automaton(self, name: str) -> tuple[list[Edge], set[int]]:
        """Edges and final states. Reversed and made deterministic twice, it is minimal (Brzozowski, 1962)."""
        branches: list[Branch] = [((self.rules[name], 1, 1),)]
        number, edges = {branches[0]: 0}, list[Edge]()
        for branch in branches:  # grows
            for label, left in self.steps(branch):
                branches += [left] * (left not in number)
                number.setdefault(left, len(number))
                edges += [(number[branch], one, number[left]) for one in ([label] if isinstance(label, str) else label)]
        return backwards(*backwards(edges, {number[branch] for branch in branches if self.derives((branch,))[0]}))


def backwards(edges: Iterable[Edge], finals: Iterable[int]) -> tuple[list[Edge], set[int]]:
    """The deterministic automaton of the same texts read backwards."""
    before: dict[int, dict[int | str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for begin, label, end in edges:
        before[end][label].add(begin)
    subsets, made = [frozenset(finals)], list[Edge]()
    number = {subsets[0]: 0}
    for subset in subsets:  # grows
        for label in {label: None for state in subset for label in before[state]}:
            target = frozenset().union(*(before[state].get(label, ()) for state in subset))
            subsets += [target] * (target not in number)
            number.setdefault(target, len(number))
            made.append((number[subset], label, number[target]))
    return made, {number[subset] for subset in subsets if 0 in subset}


# ----------------------------------------------------------------------------------------------- 3. Configurations
# A text may have several readings at once. Each is an item: the state that it has come to, and a stack of the states
# that it returns to. Stacks share what they have in common: a *node* stands for all that may follow a rule that is
# called at one place. It has several edges, each to a state and to the node below. Rules that call each other before
# they read, as left recursion does, have nodes that refer to each other, in cycles. No node is popped where it is made,
# because what is called reads a byte; so no node changes once a byte is read.


@dataclass(eq=False)
class Node:
    edges: set[tuple[State, Node]] = field(default_factory=set)
    distance: float = math.inf  # D, from the end of the rule to the end of the text: section 4


def expanded(network: Network, items: Items) -> tuple[Items, list[Node]]:
    """The items with the first states of all rules that they may call before the next byte, and the nodes of these."""
    found, made = list(items), dict[State, Node]()
    for state, node in found:  # grows
        for first, back in network.calls.get(state, ()):
            if first not in made:
                made[first] = Node()
                found.append((first, made[first]))
            made[first].edges.add((back, node))
    return set(found), list(made.values())


def step(network: Network, items: Items, byte: int) -> Items:
    """The items behind a byte, given expanded ones. Where a rule ends, its node is popped."""
    moves = ((network.moves.get(state, {}).get(byte), node) for state, node in items)
    found = {(state, node) for state, node in moves if state}
    popped = [node for state, node in found if state in network.final]
    for node in popped:  # grows
        popped += [below for state, below in node.edges - found if state in network.final]
        found |= node.edges
    return found


# ---------------------------------------------------------------------------------------------------- 4. Distances
# c(s) is the fewest tokens from state s to the end of its rule. D(node) = min c(back) + D(below) over a node's edges,
# d(configuration) = min c(state) + D(node) over its items: one addition a node, however high the stack. As not every
# byte need be a token, c is solved over whole ones: c(s) is 0 at the end of a rule, else 1 + the least cost behind one.
# A token leads to items as a text does, with nodes on top of a bottom that stands for the rule's end, so the cost
# behind it is c(state) + D(node) again. Knuth generalised Dijkstra's algorithm to such equations (1977). So d is
# consistent by construction: the token for which c is least is the witness. And d is an upper bound: a token that spans
# the end of a rule is counted there and behind it again. The core, unlike this page, goes on to search for the exact
# distance before it gives a token up or refuses a request: see docs/explain/distance.md.

Unknown: TypeAlias = "State | Node"
Term: TypeAlias = tuple[Unknown, int, tuple[Unknown, ...]]  # unknown = min over its terms of number + sum of unknowns


def costs(network: Network, tokens: set[bytes]) -> dict[Unknown, float]:
    """c. An item is read on from only behind the first token that leads to it: that keeps costs consistent, and few."""
    prefixes = sorted({token[:i] for token in tokens for i in range(1, len(token) + 1)}, key=lambda p: (len(p), p))
    terms: list[Term] = [(state, 0, ()) for state in network.final]
    for state in {*network.moves, *network.calls} - network.final:
        bottom = Node()
        terms.append((bottom, 0, ()))
        led: Items = {(state, bottom)}
        first, made = expanded(network, led)
        behind = {b"": first}
        for prefix in prefixes:
            found = step(network, behind.get(prefix[:-1], set()), prefix[-1])
            if prefix in tokens:
                found -= led
                led |= found
                terms += [(state, 1, item) for item in found]
            if found:
                behind[prefix], nodes = expanded(network, found)
                made += nodes
        terms += [(node, 0, edge) for node in made for edge in node.edges]
    return least_solution(terms)


def least_solution(terms: Sequence[Term]) -> dict[Unknown, float]:
    """Knuth's algorithm: unknowns of finite value are settled in the order of their values."""
    least, ticket = defaultdict[Unknown, float](lambda: math.inf), count()
    queue: list[tuple[float, int, Unknown]] = [(number, next(ticket), x) for x, number, rest in terms if not rest]
    waiting: dict[Unknown, list[Term]] = defaultdict(list)
    for term in terms:
        for summand in term[2]:
            waiting[summand].append(term)
    while queue:
        value, _, settled = heappop(queue)
        if settled not in least:
            least[settled] = value
            for unknown, number, summands in waiting[settled]:
                if all(one in least for one in summands):
                    heappush(queue, (number + sum(least[one] for one in summands), next(ticket), unknown))
    return least


@dataclass(eq=False)
class Configuration:
    items: Items
    distance: float  # 0: the text is complete
    after: dict[int, Configuration] = field(default_factory=dict)  # by byte, once they are asked for


class Machine:
    """A grammar and a vocabulary. The token `end`, if there is one, has no bytes: it says that the text ends."""

    def __init__(self, grammar: str, vocabulary: Sequence[bytes], end: int | None = None) -> None:
        self.vocabulary, self.end, self.network = vocabulary, end, Network(parsed(grammar))
        self.costs = costs(self.network, {token for token in vocabulary if token})
        self.start = Configuration({(("root", 0), Node(distance=0))}, self.costs["root", 0])

    def after(self, configuration: Configuration) -> dict[int, Configuration]:
        """The configurations behind each byte that may follow."""
        if not configuration.after:
            items, made = expanded(self.network, configuration.items)
            for node in made * len(made):  # as often as new nodes can lean on each other
                node.distance = min(self.costs[back] + below.distance for back, below in node.edges)
            for byte in {byte for state, _ in items for byte in self.network.moves.get(state, ())}:
                found = step(self.network, items, byte)
                distance = min(self.costs[state] + node.distance for state, node in found)
                configuration.after[byte] = Configuration(found, distance)
        return configuration.after

    def read(self, configuration: Configuration | None, data: bytes) -> Configuration | None:
        """The configuration after some bytes; None where no text of the language goes on so."""
        for byte in data:
            configuration = self.after(configuration).get(byte) if configuration else None
        return configuration

    def viable(self, configuration: Configuration, left: float) -> dict[int, Configuration]:
        """The mask: the tokens that may come next while so many are left, with the configurations behind them."""
        behind = {token: self.read(configuration, data) for token, data in enumerate(self.vocabulary) if data}
        found = {token: after for token, after in behind.items() if after and after.distance <= min(left - 1, 1e9)}
        return found | {self.end: configuration} if self.end is not None and configuration.distance == 0 else found


# ----------------------------------------------------------------------------------------------------- 5. Decoding
# Algorithm 1 keeps the best M prefixes (*beams*), asks a model for the logits z behind each, and scores viable tokens:
#
#     r = min(1, d / max(1, K - 1)),   α = α_min + (1 - α_min)·r,   z̃ = (1 - α)·z + α·max z,   score = log softmax(z̃),
#
# d being the distance behind the token: the nearer the horizon, the less the model's taste counts. The end token has
# the distance 0 and competes wherever a text is complete. One beam is greedy decoding. Sampling draws by softmax(z).

Model: TypeAlias = Callable[[tuple[int, ...]], Sequence[float]]  # from the tokens so far to a logit for every token


class Beam(NamedTuple):
    configuration: Configuration
    tokens: tuple[int, ...] = ()
    text: bytes = b""
    score: float = 0.0
    taste: float = 0.0  # sum of z: it decides between equal scores
    ended: bool = False


def children(machine: Machine, beam: Beam, model: Model, left: int, alpha: float, look_ahead: bool) -> list[Beam]:
    """The beam with each viable token, the highest z first, then the least distance. It has ended if there is none."""
    options = machine.viable(beam.configuration, left if look_ahead else math.inf)
    z = [max(-1e9, min(1e9, -1e9 if math.isnan(logit) else logit)) for logit in model(beam.tokens)]
    distance = {token: 0 if token == machine.end else after.distance for token, after in options.items()}
    ranked = sorted(options, key=lambda token: (-z[token], distance[token], token))
    tastes = [z[token] - z[ranked[0]] for token in ranked]
    alphas = [alpha + (1 - alpha) * min(1.0, distance[token] / max(1, left - 1)) for token in ranked]
    scores = [(1 - share) * taste for share, taste in zip(alphas, tastes, strict=True)]
    of_scores, of_tastes = (math.log(sum(map(math.exp, values or [0]))) for values in (scores, tastes))
    found = [] if options else [beam._replace(ended=True)]
    for token, score, taste in zip(ranked, scores, tastes, strict=True):
        tokens = beam.tokens if token == machine.end else (*beam.tokens, token)
        ended = token == machine.end or left <= 1 or not machine.after(options[token])
        totals = beam.score + (score - of_scores), beam.taste + (taste - of_tastes)
        found.append(Beam(options[token], tokens, beam.text + machine.vocabulary[token], *totals, ended))
    return found


def complete(
    machine: Machine, model: Model, budget: int, width: int = 1, alpha: float = 0, heat: float = 0, seed: int = 0,
    look_ahead: bool = True
) -> Beam:  # fmt: skip
    """The best of `width` beams, or one that is drawn at the temperature `heat`. Else a text is cut by the budget."""
    if look_ahead and machine.start.distance > budget:
        raise ValueError(f"{machine.start.distance} tokens are needed")
    chance, beams = random.Random(seed), [Beam(machine.start, ended=not budget or not machine.after(machine.start))]
    while not beams[0].ended:
        found = [beam for beam in beams if beam.ended]
        for beam in (beam for beam in beams if not beam.ended):
            longer = children(machine, beam, model, budget - len(beam.tokens), alpha, look_ahead)
            if heat:
                longer = chance.choices(longer, [math.exp((one.taste - beam.taste) / heat) for one in longer])
            found += longer
        found.sort(key=lambda beam: (-beam.score, -beam.taste))
        texts = [(beam.text, beam.ended) for beam in found]  # the best of equal ones stands
        beams = [beam for i, beam in enumerate(found) if texts[i] not in texts[:i]][:width]
    return beams[0]


# ------------------------------------------------------------------------------------------------ 6. Demonstration
PERSON = r"""root ::= "{\"name\": \"" [^"\\]* "\", \"age\": " number "}"
number ::= number [0-9] | [1-9]  # left-recursive"""
TOKENS = ['{"', "name", '": "', "Ada", " Love", "lace", " and so on", '", "', "age", '": ', "1", "7", "}", ""]


def talkative(tokens: tuple[int, ...]) -> list[float]:
    """A random model that prefers to go on."""
    return [random.Random(f"{tokens}{token}").random() + 2 * token.startswith(" ") for token in TOKENS]


def main() -> None:
    machine, budget = Machine(PERSON, [token.encode() for token in TOKENS], end=len(TOKENS) - 1), 12
    for look_ahead in (False, True):
        beam = complete(machine, talkative, budget, look_ahead=look_ahead)
        print(f"T = {budget}, {'with distances' if look_ahead else 'masks alone'}: {beam.text.decode()}")
        place = machine.start
        for used, token in enumerate(beam.tokens, 1):
            place = machine.viable(place, math.inf)[token]
            print(f"    {TOKENS[token]!r:12} {budget - used:2} tokens are left, the distance is {place.distance}")
    print(f"T = {machine.start.distance - 1} is refused, since {machine.start.distance} tokens are needed")
    dyck = Machine('root ::= b "x"  b ::= "(" b ")" b | ""', [b"(", b")", b"x"])
    behind = [dyck.read(dyck.start, b"(" * n) for n in range(5)]
    print("The example of the paper: distances behind 0 to 4 parentheses", [one.distance for one in behind if one])
    beam = complete(dyck, lambda tokens: [-0.5, -3, -1.0], budget=3, width=2, alpha=0.25)
    print(f"T = 3, M = 2, α_min = 0.25: {beam.text.decode()} with the score {beam.score:.3f}")


if __name__ == "__main__":
    main()
