"""Ours: the grammar compiled as the server does, and Algorithm 1 with its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from grammar_cache import CompiledGrammar, GrammarError
from grammar_cache.constraint import Whitespace
from grammar_cache.limits import NODES
from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.precompute import computed_table
from grammar_cache.offline.tabled_grammar import TabledGrammar
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Parameters
from server.evaluation.methods.exploration_bound import BoundedGrammar
from server.evaluation.methods.server_defaults import server_defaults
from server.evaluation.methods.spec import Spec, decoding_settings, parameters
from server.evaluation.model import LocalModel
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from server.grammars.compiled import Certified, Grammars
from server.settings import Settings

WHITESPACE = ("compact", "bounded", "any")


class Ours:
    """Settings: those of decoding (`M`, `alpha`, `k`, `temperature`, …), and of the grammar. What isn't named
    is as in the paper, or with `defaults=server` as a request to the server gets it.

    `whitespace` is for JSON. `B` is the paper's exploration bound. `tightening=off` leaves distances additive.
    `jump=text` jumps forward over text that has no alternative, not only over tokens. `H` is the stack height up to
    which distances are precomputed, for at most `nodes` configurations: once for each grammar, in no answer's time.
    """

    def __init__(self, spec: Spec, model: LocalModel, grammars: Mapping[bool, Grammars]) -> None:
        """`grammars`, with and without tightening, may be shared. Raises ValueError for a setting that isn't one."""
        spec.only([*decoding_settings(), "defaults", "whitespace", "B", "H", "nodes", "tightening", "jump"])
        self.label = spec.label
        self._parameters = _parameters(spec)
        self._whitespace: Whitespace | None = None
        if "whitespace" in spec.settings:
            self._whitespace = cast(Whitespace, spec.choice("whitespace", WHITESPACE, "bounded"))
        self._bound = int(spec.number("B", 0))
        self._height = int(spec.number("H", 0)) if "H" in spec.settings else None
        self._nodes = int(spec.number("nodes", NODES))
        if self._nodes < 1 or ("nodes" in spec.settings and self._height is None):
            raise ValueError(f"{spec.label}: nodes is at least 1, and beside H")
        self._model = model
        self._split = model.split if spec.choice("jump", ("token", "text"), "token") == "text" else None
        if "jump" in spec.settings and model.split is None:
            raise ValueError(f"{spec.label}: the model's tokenizer can't be asked")
        self._grammars = grammars[spec.choice("tightening", ("on", "off"), "on") == "on"]
        self._bounded: dict[str, BoundedGrammar] = {}
        self._tables: dict[str, asyncio.Future[DistanceTable]] = {}
        self._tabled: dict[str, TabledGrammar] = {}

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Refused: a grammar that isn't supported, or a budget below the fewest tokens of an answer."""
        constraint = task.constraint
        if self._whitespace is not None:
            constraint = replace(constraint, whitespace=self._whitespace)
        try:
            certified = await self._grammars.get(constraint)
            grammar = await self._with_table(certified, self._with_bound(certified))
        except GrammarError as error:
            return Reply("refused", reason=str(error), settled=True)
        minimum = grammar.minimum
        if budget < minimum.tokens:
            reason = f"an answer {'needs' if minimum.exact else 'may need'} {minimum.tokens} tokens"
            return Reply("refused", reason=reason, compile_ms=certified.compile_ms, min_tokens=minimum.tokens)
        chosen = replace(self._parameters, budget=budget, seed=seed)
        language = grammar if self._split is None else ForcedText(grammar, self._split)
        reply = await self._model.decode(task, language, chosen)
        return replace(reply, compile_ms=certified.compile_ms, min_tokens=minimum.tokens)

    def _with_bound(self, certified: Certified) -> CompiledGrammar:
        """Raises EmptyLanguage where what the bound keeps spells no text."""
        if not self._bound:
            return certified.grammar
        if certified.grammar_id not in self._bounded:
            self._bounded[certified.grammar_id] = BoundedGrammar(certified.grammar, self._bound)
        return self._bounded[certified.grammar_id]

    async def _with_table(self, certified: Certified, grammar: CompiledGrammar) -> CompiledGrammar:
        """Raises LimitExceeded."""
        if self._height is None:
            return grammar
        name = certified.grammar_id
        if name not in self._tables:
            computing = asyncio.to_thread(computed_table, certified.grammar, name, self._height, self._nodes)
            self._tables[name] = asyncio.ensure_future(computing)
        table = await self._tables[name]
        if name not in self._tabled:
            self._tabled[name] = TabledGrammar(grammar, table)
        return self._tabled[name]


def _parameters(spec: Spec) -> Parameters:
    if spec.choice("defaults", ("paper", "server"), "paper") == "paper":
        return parameters(spec)
    return parameters(spec, server_defaults(parameters(spec).beam_width))


def shared_grammars(model: LocalModel) -> dict[bool, Grammars]:
    """Compiled grammars for all methods of one run: with tightening, and without."""
    return {tightened: grammars_of(model, tightened=tightened) for tightened in (True, False)}


def grammars_of(model: LocalModel, *, tightened: bool = True) -> Grammars:
    """Compiled grammars as the server keeps them; to be closed."""
    settings = Settings()
    additive = replace(settings.limits, start_fuel=0, step_fuel=0)
    return Grammars(
        model.engine.vocabulary,
        longest_answer=model.engine.context_window,
        limits=settings.limits if tightened else additive,
        count=settings.cached_grammars,
        room=settings.cached_bytes,
        threads=1,
    )
