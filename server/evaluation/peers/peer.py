"""A peer: another constraint engine, which turns tasks into languages for the decoder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self, cast, get_args

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.evaluation.peers.catalogue import Kind
from server.evaluation.peers.errors import PeerFailed, PeerRefused
from server.evaluation.peers.guide import PeerGuide
from server.evaluation.peers.language import PeerLanguage
from server.evaluation.peers.worker import Worker
from server.evaluation.task import Form, Task


class Peer(AbstractContextManager["Peer"]):
    """A context, in which its process runs. Any thread may call; calls wait for each other."""

    def __init__(self, kind: Kind, python: Path, tokenizer: Path, vocabulary: Vocabulary) -> None:
        """`python`: an interpreter that has the peer (see `catalogue`). `tokenizer`: the folder of tokenizer.json."""
        self.kind = kind
        self._vocabulary = vocabulary = with_markers(vocabulary)
        self._worker = Worker(python, kind.file, tokenizer, vocabulary, kind.limits)
        self._given_up: dict[tuple[Form, str], Exception] = {}

    @property
    def label(self) -> str:
        """The name with the version that runs."""
        return f"{self.kind.name} {self._worker.version}"

    @property
    def load_ms(self) -> float:
        """Milliseconds that it took inside the peer to take the vocabulary in."""
        return self._worker.load_ms

    def __enter__(self) -> Self:
        """Begins the process. Raises PeerFailed where that can't be done."""
        try:
            self._worker.started()
        except PeerFailed:
            self._worker.end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._worker.end()

    def compile(self, task: Task) -> PeerLanguage:
        """The task's language in the first form that the peer takes; for one answer, and to be closed after it.

        Raises PeerRefused, PeerFailed. What was refused or failed once isn't tried again.
        """
        texts = forms(task)
        reasons = []
        for form in self.kind.forms:
            if form in texts:
                try:
                    return PeerLanguage(self._vocabulary, self._guide(form, texts[form]))
                except PeerRefused as refusal:
                    reasons.append(f"{form}: {refusal}")
        raise PeerRefused("; ".join(reasons) or f"{self.kind.name} reads only {', '.join(self.kind.forms)}")

    def _guide(self, form: Form, text: str) -> PeerGuide:
        known = self._given_up.get((form, text))
        if known is not None:
            raise type(known)(*known.args)
        try:
            return PeerGuide(self._worker, form, text, tests=self.kind.tests)
        except (PeerRefused, PeerFailed) as error:
            self._given_up[form, text] = error
            raise


def with_markers(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary in which tags of templates are text, as other engines read them: `<tool_call>`, `<think>`."""
    if not vocabulary.markers:
        return vocabulary
    texts = list(vocabulary.token_bytes)
    for token, name in vocabulary.markers.items():
        texts[token] = name.encode()
    return Vocabulary(texts, vocabulary.stop_ids)


def forms(task: Task) -> Mapping[Form, str]:
    """Forms of a task that other engines may read: the task's forms, and its constraint where that is in one of them by
    itself.
    """
    constraint = task.constraint
    if constraint.kind not in get_args(Form) or constraint.start is not None:
        return task.forms
    return {cast(Form, constraint.kind): constraint.text, **task.forms}
