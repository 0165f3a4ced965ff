"""Context of a search through alternatives: what is known of all conjunctions, and what work is charged to."""

from __future__ import annotations

from typing import Protocol

from grammar_cache.dialects.json_schema.logic.member_values import MemberValues
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction


class SearchContext(Protocol):
    """Context of a search: what is known of all conjunctions."""

    def end(self, atom: str) -> str:
        """End of a chain of atoms that do nothing but refer to one other, by keywords that their drafts know."""

    def spend(self, atom: str, steps: int = 1) -> None:
        """Count steps of work."""

    def possible(self, shape: Shape, levels: int) -> frozenset[str]:
        """Types of the shape that are not seen to be impossible so many levels deep."""

    def held_twice(self, group: tuple[str, ...]) -> frozenset[str]:
        """Types of all of whose values two of the atoms hold, or more, as is seen from what they say themselves."""

    def one_alone(self, group: tuple[str, ...], types: frozenset[str]) -> tuple[Conjunction, ...]:
        """Conjunction for each atom: that it holds and no other does, of which those that it excludes needn't be
        denied, among values of these types.
        """

    def member_values(self, atom: str) -> MemberValues:
        """Values that the atom itself lists for members of objects, and members that it requires."""

    def excluded(self, atom: str, asserted: Conjunction) -> bool:
        """Whether an atom is seen to hold of no value of which the own assertions of these hold."""
