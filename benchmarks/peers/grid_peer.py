"""The peer GRID (`grid-guardrail`), which makes an LALR(1) grammar of a schema.

It is driven as in its own engine for MaskBench.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.peer import Peer, Refused, Session


class Grid(Peer):
    """Peer in its default mode: what it doesn't enforce, it records and lets through."""

    name = "grid"
    package = "grid-guardrail"

    def __init__(self, folder: Path) -> None:
        from grid.models.hf_adapter import HFTokenizerAdapter
        from grid.trie.build import build_trie
        from transformers import PreTrainedTokenizerFast

        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|eot_id|>")
        self._adapter = HFTokenizerAdapter(tokenizer)
        self._trie = build_trie(self._adapter)
        self._stop = tokenizer.eos_token_id

    def compile(self, schema: str) -> Any:
        from grid.grammar import spec
        from grid.grammar.projection import RoleProjection
        from grid.guide import GridGuide
        from grid.jsonschema import compile_json_schema
        from grid.lalr.compile import compile_tables
        from grid.lexer.dfa import build_scanner

        try:
            source, _ = compile_json_schema(json.loads(schema), strict=False)
            grammar = spec.load(source)
            tables = compile_tables(RoleProjection.full(grammar).build())
            scanner = build_scanner(grammar.terminals, grammar.terminal_order)
            return GridGuide(tables=tables, dfa=scanner, trie=self._trie, adapter=self._adapter)
        except Exception as error:  # its errors share no class of their own
            raise Refused(f"{type(error).__name__}: {error}") from error

    def session(self, compiled: Any) -> Session:
        return _GridSession(compiled, self._stop)


class _GridSession(Session):
    def __init__(self, guide: Any, stop: int) -> None:
        self._guide = guide
        self._stop = stop
        self._state = guide.initial_state
        self._mask = np.zeros(0, np.int64)

    def accept(self, token: int) -> bool:
        self._state = self._guide.get_next_state(self._state, token)
        return True

    def fill(self) -> None:
        self._mask, _ = self._guide._mask_ids(self._state)  # as its own engine for MaskBench does

    def allows(self, token: int) -> bool:
        return bool((self._mask == token).any())

    def accepts(self) -> bool:
        self.fill()
        return self.allows(self._stop)

    def reset(self) -> None:
        self._state = self._guide.initial_state
