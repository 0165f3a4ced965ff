"""Whether `budget_affected` is right: answers within budgets, and what the same request gives without one.

Each task of json-mode-eval is answered within five budgets, from the fewest tokens of any answer to three times those
of the reference answer, and with three seeds, by sampling and by beams. False has to be right each time. True where the
text is the same is counted as needless. Rows are kept as they come, and a run goes on where an earlier one ended.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Split, Task, append_rows, read_rows, read_tasks, read_vocabulary, splitter
from benchmarks.tables import markdown, percent
from grammar_cache import CompiledGrammar, Constraint, UnsupportedFeature, Vocabulary, compile_grammar
from server.backends.backend import Work
from server.backends.request import Decoding
from server.decoding.answer import Answer
from server.decoding.language import AnyText
from server.decoding.parameters import UNLIMITED, Parameters
from server.engines.contract import Engine, EngineError, Forward, SequenceId
from server.engines.embedded import default_cache, ensure_embedded_model
from server.options.readers import positive

WINDOW = 2
"""Largest budgets after which beams without one are given up: their answer is none of those within budgets."""
TOP_P = 0.9
WIDTH = 3
ENDS = ('"', '"}', "}", "]", '"]', '"]}', "}}", '"}}')
"""Tokens that a scripted model is fond of once it has said what it had to say."""

Text: TypeAlias = tuple[int, ...]
Logits: TypeAlias = Callable[[Sequence[Sequence[Text]]], Sequence[NDArray[np.float32]]]
"""Function from the texts that each answer may go on from to their logits, [texts, vocabulary size]."""
Model: TypeAlias = Callable[[Task, Sequence[int], int], AbstractContextManager[Logits]]
"""Function from a task, the tokens of its reference answer and a seed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer within a budget. `same`: its text is that without a budget."""

    task: str
    way: str
    level: str
    seed: int
    budget: int
    tokens: int
    forced: int
    ended: int
    affected: bool
    same: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", type=positive, default=60, help="so many tasks of json-mode-eval")
    parser.add_argument("--shortest", action="store_true", help="those with the shortest references, not the first")
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--ways", nargs="+", choices=[*ways(0)], default=[*ways(0)])
    parser.add_argument("--model", choices=("scripted", "embedded"), default="scripted")


def run(arguments: Namespace) -> int:
    """Prints the table; 1 if a promise was broken."""
    folder = ensure_embedded_model(default_cache(), print)
    vocabulary, split = read_vocabulary(folder), splitter(folder)
    tasks = read_tasks(0 if arguments.shortest else arguments.tasks)
    if arguments.shortest:
        tasks = sorted(tasks, key=lambda task: len(split(task.completion)))[: arguments.tasks]
    file = Path(arguments.out, f"budget_affected_{arguments.model}.jsonl")
    rows = read_rows(file, Judged)
    done = {(row.task, row.seed, row.way) for row in rows}
    with models(arguments.model, folder, vocabulary, split) as model:
        for seed in range(arguments.seeds):
            for task in tasks:
                missing = [way for way in arguments.ways if (task.name, seed, way) not in done]
                found = list(judged(task, vocabulary, split, model, seed, missing))
                append_rows(file, found)
                rows += found
    print(table(rows))
    return int(any(wrong(row) for row in rows))


def judged(
    task: Task, vocabulary: Vocabulary, split: Split, model: Model, seed: int, chosen: Sequence[str]
) -> Iterator[Judged]:
    """All answers of one task and seed; none where its schema isn't supported."""
    try:
        grammar = compile_grammar(Constraint("json_schema", task.schema), vocabulary)
    except UnsupportedFeature:
        return
    reference = split(task.completion)
    levels = budgets(grammar.minimum.tokens, len(reference))
    asked = {
        (way, level): replace(ways(seed)[way], budget=budget) for way in chosen for level, budget in levels.items()
    }
    free = {way: replace(ways(seed)[way], budget=UNLIMITED) for way in chosen}
    with model(task, reference, seed) as logits:
        found = decoded(grammar, [*asked.values(), *free.values()], logits, max(levels.values()))
    unlimited = {way: answer and answer.text for way, answer in zip(free, found[len(asked) :], strict=True)}
    for (way, level), answer in zip(asked, found, strict=False):
        assert answer is not None, "a budget ends an answer"
        assert answer.budget_affected is not None
        yield Judged(
            task=task.name,
            way=way,
            level=level,
            seed=seed,
            budget=levels[level],
            tokens=answer.tokens_used,
            forced=answer.budget_forced_tokens or 0,
            ended=len(answer.budget_ended or ()),
            affected=answer.budget_affected,
            same=unlimited[way] == answer.text,
        )


def ways(seed: int) -> dict[str, Parameters]:
    """Ways to decode, by name; their budgets are to be replaced."""
    return {
        "sampling": Parameters(1, temperature=1.0, seed=seed),
        "top-p": Parameters(1, temperature=1.0, top_p=TOP_P, seed=seed),
        "beams": Parameters(1, beam_width=WIDTH, seed=seed),
        "guided beams": Parameters(1, beam_width=WIDTH, alpha=0.5, seed=seed),
    }


def budgets(minimum: int, reference: int) -> dict[str, int]:
    """Five budgets, none below the minimum."""
    wanted = {"minimum": 0.0, "reference / 2": 0.5, "reference": 1.0, "reference × 1.5": 1.5, "reference × 3": 3.0}
    return {name: max(minimum, int(share * reference)) for name, share in wanted.items()}


def decoded(grammar: CompiledGrammar, asked: Sequence[Parameters], logits: Logits, most: int) -> list[Answer | None]:
    """Answers side by side; None for one without a budget that is none of those within `most` tokens.

    That is so for a drawn one that is longer, and taken to be so for beams that still go on after `WINDOW` times.
    """
    any_text = AnyText(grammar.vocabulary)
    decodings = [Decoding(Work((), grammar, parameters, json=True), any_text) for parameters in asked]
    for _ in range(WINDOW * most):
        texts = [_texts(decoding, most) for decoding in decodings]
        for decoding, rows in zip(decodings, logits(texts), strict=True):
            if len(rows):
                decoding.step(rows)
    return [decoding.answers[0] if decoding.answers else None for decoding in decodings]


def _texts(decoding: Decoding, most: int) -> tuple[Text, ...]:
    """Texts to go on from; none for an answer that is there, or given up."""
    texts = () if decoding.decoder.answers else tuple(decoding.decoder.prefixes)
    longest = most if decoding.work.parameters.beam_width == 1 else WINDOW * most
    return () if any(len(text) > longest for text in texts) else texts


def wrong(row: Judged) -> bool:
    """Whether a promise was broken."""
    return not row.affected and not row.same


def table(rows: Sequence[Judged]) -> str:
    """Answers, false, wrong, needless true: by way to decode and budget."""
    found = []
    for way, level in dict.fromkeys((row.way, row.level) for row in rows):
        these = [row for row in rows if (row.way, row.level) == (way, level)]
        kept = [row for row in these if not row.affected]
        needless = [row for row in these if row.affected and row.same]
        told = [str(len(these)), str(len(kept)), str(sum(map(wrong, these))), str(len(needless))]
        found.append([f"{way}, {level}", *told, percent(len(needless), len(these) - len(kept))])
    return markdown(["", "answers", "false", "false and wrong", "true and needless", "of true"], found)


@contextmanager
def models(name: str, folder: Path, vocabulary: Vocabulary, split: Split) -> Iterator[Model]:
    """The embedded model, or scripts in its place, until the block ends."""
    if name == "scripted":
        ends = [*(split(text)[0] for text in ENDS), *vocabulary.stop_ids]
        yield lambda task, reference, seed: scripted(vocabulary.size, reference, ends, task, seed)
        return
    from server.engines.hugging_face.engine import TransformersEngine

    engine = TransformersEngine(folder, name="embedded", cache=default_cache())
    try:
        yield lambda task, reference, seed: by_engine(engine, task, seed)
    finally:
        engine.shutdown()


@contextmanager
def scripted(size: int, reference: Sequence[int], ends: Sequence[int], task: Task, seed: int) -> Iterator[Logits]:
    """Logits that are random, but fond of the reference's tokens, and behind these of what ends an answer."""
    named = int.from_bytes(blake2b(f"{task.name} {seed}".encode(), digest_size=6).digest(), "little")
    base = np.random.default_rng(named).normal(scale=2.0, size=size).astype(np.float32)

    def row(text: Text) -> NDArray[np.float32]:
        digest = blake2b(np.array([named, *text], "<i8").tobytes(), digest_size=8).digest()
        found = np.roll(base, int.from_bytes(digest, "little") % size)
        if len(text) < len(reference):
            found[reference[len(text)]] += 14.0
        else:
            found[list(ends)] += 14.0
        return found

    yield lambda answers: [np.array([row(text) for text in texts], np.float32) for texts in answers]


@contextmanager
def by_engine(engine: Engine, task: Task, seed: int) -> Iterator[Logits]:
    """Logits of a model, float32, after a prompt that differs by seed.

    Each text's are computed once: another batch would make others of them, by rounding.
    """
    *before, last = task.messages
    prompt = engine.encode([*before, {**last, "content": f"{last['content']}\n{'Please. ' * seed}"}])
    known: dict[Text, NDArray[np.float32]] = {}
    sequences: dict[int, SequenceId] = {}
    rows: dict[int, Sequence[Text]] = {}

    def compute(wanted: Mapping[int, Sequence[Text]]) -> None:
        forwards = [going_on(sequences[number], rows[number], texts) for number, texts in wanted.items()]
        for (number, texts), found in zip(wanted.items(), engine.step(forwards), strict=True):
            if isinstance(found, EngineError):
                raise found
            rows[number] = texts
            for text, row in zip(texts, found, strict=True):
                known.setdefault(text, row.copy())

    def logits(answers: Sequence[Sequence[Text]]) -> list[NDArray[np.float32]]:
        wanted: dict[int, Sequence[Text]] = {}
        under_way: set[Text] = set()
        for number, texts in enumerate(answers):
            missing = {text for text in texts if text not in known} - under_way
            if missing:
                wanted[number] = texts
                under_way |= missing
        begun = {number: [()] for number in wanted if number not in sequences}
        for number in begun:
            sequences[number], rows[number] = engine.open(prompt), [()]
        for number, first in begun.items():  # the second finds the prompt of the first
            compute({number: first})
        compute({number: texts for number, texts in wanted.items() if tuple(texts) != ((),)})
        return [np.array([known[text] for text in texts], np.float32) for texts in answers]

    try:
        yield logits
    finally:
        known.clear()  # gigabytes, which would wait for the collector of cycles
        for sequence in sequences.values():
            engine.close(sequence)


def going_on(sequence: SequenceId, before: Sequence[Text], texts: Sequence[Text]) -> Forward:
    """The step from the texts before to those that go on from them."""
    parents = [
        max((at for at in range(len(before)) if text[: len(before[at])] == before[at]), key=lambda at: len(before[at]))
        for text in texts
    ]
    tokens = [text[len(before[at]) :] for text, at in zip(texts, parents, strict=True)]
    return Forward(sequence, tuple(parents), tuple(tokens))
