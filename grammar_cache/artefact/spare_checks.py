"""Check of an artefact's spare items: that they are items, and all that their array's own rule reads."""

from __future__ import annotations

from grammar_cache.arrays.checks import require
from grammar_cache.configurations.interner import DEAD, ROOT, Configurations
from grammar_cache.errors import ArtefactError, LimitExceeded
from grammar_cache.limits import Limits
from grammar_cache.network.network import Network, RequiredRules, UniqueRule
from grammar_cache.unique_items.compact_texts import GAPS
from grammar_cache.unique_items.required_items import only_text, spare_texts


def check_spares(network: Network, limits: Limits) -> None:
    """Raises ArtefactError where spare items aren't as compiling makes them.

    Arrays have states of their own that read their spare items, so all of these together are no longer than that.
    """
    table, left = Configurations(network, limits.configurations), limits.states
    try:
        for unique in network.unique:
            if unique.required is not None:
                require(_fits(table, unique, unique.required, left), "spare items are not those of the array")
                left -= sum(map(len, spare_texts(unique.required, network)))
    except (ValueError, LimitExceeded) as error:
        raise ArtefactError(str(error)) from error


def _fits(table: Configurations, unique: UniqueRule, required: RequiredRules, most: int) -> bool:
    """Whether spare items are different items, of so many bytes at most, and with the end all that the array's own rule
    reads.
    """
    if len(set(required.spares)) < len(required.spares):
        return False
    network, texts = table.network, spare_texts(required, table.network)
    right = sum(map(len, texts)) <= most
    right = right and len(set(texts)) == len(texts) > 1 and only_text(network, network.entry[required.end]) == b"]"
    right = right and all(_reads(table, required.item, text) for text in texts)
    right = right and all(_reads(table, unique.further, text + b"]") for text in texts)
    return right and _reads_alone(table, unique.rule, b",".join(texts) + b"]")


def _before(table: Configurations, rule: int) -> int:
    """The configuration before a rule that is a text of its own."""
    return table.of_items([(table.network.entry[rule], ROOT)], accepting=False)


def _reads(table: Configurations, rule: int, text: bytes) -> bool:
    """Whether a rule reads a text."""
    at = _before(table, rule)
    for byte in text:
        at = DEAD if at == DEAD else table.step(at, byte)
    return at != DEAD and table.accepts(at)


def _reads_alone(table: Configurations, rule: int, text: bytes) -> bool:
    """Whether a rule reads a bracket, white space, that text, and nothing else."""

    def following(configuration: int) -> dict[int, int]:
        after = table.row(configuration)[table.network.classes].tolist()
        return {byte: number for byte, number in enumerate(after) if number != DEAD}

    opened = following(_before(table, rule))
    seen, todo, behind = set(opened.values()), list(opened.values()), set[int]()
    for at in todo:
        after = following(at)
        if after.keys() - {*GAPS, text[0]} or table.accepts(at):
            return False
        behind.add(after.pop(text[0], DEAD))
        todo += [number for number in after.values() if number not in seen]
        seen.update(after.values())
    if opened.keys() != {ord("[")} or len(behind) != 1:
        return False
    [at] = behind
    for byte in text[1:]:
        after = following(at) if at != DEAD and not table.accepts(at) else {}
        if after.keys() != {byte}:
            return False
        at = after[byte]
    return at != DEAD and table.accepts(at) and not following(at)
