"""Methods by name, over one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from server.engines.embedded import default_cache
from server.evaluation.methods.base import Base
from server.evaluation.methods.method import Method
from server.evaluation.methods.ours import Ours, shared_grammars
from server.evaluation.methods.peer import PeerMethod
from server.evaluation.methods.sample_verify import SampleVerify
from server.evaluation.methods.served import Served
from server.evaluation.methods.spec import Spec
from server.evaluation.methods.think import Think
from server.evaluation.model import LocalModel
from server.evaluation.peers.catalogue import KINDS, interpreter
from server.evaluation.peers.peer import Peer
from server.evaluation.remote import RemoteModel

PEERS = default_cache() / "peers"
"""Folder where peers have environments of their own."""

ANYWHERE: Mapping[str, Callable[[Spec, LocalModel | RemoteModel], Method]] = {
    "base": Base,
    "sample-verify": SampleVerify,
}


def check(specs: Sequence[Spec], *, remote: bool) -> None:
    """Raises ValueError for a name that there isn't, and a peer that isn't installed: before a model is loaded."""
    known = sorted({*ANYWHERE, *(("server",) if remote else ("swyb", "think", *KINDS))})
    for spec in specs:
        if spec.name not in known:
            raise ValueError(f"there is no method {spec.name!r} for this model; there are {', '.join(known)}")
        if spec.name in KINDS:
            _interpreter(spec.name)


def build(specs: Sequence[Spec], model: LocalModel | RemoteModel, stack: ExitStack) -> list[Method]:
    """The methods; what they hold ends with `stack`. Raises ValueError for a name or setting that there isn't."""
    makers = {**ANYWHERE, **(_local(model, stack) if isinstance(model, LocalModel) else _remote(model))}
    check(specs, remote=not isinstance(model, LocalModel))
    return [makers[spec.name](spec, model) for spec in specs]


def _local(model: LocalModel, stack: ExitStack) -> dict[str, Callable[[Spec, object], Method]]:
    grammars = shared_grammars(model)
    for some in grammars.values():
        stack.callback(some.close)
    running: dict[str, Peer] = {}

    def peer(spec: Spec, _: object) -> Method:
        if spec.name not in running:
            running[spec.name] = stack.enter_context(_peer(spec.name, model))
        return PeerMethod(spec, model, running[spec.name])

    ours: dict[str, Callable[[Spec, object], Method]] = {
        "swyb": lambda spec, _: Ours(spec, model, grammars),
        "think": lambda spec, _: Think(spec, model, grammars),
    }
    return {**ours, **dict.fromkeys(KINDS, peer)}


def _peer(name: str, model: LocalModel) -> Peer:
    """Raises ValueError where it isn't installed, or the model has no tokenizer in a file."""
    if model.folder is None:
        raise ValueError(f"{name} needs a folder with the model's tokenizer")
    return Peer(KINDS[name], _interpreter(name), model.folder, model.engine.vocabulary)


def _interpreter(name: str) -> Path:
    """Raises ValueError where it isn't installed."""
    python = interpreter(name, PEERS)
    if python is None:
        raise ValueError(f"{name} needs to be installed: scripts/install_peers.sh does it")
    return python


def _remote(model: RemoteModel) -> dict[str, Callable[[Spec, object], Method]]:
    return {"server": lambda spec, _: Served(spec, model)}
