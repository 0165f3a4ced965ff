"""The playground as a person uses it, in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import jsonschema
import pytest

from server.settings import Settings
from tests.server.engines.scripts import follow
from tests.server.running import SCHEMA, VOCABULARY, Running, serving
from tests.server.web.browser import (
    opened,
    run,
    state_of,
    text_of,
    type_constraint,
    until_certified,
    until_ended,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

THE, QUICK = 261, 262
"""Ids of the words of the scripted vocabulary."""

HOSTILE = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"


@pytest.fixture(scope="module")
def talkative() -> Iterator[Running]:
    """A model that would write words for ever, once the grammar lets it."""
    with serving(follow(VOCABULARY.size, [THE, QUICK] * 400)) as server:
        yield server


def test_a_schema_is_typed_and_answered_within_its_budget(chromium: Browser, talkative: Running) -> None:
    """The slider begins at the minimum; masks alone are cut where the answer is complete and valid."""
    least = talkative.client.post("/v1/certify", json={"json_schema": SCHEMA}).json()["min_tokens"]
    with opened(chromium, talkative.base) as page:
        type_constraint(page, "JSON Schema", json.dumps(SCHEMA, indent=2))
        page.locator("#facts").get_by_text('"age"').wait_for()
        assert until_certified(page) == least
        slider = page.locator("#budget")
        assert slider.get_attribute("min") == str(least)
        slider.fill(str(least + 6))
        assert page.locator("#tokens").input_value() == str(least + 6)
        run(page)
        assert (state_of(page, "masks"), state_of(page, "ours")) == ("cut", "ended")
        assert page.locator("#masks .tokens .token").count() == least + 6
        value = json.loads(text_of(page, "ours"))
        jsonschema.validate(value, SCHEMA)
        with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
            json.loads(text_of(page, "masks"))
        assert page.locator("#certificate dd").first.inner_text() == "yes"
        assert page.locator("#certificate dt", has_text="Changed").locator("+ dd").inner_text() == "yes, or maybe"
        assert page.locator("#chart polyline.ours").get_attribute("points")
        assert page.locator("#chart .lost").count() == 1
        assert len(page.screenshot()) > 20_000


@pytest.mark.full
def test_errors_stand_at_their_line(chromium: Browser, talkative: Running) -> None:
    """A broken text is told by the page, a refused one by the server, each at its line, and goes when it is mended."""
    with opened(chromium, talkative.base) as page:
        message, area = page.locator("#constraint-message"), page.locator("#constraint")
        area.fill('{\n  "type": "object",\n  "type": 1\n}')
        message.get_by_text("Line 3, column 3").wait_for()
        assert (area.get_attribute("aria-invalid"), page.locator("#band").is_visible()) == ("true", True)
        area.fill('{\n  "properties": {\n    "a": {"type": "nonsense"}\n  }\n}')
        message.get_by_text("Line 3").or_(message.get_by_text("/properties/a")).first.wait_for()
        page.get_by_role("button", name="Show the line").click()
        assert page.evaluate("getSelection().toString() || document.activeElement.id") in (
            '    "a": {"type": "nonsense"}',
            "constraint",
        )
        type_constraint(page, "Lark", 'start: "a"\n  | b\n')
        message.filter(has_text="b").wait_for()
        area.fill('start: "a"\n')
        page.locator("#constraint-message:empty").wait_for()
        assert until_certified(page) >= 1
        assert area.get_attribute("aria-invalid") is None


@pytest.mark.full
def test_by_keyboard_alone(chromium: Browser, talkative: Running) -> None:
    """Everything is reached and done without a pointer: constraint, run, tokens, the explanation of one."""
    with opened(chromium, talkative.base) as page:
        page.locator("#prompt").focus()
        page.keyboard.press("Control+Enter")
        until_ended(page)
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.closest('#ours .tokens') !== null"):
                break
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Home")
        selected = page.locator(".token[aria-selected]")
        assert selected.get_attribute("aria-label", timeout=1000).startswith("1: ")  # type: ignore[union-attr]
        page.locator("#place").get_by_text("After the beginning").wait_for()
        assert page.locator("#place table tbody tr").count() >= 2


def test_texts_are_never_markup(chromium: Browser) -> None:
    """Hostile texts of a constraint, an answer, an error stay texts."""
    wanted = list(HOSTILE.encode())
    with serving(follow(VOCABULARY.size, wanted)) as server, opened(chromium, server.base) as page:
        type_constraint(page, "Choice", HOSTILE)
        page.locator("#facts").get_by_text(HOSTILE).wait_for()
        page.locator("#tokens").fill("200")
        run(page)
        assert text_of(page, "ours") == text_of(page, "masks") == HOSTILE
        type_constraint(page, "Regex", f"({HOSTILE}")
        page.locator("#constraint-message:not(:empty)").wait_for()
        assert page.evaluate("window.hit") is None
        assert page.locator("main img, main script").count() == 0


def test_characters_of_several_tokens_are_whole(chromium: Browser) -> None:
    """Tokens that end within a character show none of it, and the last one all: chosen ones and forced ones."""
    wanted = "שלום é 東京 👩‍👧"
    with serving(follow(VOCABULARY.size, list(wanted.encode()))) as server, opened(chromium, server.base) as page:
        type_constraint(page, "Choice", f"x\n{wanted}\nשלום Ω")
        page.locator("#facts").get_by_text("Shortest answer x").wait_for()
        page.locator("#tokens").fill("200")
        run(page)
        assert text_of(page, "ours") == text_of(page, "masks") == wanted
        page.locator("#ours .tokens .token").filter(has_text="京").click()
        page.locator("#place").get_by_text("After שלום é 東, with").wait_for()
        page.locator("#tokens").fill("3")
        run(page)
        assert (text_of(page, "ours"), text_of(page, "masks")) == ("x", "ש")


def test_a_stream_that_breaks_off_is_no_answer(chromium: Browser, talkative: Running) -> None:
    """A connection that a proxy ends in good order, but amid the answer; and a server that isn't there."""
    with opened(chromium, talkative.base) as page:
        chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": "{"}, "finish_reason": None}]})
        page.route("**/v1/chat/completions", lambda route: route.fulfill(status=200, body=f"data: {chunk}\n\n"))
        run(page)
        assert (state_of(page, "ours"), state_of(page, "masks")) == ("failed", "failed")
        assert "broke off" in page.locator("#ours .failure").inner_text()
        page.route("**/v1/*", lambda route: route.abort())
        page.route("**/v1/chat/completions", lambda route: route.abort())
        page.locator("#prompt").press("Control+Enter")
        page.locator("#ours .failure").get_by_text("can't be reached").wait_for()
        type_constraint(page, "Regex", "a+")
        page.locator("#constraint-message").get_by_text("can't be reached").wait_for()


def test_back_from_another_page_begins_anew(chromium: Browser, talkative: Running) -> None:
    """Controls that the browser would fill in again are those of the request that is shown."""
    with opened(chromium, talkative.base) as page:
        page.get_by_role("radio", name="Lark").check()
        page.get_by_role("radio", name="Python").check()
        until_certified(page)
        page.get_by_role("link", name="Interface").click()
        page.wait_for_url("**/docs")
        page.go_back()
        until_certified(page)
        assert page.get_by_role("radio", name="JSON Schema").is_checked()
        assert page.locator("#constraint").input_value().startswith("{")
        assert page.get_by_role("radio", name="curl").is_checked()
        assert page.locator("#snippet").inner_text().startswith("curl")


@pytest.mark.full
def test_a_key_is_asked_for_and_stays_in_memory(chromium: Browser) -> None:
    with serving(settings=Settings(api_key="s3cret")) as keyed, opened(chromium, keyed.base, certified=False) as page:
        page.get_by_text("This server asks for a key").wait_for()
        page.keyboard.type("s3cret")
        page.keyboard.press("Enter")
        until_certified(page)
        assert page.locator("#problem").inner_text() == ""
        page.locator("#snippet").get_by_text("$SWYB_API_KEY").wait_for()
        assert "s3cret" not in page.content() + page.url
        assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
