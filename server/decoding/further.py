"""Further texts, where beams have come to fewer than are wanted: all of them may have spelled the same few.

Depth first, nearest to an end first, without the model: a text is followed again only where fewer tokens lead to it. A
beginning is only followed where it can be completed, so little is looked at in vain, and the search ends by itself
where the language has no more within the budget. It knows no scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from server.decoding.beam import Beam
from server.decoding.candidates import Place, judged
from server.decoding.language import Language

MOST_LOOKED_AT = 4096
"""Beginnings of texts, so that no step gets long."""


def further(
    start: Beam, children: Callable[[Beam], Iterator[Beam]], complete: Callable[[Beam], bool], known: Collection[bytes]
) -> Iterator[Beam]:
    """Ended beams with texts that are not `known`, each another one, as far as `MOST_LOOKED_AT` beginnings tell."""
    told = set(known)
    fewest: dict[bytes, int] = {}
    under_way = [iter((start,))]
    while under_way and len(fewest) < MOST_LOOKED_AT:
        beam = next(under_way[-1], None)
        if beam is None:
            under_way.pop()
            continue
        if fewest.get(beam.text, len(beam.tokens) + 1) <= len(beam.tokens):
            continue
        fewest[beam.text] = len(beam.tokens)
        if complete(beam) and beam.text not in told:
            told.add(beam.text)
            yield beam._replace(ended=True)
        if not beam.ended:
            under_way.append(children(beam))


def nearest_first(language: Language, place: Place) -> list[int]:
    """One viable token for each text that may come next; those after which the least is needed come first."""
    allowed = np.flatnonzero(language.mask(place.configuration, place.tokens_left))
    strings, first = np.unique(language.vocabulary.string_of[allowed], return_index=True)
    tokens = allowed[first[strings >= 0]].astype(np.int32)
    _, distances = judged(language, place, tokens)
    found: list[int] = tokens[np.argsort(distances, kind="stable")].tolist()
    return found
