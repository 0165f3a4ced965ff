"""Stand-in."""

from __future__ import annotations

import numpy as np
import torch
from vllm.v1.sample.logits_processor.interface import LogitsProcessor, MoveDirectionality

from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from server.decoding.sampling import draw
from server.engines.vllm.extension import GRAMMARS


class BudgetFilter(LogitsProcessor):
    def __init__(self, vllm_config, device, is_pin_memory):
        self.rows = {}

    @classmethod
    def validate_params(cls, params):
        return

    def is_argmax_invariant(self):
        return False

    def update_state(self, batch_update):
        if batch_update is None:
            return
        for i in batch_update.removed:
            self.rows.pop(i, None)
        for i, params, prompt, output in batch_update.added:
            self.rows.pop(i, None)
            args = (params.extra_args or {}).get("swyb")
            if args:
                self.rows[i] = (args, output, np.random.default_rng(args["seed"]))
        for a, b, how in batch_update.moved:
            ra, rb = self.rows.pop(a, None), self.rows.pop(b, None)
            if ra is not None:
                self.rows[b] = ra
            if how == MoveDirectionality.SWAP and rb is not None:
                self.rows[a] = rb

    def apply(self, logits):
        for i, (args, output, rng) in self.rows.items():
            g = GRAMMARS[args["grammar"]] if args["grammar"] else AnyText(GRAMMARS["vocabulary"])
            config = g.start
            for t in output:
                config = int(g.consume_batch(np.array([config], np.int32), np.array([[t]], np.int32))[0, 0])
            row = logits[i].float().numpy()
            left = args["budget"] - len(output)
            if args["temperature"] > 0:
                p = Parameters(
                    budget=args["budget"], temperature=args["temperature"], top_p=args["top_p"], top_k=args["top_k"]
                )
                token, _ = draw(g, config, row, left, p, rng)
            else:
                mask = g.mask(config, left)
                token = int(np.where(mask, row[: len(mask)], -np.inf).argmax())
            logits[i] = -torch.inf
            logits[i, token] = 0
        return logits
