"""`python -m scripts.playground`: pictures of the playground, from a real run of the embedded model in a browser.

Writes docs/pictures/playground.png, and docs/pictures/playground.gif, in which a budget is chosen and an answer of four
beams streams, slowed down so that eyes can follow. Needs Chromium, playwright and Pillow (the `dev` extra).
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import uvicorn
from numpy.typing import NDArray
from PIL import Image, ImageColor

from grammar_cache.warm_up import warm_up
from server.app import create_app
from server.backends.loop import EngineLoop
from server.engines.contract import EngineError, Forward
from server.engines.embedded import default_cache, ensure_embedded_model
from server.engines.hugging_face.engine import TransformersEngine
from server.settings import Settings

if TYPE_CHECKING:  # loaded when a picture is made
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
STYLE = ROOT / "server" / "web" / "style.css"
CHROMIUM = "/usr/bin/chromium"
WINDOW = (1280, 880)
WIDTH = 960
"""Pixels of the animation; the screenshot is of the window's own size."""

COLOURS = 256
STRIP = 16
"""Pixels of height by which a colour of the style sheet counts for the palette."""
SECONDS = 0.22
"""Seconds that a step takes more than it would."""
BEAMS = 4
BUDGETS = (48, 44, 40, 36, 32, 28, 26, 24)
"""Places of the slider as it is moved."""


class Slowed(TransformersEngine):
    """Engine whose steps take longer, and answer the same."""

    def step(self, forwards: Sequence[Forward]) -> list[NDArray[np.float32] | EngineError]:
        time.sleep(SECONDS)
        return super().step(forwards)


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of the window, and for how long it is shown, in milliseconds."""

    png: bytes
    shown: int


def main(words: Sequence[str]) -> int:
    """Makes both pictures in the folder `--out`."""
    parser = ArgumentParser(prog="python -m scripts.playground", description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder of both pictures")
    parser.add_argument("--browser", default=CHROMIUM, help="Chromium's program (default: %(default)s)")
    arguments = parser.parse_args(words)
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    with embedded_server() as base, playground(base, arguments.browser) as page:
        frames = list(told(page))
        page.locator("#ours .tokens .token").last.click()
        page.locator("#why-token").fill(" the")
        page.keyboard.press("Enter")
        page.locator("#why-answer p").filter(has_text=" ").wait_for()
        page.evaluate("scrollTo(0, 0)")
        (out / "playground.png").write_bytes(compact(page.screenshot(full_page=True)))
    (out / "playground.gif").write_bytes(animation(frames))
    return 0


@contextmanager
def embedded_server() -> Iterator[str]:
    """Address of a server with the embedded model, unpacked if it isn't there, until the block ends."""
    folder = ensure_embedded_model(default_cache(), lambda line: print(line, file=sys.stderr))
    backend = EngineLoop(Slowed(folder))
    warm_up(backend.model.vocabulary)  # as `serve` does: the page tells how long compiling took
    app = create_app(Settings(), backend)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def playground(base: str, browser: str) -> Iterator[Page]:
    """The page, once the first constraint is certified."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            page = chromium.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]})
            until_ready(page, base)
            yield page
        finally:
            chromium.close()


def until_ready(page: Page, base: str, seconds: float = 120) -> None:
    """Opens the page as soon as the server answers. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not page.request.get(f"{base}/ready", fail_on_status_code=False).ok:
        if time.monotonic() > deadline:
            raise TimeoutError("the server did not get ready")
        time.sleep(0.2)
    page.goto(f"{base}/")
    page.locator("#minimum").filter(has_text=re.compile(r"\d")).wait_for()


def told(page: Page) -> Iterator[Frame]:
    """Frames of one request: the slider is moved, and two answers stream."""
    page.locator("#beams").fill(str(BEAMS))
    for budget in BUDGETS:
        page.locator("#budget").fill(str(budget))
        yield Frame(page.screenshot(), 90)
    yield Frame(page.screenshot(), 700)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+Enter")
    while page.locator("#results[data-state=running]").count():
        begun = time.monotonic()
        png = page.screenshot()
        page.wait_for_timeout(40)
        yield Frame(png, round(1000 * (time.monotonic() - begun)))
    page.wait_for_timeout(600)  # what has died is folded
    yield Frame(page.screenshot(), 4000)


def compact(png: bytes) -> bytes:
    """Picture with a palette."""
    with Image.open(BytesIO(png)) as picture, BytesIO() as file:
        shown = picture.convert("RGB")
        palette = with_accents(shown).quantize(COLOURS)
        shown.quantize(palette=palette, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        return file.getvalue()


def animation(frames: Sequence[Frame]) -> bytes:
    """Frames as a GIF that is repeated for ever; what doesn't change is stored once, and equal frames are one."""
    pictures, shown = list[Image.Image](), list[int]()
    for frame, before in zip(frames, (None, *frames), strict=False):
        if before is not None and frame.png == before.png:
            shown[-1] += frame.shown
            continue
        with Image.open(BytesIO(frame.png)) as picture:
            height = round(WIDTH * picture.height / picture.width)
            pictures.append(picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS))
        shown.append(frame.shown)
    palette = with_accents(pictures[-1]).quantize(COLOURS)
    first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    with BytesIO() as file:
        first.save(file, "GIF", save_all=True, append_images=others, duration=shown, loop=0, optimize=True)
        return file.getvalue()


def with_accents(picture: Image.Image) -> Image.Image:
    """Picture with a strip of each colour of the style sheet below it, so that a palette has the rare ones too."""
    told = STYLE.read_text(encoding="utf-8").partition("@media")[0]
    accents = [ImageColor.getrgb(found) for found in re.findall(r"--[\w-]+: (#[0-9a-f]{6});", told)]
    made = Image.new("RGB", (picture.width, picture.height + STRIP * len(accents)))
    made.paste(picture)
    for number, accent in enumerate(accents):
        made.paste(accent, (0, picture.height + STRIP * number, picture.width, picture.height + STRIP * (number + 1)))
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
