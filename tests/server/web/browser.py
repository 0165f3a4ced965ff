"""A browser without a window, and what a person does with the playground's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:  # a package of tests: where it isn't installed, the tests are skipped
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
"""Debian's; the package's own browsers aren't fetched."""

ROOM = 60_000
"""Milliseconds that a page may take for anything on a machine that has other work."""


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, until the block ends; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as started:
        launched: Browser = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        try:
            yield launched
        finally:
            launched.close()


@contextmanager
def opened(
    browser: Browser,
    base: str,
    *,
    scheme: Literal["light", "dark"] = "light",
    width: int = 1280,
    certified: bool = True,
) -> Iterator[Page]:
    """The page of a server, until the block ends: then it has asked no other host, and has told no error.

    `certified`: waits for the first minimum.
    """
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(ROOM)
    page = context.new_page()
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("console", lambda line: told.append(line.text) if line.type in ("error", "warning") else None)
    try:
        page.goto(f"{base}/")
        if certified:
            until_certified(page)
        yield page
    finally:
        context.close()
    assert all(url.startswith(f"{base}/") or url.startswith("data:") for url in asked), asked
    # Chromium tells every refusal of a request; the page tells them too.
    assert [line for line in told if "Failed to load resource" not in line] == []


def until_certified(page: Page) -> int:
    """The minimum that the page shows, once it does."""
    shown = page.locator("#minimum:not([aria-busy])").filter(has_text=re.compile(r"minimum \d"))
    shown.wait_for()
    found = re.search(r"\d+", shown.inner_text())
    assert found is not None
    return int(found[0])


def type_constraint(page: Page, kind: str, text: str) -> None:
    """Chooses a kind and types a text in place of what is there."""
    page.get_by_role("radio", name=kind).check()
    page.get_by_label("Constraint", exact=True).fill(text)


def run(page: Page) -> None:
    """Runs the request to its end."""
    page.get_by_role("button", name="Run").click()
    until_ended(page)


def until_ended(page: Page) -> None:
    """Waits for both answers."""
    page.locator("#results[data-state=ended]").wait_for()


def text_of(page: Page, answer: Literal["ours", "masks"]) -> str:
    """Text of an answer's tokens, without the mark of its end."""
    tokens: list[str] = page.locator(f"#{answer} .tokens .token:not(.ends)").all_text_contents()
    return "".join(tokens)


def state_of(page: Page, answer: Literal["ours", "masks"]) -> Any:
    """State of an answer's panel: ended, cut, failed."""
    return page.locator(f"#{answer}").get_attribute("data-state")
