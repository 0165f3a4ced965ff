"""A grammar compiled for a vocabulary: the face that decoding, the command line and comparisons use.

One thread owns a compiled grammar: its tables grow as texts are followed. What decoding relies on (`minimum`,
`distances`, `mask`, `only_token`, `proposals`) is a pure function of the grammar, the vocabulary and the limits; what
was asked before only makes it faster. `distance` and `witness` tell the best that is known, which a search may lower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.distances.beam_bound import Completion, beam_bound
from grammar_cache.distances.claims import Claim, Claims
from grammar_cache.distances.cost_kernels import within
from grammar_cache.distances.exact_search import ExactSearch
from grammar_cache.distances.minimum_replay import Findings, replay, tell
from grammar_cache.errors import AnswerTooLong, EmptyLanguage, GrammarError, LimitExceeded
from grammar_cache.expression import Grammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.lexer.configurations import LexedConfigurations, configurations_of
from grammar_cache.lexer.distances import LexedDistances
from grammar_cache.limits import Limits
from grammar_cache.masks.masks import Masks
from grammar_cache.network.network import Network, build
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.token_set import packed
from grammar_cache.vocabulary.vocabulary import Vocabulary

ALGORITHM_VERSION = "5"
"""Part of every grammar id and every stored key; raised whenever states or distances may come out differently."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """The fewest tokens of a complete answer; `exact`, or else an upper bound that is always enough."""

    tokens: int
    exact: bool


class CompiledGrammar:
    """Configurations are ints; `start` is that of the empty text."""

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        limits: Limits,
        ignored: tuple[str, ...],
        interrupt: Interrupt | None = None,
        found: Findings | None = None,
    ) -> None:
        """Raises EmptyLanguage where the vocabulary can't spell any text, AnswerTooLong, LimitExceeded, Interrupted.

        What was `found` elsewhere isn't searched for again. ArtefactError where it isn't so.
        """
        interrupt = interrupt or Interrupt()
        self.vocabulary = vocabulary
        self.limits = limits
        self.ignored = ignored
        self.network = network
        self._configurations = configurations_of(network, limits.configurations, interrupt)
        self._tables = SuccessorTables(self._configurations, vocabulary, limits.table_bytes, interrupt)
        self._distances = distances_of(self._configurations, vocabulary, interrupt)
        self._claims = Claims(self._configurations, self._tables, vocabulary)
        self._tightening = ExactSearch(self._tables, self._claims)
        self._minimum: Minimum | None = None
        self._path: Completion = {}
        self._found = found
        self._proposals: dict[int, NDArray[np.int32]] = {}
        self._second: dict[int, int] = {}  # by configuration, the second least additive distance behind a byte
        self.start: int = self._configurations.start
        if found is not None:
            self._path = replay(found, self._tables, vocabulary, self._tightening, self.start)
            self._minimum = self._searched()
        if self._additive(self.start) >= INFINITE and self.minimum.tokens >= INFINITE:
            raise nothing_found(self._configurations, vocabulary, interrupt)

    @property
    def minimum(self) -> Minimum:
        """The fewest tokens that a complete answer needs, searched for once."""
        if self._minimum is None:
            bound, fuel = self._additive(self.start), self.limits.start_fuel
            if 0 < bound < INFINITE:
                self._path = beam_bound(self._tables, self._distances, self.vocabulary, self.start, bound, fuel)
            self._minimum = self._searched()
        return self._minimum

    @property
    def findings(self) -> Findings:
        """Findings of the search for the minimum: with it the same grammar elsewhere answers the same."""
        _ = self.minimum
        return tell(self._tables, self._tightening, self._path, self.start)

    def anew(self) -> CompiledGrammar:
        """Copy without what texts have led to: other numbers for configurations, and the same answers."""
        return CompiledGrammar(self.network, self.vocabulary, self.limits, self.ignored, found=self._found)

    @property
    def full(self) -> bool:
        """Whether its configurations are at their limit: then what is new to it raises LimitExceeded, but for `take`
        and `witness`.
        """
        return self._configurations.full

    @property
    def size(self) -> dict[str, int]:
        """Rules, states, byte classes, configurations and stack nodes in use."""
        return {
            "rules": len(self.network.entry),
            "states": self.network.states.count,
            "byte_classes": self.network.class_count,
            "configurations": self._configurations.count,
            "nodes": self._configurations.node_count,
        }

    def consume(self, configuration: int, token: int) -> int | None:
        """The configuration after a token; None where no text of the language begins so, and for a stop id."""
        data = self.vocabulary.token_bytes[token] if 0 <= token < self.vocabulary.size else None
        if data is None:
            return None
        after = self._tables.follow(configuration, data)
        return None if after == DEAD else after

    def take(self, configuration: int, token: int) -> int:
        """The configuration after a token that was chosen, DEAD (-1) if it leads nowhere.

        Beyond the limit of configurations there is room for it, so that answers can be completed.
        """
        data = self.vocabulary.token_bytes[token] if 0 <= token < self.vocabulary.size else None
        return DEAD if data is None else self.take_bytes(configuration, data)

    def take_bytes(self, configuration: int, data: bytes) -> int:
        """Follows bytes as `take` does, for text that belongs to an answer."""
        return self._tables.follow_reserved(configuration, data)

    def consume_bytes(self, configuration: int, data: bytes) -> int | None:
        """The configuration after some bytes; None where no text of the language begins so."""
        after = self._tables.consume_bytes(configuration, data)
        return None if after == DEAD else after

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """int32[rows] and int32[rows, k] → int32[rows, k]; DEAD (-1) where a token leads nowhere."""
        return self._tables.consume(configurations, tokens)

    def accepts(self, configuration: int) -> bool:
        """Whether the text so far is complete."""
        return self._tables.accepts(configuration)

    def ends(self, configuration: int) -> bool:
        """Whether the text is complete and nothing can follow it."""
        return self.accepts(configuration) and self._configurations.ends(configuration)

    def distance(self, configuration: int) -> int | None:
        """An upper bound on the tokens still needed, 0 iff complete; None if no completion is known.

        Consistent: where it is n > 0 some token leads to a configuration of at most n - 1.
        """
        self._tighten_unknown(configuration)
        value = min(self._additive(configuration), self._tightened(configuration)[0])
        return None if value >= INFINITE else value

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        """Distances as decoding uses them with `tokens` left: additive where that is enough, else searched for;
        INFINITE where more is needed than is left, and for DEAD. Any shape, int32.
        """
        self._distances.update()
        values = np.empty(configurations.shape, np.int32)
        if within(self._distances.additive, configurations.ravel(), int(tokens), INFINITE, values.ravel()):
            return values
        farther = (values > tokens) & (configurations >= 0)
        if self._claims.waiting:
            self._tightening.recall(np.unique(configurations[farther]).tolist())
        for place in np.argwhere(farther):
            values[tuple(place)] = self._search_within(int(configurations[tuple(place)]), tokens)
        return values

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        """The first of these ids, int32[k], after which the text can be completed with `tokens` more; None if none can.

        The answer agrees with `distances`. The very first id is tried alone: mostly it is the one.
        """
        if not len(ranking):
            return None
        best = int(ranking[0])
        after = self.consume(configuration, best)
        if after is not None and self._additive(after) <= tokens:
            return best
        fits = self.distances(self.consume_batch(np.array([configuration], np.int32), ranking[None, :]), tokens)[0]
        found = np.flatnonzero(fits <= tokens)
        return int(ranking[found[0]]) if len(found) else None

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        """Mask of the ids that may come next, bool[vocabulary.size]: with a budget, those after which the rest fits.

        Ids without a budget: all after which a completion is known at all. A stop id is allowed iff the text is
        complete.
        """
        bits = self.bitmask(configuration, budget)
        mask = np.unpackbits(bits, count=self.vocabulary.size, bitorder="little").view(np.bool_)
        mask.flags.writeable = False
        return mask

    def bitmask(self, configuration: int, budget: int | None = None) -> NDArray[np.uint8]:
        """`mask` as one bit an id, little-endian, padded to a multiple of 32; read-only."""
        tokens = INFINITE - 1 if budget is None else budget - 1
        known = None if self._masks is None else self._masks.bits(configuration, tokens)
        if known is not None:
            return known
        fits = self.distances(self._tables.successors(configuration).configurations, tokens) <= tokens
        table = self._tables.table(configuration)
        viable = np.zeros(len(self.vocabulary.strings), np.bool_)
        viable[table.strings] = fits[table.which]
        stops = self.vocabulary.stop_ids if self.accepts(configuration) else ()
        return packed(np.append(viable, False)[self.vocabulary.string_of], stops)

    def only_token(self, configuration: int, budget: int) -> int | None:
        """The one token that may come next; None if there are several, or if the text may also end here."""
        if self.accepts(configuration) or self._branches(configuration, budget - 1):
            return None
        bits = self.bitmask(configuration, budget)
        [places] = np.nonzero(bits)
        if len(places) != 1 or bits[places[0]].bit_count() != 1:
            return None
        return int(8 * places[0]) + int(bits[places[0]]).bit_length() - 1

    def _branches(self, configuration: int, tokens: int) -> bool:
        """Whether two tokens of a single byte fit: quick to see, and so wherever there is much to choose from."""
        least = self._second.get(configuration)
        if least is None:
            after = self._tables.consume(np.array([configuration], np.int32), self.vocabulary.single_bytes[None, :])
            distances = np.append(self._additives(after[after != DEAD]), [INFINITE, INFINITE])
            least = self._second[configuration] = int(np.partition(distances, 1)[1])
        return least <= tokens

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        """Tokens that lead nearer to an end along each way to go on: int32, ascending, few."""
        known = self._proposals.get(configuration)
        if known is None:
            self._distances.update()
            known = np.array([self._token(s) for s in self._distances.proposals(configuration)], np.int32)
            known.sort()
            known.flags.writeable = False
            self._proposals[configuration] = known
        return known

    def witness(self, configuration: int) -> tuple[int, ...]:
        """Tokens that complete the text, at most `distance(configuration)` of them. Raises EmptyLanguage if unknown.

        There is room for them beyond the limit of configurations, though none to search.
        """
        found: list[int] = []
        while not self.accepts(configuration):
            with suppress(LimitExceeded):  # what fits a budget is known without
                self._tighten_unknown(configuration)
            additive = self._additive(configuration)
            tightened, string = self._tightened(configuration)
            if min(tightened, additive) >= INFINITE:
                raise EmptyLanguage("no completion of this text is known")
            if tightened > additive:
                string = self._distances.witness(configuration)
            found.append(self._token(string))
            configuration = self._tables.follow_reserved(configuration, self.vocabulary.strings[string])
        return tuple(found)

    def offer(self, claims: Mapping[bytes, Claim]) -> None:
        """Takes what others have found for this grammar, vocabulary and limits, as their `learned` returned it.

        Answers then come sooner and are the same. Claims that don't stand are passed over: see `rejected_claims`.
        """
        _ = self.minimum  # its search is part of every grammar, and asks nobody
        self._claims.offer(claims)

    def learned(self) -> dict[bytes, Claim]:
        """Claims found by searches since the last call, for others, who may `offer` them."""
        found = [completion for completion in self._tightening.untold() if completion.configurations[0] != self.start]
        return dict(map(self._claims.stated, found))

    @property
    def offered(self) -> Mapping[bytes, Claim]:
        """Claims that were offered and not looked at yet: for whoever has a copy of this grammar."""
        return self._claims.waiting

    @property
    def rejected_claims(self) -> int:
        """Number of offered claims that were looked at and didn't stand."""
        return self._claims.rejected

    @cached_property
    def _masks(self) -> Masks | None:
        """Masks of the grammar; None for grammars with a lexer. Decoding by candidates needs none."""
        if not isinstance(self._distances, Distances):
            return None
        return Masks(self._configurations, self._distances, self.vocabulary, self.limits.table_bytes)

    def _additive(self, configuration: int) -> int:
        self._distances.update()
        return int(self._distances.additive[configuration])

    def _additives(self, configurations: NDArray[np.int32]) -> NDArray[np.int32]:
        self._distances.update()
        return self._distances.additive[configurations]

    def _tightened(self, configuration: int) -> tuple[int, int]:
        """The least distance that a search has found here, and the next string of its completion."""
        exact = self._tightening.known(configuration)
        on_path = self._path.get(configuration, (INFINITE, -1))
        if exact is None or exact >= on_path[0]:
            return on_path
        return exact, self._tightening.witness(configuration) if exact else -1

    def _tighten_unknown(self, configuration: int) -> None:
        _ = self.minimum  # its path is part of every grammar, so it comes before any smaller search
        if self._additive(configuration) >= INFINITE:
            self._tightening.within(configuration, INFINITE - 1, self.limits.step_fuel)

    def _searched(self) -> Minimum:
        """The minimum, the descent done: proved by the exact search, or as far as it came."""
        bound = min(self._additive(self.start), self._path.get(self.start, (INFINITE, -1))[0])
        if bound == 0:
            return Minimum(0, True)
        if self._tightening.within(self.start, bound - 1, self.limits.start_fuel):
            return Minimum(self._tightening.known(self.start) or 0, True)
        return Minimum(bound, self._tightening.least(self.start) >= bound)

    def _search_within(self, configuration: int, tokens: int) -> int:
        """A distance of at most `tokens` that a search finds, else INFINITE."""
        _ = self.minimum  # its path is part of every grammar, so it comes before any smaller search
        on_path, _ = self._path.get(configuration, (INFINITE, -1))
        if on_path <= tokens:
            return on_path
        if tokens >= 0 and self._tightening.within(configuration, tokens, self.limits.step_fuel):
            return self._tightening.known(configuration) or 0
        return INFINITE

    def _token(self, string: int) -> int:
        return int(self.vocabulary.token_list[self.vocabulary.token_offsets[string]])


def distances_of(
    configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt, most: int = INFINITE
) -> Distances | LexedDistances:
    """Distances of any network's configurations. Costs of states above `most` count as that.

    Raises EmptyLanguage, LimitExceeded(configurations), Interrupted.
    """
    if isinstance(configurations, LexedConfigurations):
        return LexedDistances(configurations, vocabulary, interrupt, most)
    return Distances(configurations, vocabulary, interrupt, most)


def nothing_found(configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> GrammarError:
    """Error that says why no text is known: the costs of those that are only too long are as good as infinite.

    Raises LimitExceeded(configurations), Interrupted.
    """
    most = INFINITE - 1
    if distances_of(configurations, vocabulary, interrupt, most).additive[configurations.start] <= most:
        return AnswerTooLong(most)
    return EmptyLanguage("no text of this grammar is found that the model's vocabulary can spell")


def compile_expression(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, interrupt: Interrupt | None = None
) -> CompiledGrammar:
    """The last step of every dialect: network, configurations, distances."""
    network = build(grammar, limits, interrupt, vocabulary.cache(AutomatonCache))
    return CompiledGrammar(network, vocabulary, limits, grammar.ignored, interrupt)


def grammar_id(parts: Sequence[str], vocabulary: Vocabulary) -> str:
    """A content hash: equal for equal grammar texts and options, tokenizer and algorithm, on any machine."""
    digest = sha256()
    for part in (*parts, vocabulary.fingerprint, ALGORITHM_VERSION):
        digest.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]
