"""Check of an artefact's spare items: that they are items, and all that their array's own rule reads."""

from __future__ import annotations

from grammar_cache.configurations.interner import DEAD, ROOT, Configurations
from grammar_cache.limits import Limits
from grammar_cache.network.network import Network
from grammar_cache.unique_items.compact_texts import GAPS
from grammar_cache.unique_items.required_items import only_text, spare_texts


def check_spares(network: Network, limits: Limits) -> None:
    """Raises ValueError where spare items aren't as compiling makes them, LimitExceeded."""
    table = Configurations(network, limits.configurations)
    for unique in network.unique:
        if unique.required is not None:
            texts, (item, _, end) = spare_texts(unique.required, network), unique.required
            right = len(set(texts)) == len(texts) > 1 and only_text(network, network.entry[end]) == b"]"
            right = right and all(_reads(table, item, text) for text in texts)
            right = right and all(_reads(table, unique.further, text + b"]") for text in texts)
            if not (right and _reads_alone(table, unique.rule, b",".join(texts) + b"]")):
                raise ValueError("spare items are not those of the array")


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
