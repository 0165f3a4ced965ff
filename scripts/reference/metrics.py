"""Page on metrics: what `/metrics` has, by the catalogue that the server makes them of."""

from __future__ import annotations

from scripts.reference.markdown import table
from server.telemetry.catalogue import METRICS, MODEL, Metric

_HEAD = ("Metric", "Kind", "Labels", "What it counts", "As")
_ABOUT = f"""# Metrics

Made by `python -m scripts.reference` from `server/telemetry/catalogue.py`. How to use them:
[Observe a server](../how-to/observe.md).

Every metric has the label `{MODEL}`, the one model's name. Other labels come from closed lists, or are names that the
operator gives: hostile traffic makes no more series than any other. A histogram's samples end in `_bucket`, `_sum` and
`_count`. The last column names the server that has the metric by this name, behind its own prefix.
"""


def page() -> str:
    """The whole page."""
    return f"{_ABOUT}\n{table(_HEAD, map(_row, METRICS))}\n"


def _row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"`{metric.exposed}`", metric.kind, labels, metric.about, metric.like
