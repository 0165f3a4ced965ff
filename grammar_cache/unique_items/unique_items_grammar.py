"""A compiled grammar that has arrays whose items may not repeat.

The grammar that was compiled writes at most one item of such an array, so all that is known of it holds as it is:
masks, distances, completions. Two things are added here. Behind an item a comma leads to another one. And an item may
not end as one that was there before: where the one under way may still become such a one, its distance is that of
leaving all of those (see `leaving`). Everywhere else the compiled grammar's distance stands: its completions need no
further item, and the one under way can't become an earlier one. So distances stay upper bounds, and consistent: the
guarantee holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.searched_distances import Minimum
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.masks.mask import Mask
from grammar_cache.unique_items.item_distances import ItemDistances
from grammar_cache.unique_items.item_masks import ItemMasks
from grammar_cache.unique_items.item_place import ItemPlace
from grammar_cache.unique_items.item_tokens import ItemTokens, KnownItemTokens
from grammar_cache.unique_items.leaving import Leaving
from grammar_cache.unique_items.near_tokens import NearTokens
from grammar_cache.unique_items.places import FIRST, ItemPlaces
from grammar_cache.unique_items.strings_along import StringsAlong
from grammar_cache.unique_items.text_counts import TextCounts
from grammar_cache.unique_items.token_places import TokenPlaces


class UniqueItemsGrammar(CompiledGrammar):
    """Compiled grammar whose configurations are numbers of `ItemPlaces`. What it doesn't hold itself is that of
    `plain`.
    """

    def __init__(self, grammar: CompiledGrammar, counts: TextCounts | None = None) -> None:
        """`counts`: of the network, if they are known."""
        self.plain = grammar
        self._known_counts = counts
        self._minimum = None
        self._anew = None

    def __getattr__(self, name: str) -> object:
        return getattr(self.plain, name)  # tables among them, which may become others

    def _searched(self) -> Minimum:
        """Minimum of the compiled grammar: further items might take fewer tokens, so it isn't exact."""
        _ = self._strings, self._counts  # found once, which no step has to wait for
        return Minimum(self.plain.minimum.tokens, exact=False)

    @property
    def _strings(self) -> ItemTokens:
        return self.vocabulary.cache(KnownItemTokens).of(self.vocabulary)

    @cached_property
    def _counts(self) -> TextCounts:
        return self._known_counts or TextCounts(self.network)

    @cached_property
    def _tokens(self) -> TokenPlaces:
        _ = self.minimum  # places are those of the tables behind its search
        return TokenPlaces(self._configurations, self.plain, self._strings)

    @property
    def _places(self) -> ItemPlaces:
        return self._tokens.places

    @cached_property
    def _along(self) -> StringsAlong:
        return StringsAlong(self._strings, self._places.sets, self.limits.table_bytes // 8)

    @cached_property
    def _near(self) -> NearTokens:
        return NearTokens(self.plain, self._configurations)

    @cached_property
    def _leaving(self) -> Leaving:
        return Leaving(self.plain, self._tokens, self._along, self._near, self._counts)

    @cached_property
    def _distances_inside(self) -> ItemDistances:
        return ItemDistances(self.plain, self._places, self._leaving)

    @cached_property
    def _masks_inside(self) -> ItemMasks:
        return ItemMasks(self.plain, self._tokens, self._along, self._near, self._leaving, self._distances_inside)

    def anew(self) -> UniqueItemsGrammar:
        return UniqueItemsGrammar(self.plain.anew(), self._counts)

    @property
    def size_bytes(self) -> int:
        return self.plain.size_bytes + self._own_bytes

    @property
    def held_bytes(self) -> int:
        caches = self._counts.size_bytes + self._masks_inside.size + self._along.size
        return self.plain.held_bytes + self._own_bytes + caches

    @property
    def _own_bytes(self) -> int:
        distances = self._leaving.size_bytes + self._near.size_bytes + self._distances_inside.size_bytes
        return self._tokens.size_bytes + distances

    def moved(self, configurations: Sequence[int]) -> tuple[CompiledGrammar, list[int]]:
        places = [self._place(number) for number in configurations]
        needed = [self._places.needed(place) for place in places]
        grammar, numbers = super().moved(list(chain.from_iterable(needed)))
        if grammar is self:
            return self, list(configurations)
        assert isinstance(grammar, UniqueItemsGrammar), "it was begun anew from this one"
        moved, sets, left = list[int](), dict[int, int](), iter(numbers)
        for place, needs in zip(places, needed, strict=True):
            there = list(islice(left, len(needs)))
            found = (
                grammar._places.moved(place, there, self._places, sets) if isinstance(place, ItemPlace) else there[0]
            )
            moved.append(grammar._places.number(found))
        return grammar, moved

    def consume(self, configuration: int, token: int) -> int | None:
        after = self._behind(self._place(configuration), token)
        return None if after == DEAD else self._places.number(after)

    def take(self, configuration: int, token: int) -> int:
        place = self._place(configuration)
        return self._places.number(self._tokens.behind(place, token, reserved=True))

    def take_bytes(self, configuration: int, data: bytes) -> int:
        return self._places.number(self._places.follow(self._place(configuration), data, reserved=True))

    def consume_bytes(self, configuration: int, data: bytes) -> int | None:
        after = self._places.follow(self._place(configuration), data)
        return None if after == DEAD or self._is_stuck(after) else self._places.number(after)

    def followed(self, tokens: Sequence[int]) -> list[int]:
        path, after = list[int](), self.start
        for token in tokens:
            after = DEAD if after == DEAD else self.take(after, token)
            path.append(after)
        return path

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        after = self.plain.consume_batch(self._plain(configurations), tokens)
        for row, number in enumerate(configurations.tolist()):
            self._tokens.correct(number, tokens[row], after[row])
        for number in np.unique(after[after >= FIRST]).tolist():
            if self._is_stuck(self._place(number)):
                after[after == number] = DEAD
        return after

    def accepts(self, configuration: int) -> bool:
        return configuration < FIRST and self.plain.accepts(configuration)

    def ends(self, configuration: int) -> bool:
        return configuration < FIRST and self.plain.ends(configuration)

    def is_dear(self, configuration: int) -> bool:
        return self.plain.is_dear(self._places.configuration(configuration))

    def distance(self, configuration: int) -> int | None:
        place = self._place(configuration)
        return self.plain.distance(place) if isinstance(place, int) else self._distances_inside.distance(place)

    def lower_bound(self, configuration: int) -> int:
        """Whether anything is missing: further items may take fewer tokens than the compiled grammar knows of."""
        place = self._place(configuration)
        if isinstance(place, ItemPlace) and place.owes:
            return 1
        found = self.plain.lower_bound(_configuration(place))
        return found if found >= INFINITE else min(1, found)

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        values = self.plain.distances(self._plain(configurations), tokens)
        for at, number in enumerate(configurations.ravel().tolist()):
            place = self._places.of(number)
            if place is not None and place.is_apart:
                values.ravel()[at] = self._distances_inside.within(place, tokens)
        return values

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        here, flat = self._place(configuration), after.ravel()
        places = [self._place(number) for number in flat.tolist()]
        if isinstance(here, int):
            return self._distances_inside.behind_outside(here, places, tokens).reshape(after.shape)
        return self._distances_inside.behind(here, places, tokens).reshape(after.shape)

    def additives(self, configurations: NDArray[np.int32]) -> NDArray[np.int32]:
        values = self.plain.additives(self._plain(configurations))
        for at, number in enumerate(configurations.tolist()):
            place = self._places.of(number)
            if place is not None:
                values[at] = self._distances_inside.additive(place)
        return values

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        if configuration < FIRST and not self._tokens.openings(configuration):
            return self.plain.first_viable(configuration, ranking, tokens)
        best = ranking[:1]
        after = self.consume_batch(np.array([configuration], np.int32), best[None, :])[0]
        if (self.distances_behind(configuration, after, tokens) <= tokens).any():
            return int(best[0])
        ids = ranking[1:][(ranking[1:] >= 0) & (ranking[1:] < self.vocabulary.size)]
        found = ids[self.mask(configuration, tokens + 1)[ids]] if len(ids) else ids
        return int(found[0]) if len(found) else None

    def token_mask(self, configuration: int, budget: int | None = None) -> Mask:
        place = self._place(configuration)
        if isinstance(place, int):
            return self._masks_inside.outside(configuration, budget)
        return self._masks_inside.of(configuration, place, budget)

    def known_mask(self, configuration: int, budget: int) -> Mask | None:
        if self._anew is not None:
            return None
        openings = self._tokens.known_openings(configuration) if configuration < FIRST else None
        if openings is not None and not openings:
            return self.plain.known_mask(configuration, budget)
        return self._masks_inside.known(configuration, budget)

    def only_token(self, configuration: int, budget: int) -> int | None:
        if configuration < FIRST:
            found = self.plain.only_token(configuration, budget)
            if found is None or not self._tokens.openings(configuration):
                return found
        place = self._place(configuration)
        stands_alone = isinstance(place, ItemPlace) and not place.is_apart
        if stands_alone and self.plain.only_token(_configuration(place), budget) is None:
            return None
        [allowed] = np.nonzero(self.mask(configuration, budget))
        return int(allowed[0]) if len(allowed) == 1 else None

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        place = self._place(configuration)
        found = self.plain.proposals(_configuration(place))
        if isinstance(place, int):
            return found
        spares = self._places.by_spares(place)
        tokens = [*found.tolist(), *([] if spares == DEAD else self.plain.proposals(spares).tolist())]
        if place.may_repeat and 0 < self._leaving.distance(place) < INFINITE:
            tokens.append(self._leaving.token(place))
        behind = [(token, self._behind(place, token)) for token in tokens]
        return np.unique(np.array([token for token, after in behind if self._completes(after)], np.int32))

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        place, found = self._place(configuration), list[int]()
        while isinstance(place, ItemPlace):
            way = self._way(place, None if budget is None else budget - len(found))
            if not way:
                raise EmptyLanguage("no completion of this text is known")
            for token in way:
                place = self._tokens.behind(place, token, reserved=True)
            found += way
        return (*found, *self.plain.witness(place, None if budget is None else budget - len(found)))

    def _way(self, place: ItemPlace, budget: int | None) -> tuple[int, ...]:
        """The next tokens of a completion: to the end of the text, or of the item, or one. Raises EmptyLanguage."""
        spares, reserve = self._places.by_spares(place), self._distances_inside.reserve(place)
        ends = place.owes and self._places.at_end(place) and not self._places.is_repeated(place)
        if spares != DEAD and (ends or self._distances_inside.is_nearer_by(spares, place, budget)):
            return self.plain.witness(spares, budget)
        if not place.may_repeat:
            return self.plain.witness(place.configuration, None if budget is None else budget - reserve)
        token = self._leaving.token(place)
        if token < 0:
            raise EmptyLanguage("no completion of this text is known")
        return (token,)

    def _place(self, number: int) -> ItemPlace | int:
        return self._places.of(number) or number

    def _behind(self, place: ItemPlace | int, token: int) -> ItemPlace | int:
        """The place behind a token; DEAD where no text begins so."""
        after = self._tokens.behind(place, token)
        return DEAD if self._is_stuck(after) else after

    def _is_stuck(self, place: ItemPlace | int) -> bool:
        """Whether the item under way can't become another one than those before."""
        if isinstance(place, int) or not place.may_repeat or self._leaving.distance(place) < INFINITE:
            return False
        return self._places.by_spares(place) == DEAD

    def _completes(self, place: ItemPlace | int) -> bool:
        """Whether a completion is known."""
        if isinstance(place, int):
            return place != DEAD and self.plain.distance(place) is not None
        return self._distances_inside.additive(place) < INFINITE

    def _plain(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """The configurations of places, in an array of their own."""
        plain = numbers.copy()
        flat = plain.ravel()
        for at in np.flatnonzero(flat >= FIRST).tolist():
            flat[at] = self._places.configuration(int(flat[at]))
        return plain


def _configuration(place: ItemPlace | int) -> int:
    return place.configuration if isinstance(place, ItemPlace) else place


def with_unique_items(grammar: CompiledGrammar) -> CompiledGrammar:
    """The grammar with what its arrays of unique items may go on with; itself where it has none."""
    return UniqueItemsGrammar(grammar) if grammar.network.unique else grammar
