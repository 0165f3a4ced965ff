"""The picture of the README, as SVG: two texts token by token, below them what is left of the budget and the distance.

A few kilobytes of plain text, for light and dark pages. Equal data give equal pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, TypedDict

WIDTH, HEIGHT = 960, 474
LEFT, RIGHT = 24, 936
CHARACTER = 7.9
"""The width of a character of a token, which is stretched or squeezed to it whatever the font."""
PADDING = 4
LINE = 30
TOP, BOTTOM = 268, 424
"""The heights of the largest and the smallest number of tokens in the charts."""

STYLE = """
.page{fill:#fff}.ink{fill:#24292f}.soft{fill:#59636e}.cut{fill:#bc4c00}.whole{fill:#0969da}
.cut-box{fill:#fff1e5;stroke:#f0b48a}.whole-box{fill:#ddf4ff;stroke:#9ccdf5}
.left{stroke:#8c959f;stroke-width:2;stroke-dasharray:5 4}.grid{stroke:#d8dee4}
.cut-line{stroke:#bc4c00;stroke-width:3}.whole-line{stroke:#0969da;stroke-width:3}
.cut-dot{fill:#bc4c00}.whole-dot{fill:#0969da}
@media(prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}.cut,.cut-dot{fill:#f0883e}
.whole,.whole-dot{fill:#58a6ff}.cut-box{fill:#3a2312;stroke:#8a4b17}.whole-box{fill:#0f2a47;stroke:#2a5b94}
.left{stroke:#9198a1}.grid{stroke:#30363d}.cut-line{stroke:#f0883e}.whole-line{stroke:#58a6ff}}
text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif;font-size:14px}
.token{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:13px}
.title{font-size:19px;font-weight:600}.name{font-size:15px;font-weight:600}.small{font-size:12px}
""".strip()


class Run(TypedDict):
    """The tokens of an answer, and the distance at the start and behind each token."""

    tokens: list[str]
    distances: list[int]
    complete: bool


class Data(TypedDict):
    """Data that the picture shows; `budget` and `minimum` in tokens."""

    model: str
    prompt: str
    schema: dict[str, Any]
    budget: int
    minimum: int
    masks_alone: Run
    swyb: Run


def picture(data: Data) -> str:
    """An SVG file."""
    budget, masks, swyb = data["budget"], data["masks_alone"], data["swyb"]
    lacking = masks["distances"][-1]
    cut = f"cut after {len(masks['tokens'])} tokens, {lacking} short of the end: not JSON"
    whole = f"complete after {len(swyb['tokens'])} tokens: valid"
    parts = [
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        text(LEFT, 38, f"The same request, the same model, {budget} tokens", "title ink"),
        *answer(84, "Masks alone", cut, masks, "cut"),
        *answer(158, "SWYB", whole, swyb, "whole"),
        *chart(LEFT + 34, LEFT + 424, "Masks alone", masks, budget, "cut"),
        *chart(LEFT + 522, RIGHT, "SWYB", swyb, budget, "whole"),
    ]
    label = escape(f"{budget} tokens with masks alone: {cut}. With SWYB: {whole}.")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def text(x: float, y: float, words: str, style: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}"{more}>{escape(words)}</text>'


def answer(y: int, name: str, outcome: str, run: Run, style: str) -> Iterator[str]:
    """The name of a run, how it ended, and its tokens below, each in a box."""
    yield (
        f'<text x="{LEFT}" y="{y}" class="ink"><tspan class="name">{name}</tspan>'
        f'<tspan dx="12" class="{style}">{"✓" if run["complete"] else "✂"} {outcome}</tspan></text>'
    )
    x, top = float(LEFT), y + 12
    for token in run["tokens"]:
        width = len(token) * CHARACTER
        if x + width + 2 * PADDING > RIGHT:
            x, top = float(LEFT), top + LINE
        yield (
            f'<rect x="{x:g}" y="{top}" width="{width + 2 * PADDING:g}" height="24" rx="3" class="{style}-box"/>'
            + text(
                round(x + PADDING, 2),
                top + 16,
                token.replace(" ", "\u00a0"),
                "token ink",
                f' textLength="{width:g}" lengthAdjust="spacingAndGlyphs"',
            )
        )
        x = round(x + width + 2 * PADDING + 2, 2)


def chart(left: int, right: int, name: str, run: Run, budget: int, style: str) -> Iterator[str]:
    """Lines of a chart: the budget that is left, dashed, and the distance, over the tokens that are written."""

    def x(used: float) -> float:
        return round(left + (right - left) * used / budget, 1)

    def y(tokens: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * tokens / budget, 1)

    distances = run["distances"]
    end = f"{name}: in the end {budget - len(run['tokens'])} tokens left, distance {distances[-1]}"
    yield text(left - 34, TOP - 24, end, "name ink")
    for tokens in range(0, budget + 1, 6):
        yield f'<path d="M{left} {y(tokens):g}H{right}" class="grid"/>'
        yield text(left - 8, y(tokens) + 4, str(tokens), "small soft", ' text-anchor="end"')
        yield text(x(tokens), BOTTOM + 18, str(tokens), "small soft", ' text-anchor="middle"')
    yield text((left + right) / 2, BOTTOM + 36, "tokens written", "small soft", ' text-anchor="middle"')
    yield f'<path d="M{x(0):g} {y(budget):g}L{x(budget):g} {y(0):g}" class="left"/>'
    points = " ".join(f"{x(used):g},{y(distance):g}" for used, distance in enumerate(distances))
    yield f'<polyline points="{points}" fill="none" stroke-linejoin="round" class="{style}-line"/>'
    yield f'<circle cx="{x(len(distances) - 1):g}" cy="{y(distances[-1]):g}" r="5" class="{style}-dot"/>'
    yield text(x(budget * 0.4), y(budget * 0.64), "tokens left", "soft")
    yield text(x(budget * 0.04), y(budget * 0.1), "distance", style)
