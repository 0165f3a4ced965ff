"""False of `budget_affected` on real tasks: it is never wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.budget_affected import Judged, judged, scripted, ways, wrong
from benchmarks.data import read_tasks, read_vocabulary, splitter
from tests.cached import EMBEDDED_MODEL, tokenizer_folder
from tests.grammar_cache.test_json_mode_eval import TASKS

pytestmark = pytest.mark.skipif(not TASKS.is_file(), reason=f"no json-mode-eval tasks at {TASKS} (set SWYB_DATA)")


def rows(tasks: int, seeds: int, chosen: list[str]) -> list[Judged]:
    """Answers of the first tasks, by scripts."""
    folder = tokenizer_folder(EMBEDDED_MODEL)
    vocabulary, split = read_vocabulary(folder), splitter(folder)
    ends = [*(split(text)[0] for text in ('"', '"}', "}")), *vocabulary.stop_ids]
    return [
        row
        for task in read_tasks(tasks)
        for seed in range(seeds)
        for row in judged(
            task,
            vocabulary,
            split,
            lambda task, reference, seed: scripted(vocabulary.size, reference, ends, task, seed),
            seed,
            chosen,
        )
    ]


def test_two_tasks() -> None:
    """Each kind of answer is there: kept and changed; none that was told to be kept is another one."""
    found = rows(2, 1, ["sampling"])
    assert Counter(row.affected for row in found).keys() == {True, False}
    assert not any(map(wrong, found))


@pytest.mark.full
def test_sixty_tasks() -> None:
    """60 tasks, 5 budgets, 3 seeds; drawn answers, truncated ones, and beams."""
    found = rows(60, 3, [*ways(0)])
    assert len(found) > 3_000
    assert not any(map(wrong, found))
    kept = Counter(row.way for row in found if not row.affected)
    assert all(kept[way] > 0 for way in ways(0))
