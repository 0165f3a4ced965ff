"""Sample-Verify, a baseline of the paper: draw without a constraint until the judge finds a text valid."""

from __future__ import annotations

from dataclasses import replace

from server.evaluation.methods.spec import Spec
from server.evaluation.model import Model
from server.evaluation.reply import Reply
from server.evaluation.task import Task

SAMPLES = 10
TEMPERATURE = 0.8


class SampleVerify:
    """Settings: `samples` (10) and `temperature` (0.8), the paper's.

    The first valid sample is the answer; if there is none, the last. Samples after the first valid one are not drawn:
    they would change the cost, never the answer. The budget holds for each; tokens and seconds are those of all drawn.
    """

    def __init__(self, spec: Spec, model: Model) -> None:
        """Raises ValueError for a setting that isn't one."""
        spec.only(["samples", "temperature"])
        self.label = spec.label
        self._samples = int(spec.number("samples", SAMPLES))
        self._temperature = spec.number("temperature", TEMPERATURE)
        if self._samples < 1 or self._temperature <= 0:
            raise ValueError(f"{spec.label}: there is at least one sample, and a temperature above 0")
        self._model = model

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        tokens, seconds, settled = 0, 0.0, True
        for number in range(self._samples):
            drawn = await self._model.free(task, budget, temperature=self._temperature, seed=seed + number)
            tokens, seconds, settled = tokens + drawn.tokens, seconds + drawn.seconds, settled and drawn.settled
            if drawn.text is None or task.judge(task.read(drawn.text)).valid:
                break
        return replace(drawn, tokens=tokens, seconds=round(seconds, 4), settled=settled)
