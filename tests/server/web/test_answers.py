"""Answers as the playground shows them: beams, thoughts, calls, screens of all sizes, and the request as text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import jsonschema
import pytest

from benchmarks.promise import BUDGET, masks_alone
from grammar_cache import Constraint, compile_grammar
from server.settings import Settings
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import fail_at, follow, seeded
from tests.server.running import SCHEMA, VOCABULARY, Running, serving
from tests.server.thinking.engines import END, thinking_server
from tests.server.web.browser import opened, run, state_of, text_of, type_constraint, until_certified, until_ended

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.full

THE, QUICK = 261, 262


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A model with random preferences."""
    with serving(seeded(VOCABULARY.size, seed=5)) as started:
        yield started


def sideways(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return width


def test_beams_are_a_tree_that_folds(chromium: Browser, server: Running) -> None:
    """Each place of the trace is a node; what no beam of the end comes from is dead, and the answer's way is taken."""
    with opened(chromium, server.base) as page:
        type_constraint(page, "JSON Schema", json.dumps(SCHEMA))
        until_certified(page)
        page.locator("#tokens").fill("40")
        page.locator("#beams").fill("4")
        assert page.locator("#temperature").is_disabled()
        run(page)
        assert state_of(page, "ours") == "ended"
        jsonschema.validate(json.loads(text_of(page, "ours")), SCHEMA)
        dead, taken = page.locator("#tree circle.dead"), page.locator("#tree circle.taken")
        assert dead.count() >= 1
        steps: list[float] = page.locator("#tree circle").evaluate_all("all => all.map(one => +one.getAttribute('cx'))")
        assert taken.count() == len(set(steps))
        assert page.locator("#tree circle.dead.taken").count() == 0
        assert "translate" in str(dead.first.get_attribute("style"))
        best = page.locator("#beam-list li code").first.inner_text().removeprefix("…")
        assert text_of(page, "ours").endswith(best)
        taken.last.click()
        assert page.locator("#place table tbody tr, #place .muted").count() >= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_of_all_sizes(chromium: Browser, server: Running, scheme: Literal["light", "dark"]) -> None:
    """No width down to 320 pixels scrolls sideways, and each scheme has its own colours, readable ones."""
    with opened(chromium, server.base, scheme=scheme, width=320) as page:
        run(page)
        page.locator("#ours .tokens .token").first.click()
        page.locator("#certificate summary").click()
        for width in (320, 375, 400, 700, 960, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            assert sideways(page) <= 0, width
        ink, paper = (
            sum(map(int, re.findall(r"\d+", page.locator("body").evaluate(f"body => getComputedStyle(body).{name}"))))
            for name in ("color", "backgroundColor")
        )
        assert abs(ink - paper) > 400
        assert (ink < paper) is (scheme == "light")


def test_a_thought_is_shown_before_the_answer(chromium: Browser) -> None:
    """The thought stands above the answer; masks alone aren't told of it, and the page says so."""
    thought = [THE, QUICK, THE, END]
    with (
        thinking_server(follow(VOCABULARY.size, [*thought, *b"\n\n"]), way="opened") as (thinking, _),
        opened(chromium, thinking.base) as page,
    ):
        page.locator("#tokens").fill("120")
        run(page)
        assert page.locator("#ours .thought-text").inner_text().strip() == "the quickthe"
        assert state_of(page, "ours") == "ended"
        json.loads(text_of(page, "ours"))
        assert state_of(page, "masks") == "untold"
        assert "thought" in page.locator("#masks-note").inner_text()


def test_calls_are_shown_by_name(chromium: Browser, server: Running) -> None:
    with opened(chromium, server.base) as page:
        page.get_by_role("radio", name="Tools").check()
        page.locator("#facts").get_by_text("get_weather").wait_for()
        least = until_certified(page)
        page.locator("#tokens").fill(str(least + 20))
        run(page)
        call = page.locator("#ours .call").first
        assert call.locator("strong").inner_text() == "get_weather"
        assert set(json.loads(call.locator("pre").inner_text())) == {"city", "unit"}
        page.locator("#ours .tokens .token").first.click()
        page.locator("#why-token").fill("x")
        page.keyboard.press("Enter")
        page.locator("#why-answer .refused").wait_for()


def test_a_budget_that_no_answer_fits_is_refused(chromium: Browser, server: Running) -> None:
    """A number below the minimum may be typed: the page shows what the server says."""
    with opened(chromium, server.base) as page:
        page.locator("#tokens").fill("3")
        run(page)
        assert state_of(page, "ours") == "failed"
        assert "a complete answer needs" in page.locator("#ours .failure").inner_text()


def test_a_failing_model_is_told(chromium: Browser) -> None:
    """An error within a stream is told, beside the tokens that came before it."""
    with (
        serving(fail_at(6, follow(VOCABULARY.size, [THE, QUICK] * 50))) as failing,
        opened(chromium, failing.base) as page,
    ):
        page.locator("#tokens").fill("60")
        run(page)
        assert state_of(page, "ours") == "failed"
        assert page.locator("#ours .status").inner_text() == "Failed"
        assert "scripted to fail" in page.locator("#ours .failure").inner_text()
        assert text_of(page, "ours").startswith("{")


def test_the_request_as_text_runs(chromium: Browser) -> None:
    """The curl line and the Python program, run as they stand, get the answer that the page has."""
    key = "k3y"
    with serving(settings=Settings(api_key=key)) as keyed, opened(chromium, keyed.base, certified=False) as page:
        page.locator("#key").fill(key)
        page.keyboard.press("Enter")
        until_certified(page)
        page.locator("#prompt").fill('It\'s "quoted", \\ and é 😀 — twice')
        for kind in ("JSON Schema", "Regex"):
            page.get_by_role("radio", name=kind).check()
            page.locator("#beams").fill("2")
            until_certified(page)
            run(page)
            expected = text_of(page, "ours")
            environment = {"SWYB_API_KEY": key, "PATH": "/usr/bin:/bin"}
            page.get_by_role("radio", name="curl").check()
            line = page.locator("#snippet").inner_text()
            told = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, check=True, timeout=60)
            assert json.loads(told.stdout)["choices"][0]["message"]["content"] == expected
            page.get_by_role("radio", name="Python").check()
            program = page.locator("#snippet").inner_text()
            assert key not in line + program
            told = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, check=True, timeout=60
            )
            assert repr(expected) in told.stdout.decode() or json.dumps(expected)[1:-1] in told.stdout.decode()
            assert told.stdout.decode().endswith("True\n")


def test_a_run_is_stopped(chromium: Browser) -> None:
    """The button of a run that goes on stops it; the server then has nothing left to do."""
    with (
        serving(follow(VOCABULARY.size, [THE] * 4000), context_window=4096) as slow,
        opened(chromium, slow.base) as page,
    ):
        page.locator("#tokens").fill("3000")
        page.get_by_role("button", name="Run").click()
        page.locator("#ours .tokens .token").nth(4).wait_for()
        page.get_by_role("button", name="Stop").click()
        until_ended(page)
        assert state_of(page, "ours") in ("stopped", "ended")
        page.get_by_role("button", name="Run").wait_for()


def test_why_not_another_token(chromium: Browser, server: Running) -> None:
    """Reasons at any place: whether grammar or budget forbids a token, and what could come."""
    with opened(chromium, server.base) as page:
        type_constraint(page, "Regex", "[ab]{2,9}")
        assert until_certified(page) == 2
        page.locator("#tokens").fill("2")
        run(page)
        page.locator("#ours .tokens .token").first.click()
        answer = page.locator("#why-answer")
        for token, verdict in (("x", "refused"), ("a", "fits")):
            page.locator("#why-token").fill(token)
            page.keyboard.press("Enter")
            answer.locator(f".{verdict}").wait_for()
        page.locator("#budget").fill("9")
        type_constraint(page, "Regex", "a{2}|b{9}")
        until_certified(page)
        page.locator("#tokens").fill("2")
        run(page)
        page.locator("#ours .tokens .token").first.click()
        page.locator("#why-token").fill("b")
        page.get_by_role("button", name="Ask").click()
        answer.get_by_text("fits the grammar").wait_for()
        assert answer.locator(".refused").count() == 1


@pytest.mark.parametrize("seed", range(4))
def test_masks_alone_are_what_masks_give(chromium: Browser, seed: int) -> None:
    """Tokens under *Masks alone* are those that a mask and an argmax give, without this server's decoder."""
    grammar = compile_grammar(Constraint("json_schema", json.dumps(SCHEMA)), VOCABULARY)
    script = seeded(VOCABULARY.size, seed, spread=3.0)
    engine = ScriptedEngine(VOCABULARY, script)
    expected = masks_alone(engine, grammar, engine.encode([{"role": "user", "content": "hi"}]))
    with serving(script) as server, opened(chromium, server.base) as page:
        type_constraint(page, "JSON Schema", json.dumps(SCHEMA))
        page.locator("#facts").get_by_text('"age"').wait_for()
        page.locator("#tokens").fill(str(BUDGET))
        run(page)
        assert "masks alone would write the same" in page.locator("#masks-note").inner_text()
        assert state_of(page, "masks") == ("cut" if len(expected) == BUDGET else "ended")
        # A character that is cut stands as one mark, whatever its bytes.
        ours, theirs = text_of(page, "masks"), VOCABULARY.text(expected).decode(errors="replace")
        assert re.sub("\ufffd+", "", ours) == re.sub("\ufffd+", "", theirs)


def test_what_is_told_of_a_constraint(chromium: Browser, server: Running) -> None:
    """Beside the minimum stand the shortest answer, the size of the largest one, and rules that look like a mistake."""
    with opened(chromium, server.base) as page:
        facts = page.locator("#facts")
        type_constraint(page, "GBNF", 'root ::= "a" | b\nb ::= "bb"\nlost ::= "c"\n')
        facts.get_by_text("the start doesn't lead to: lost").wait_for()
        facts.get_by_text("largest answer 2 tokens").wait_for()
        facts.get_by_text("Shortest answer a").wait_for()
        type_constraint(page, "GBNF", 'root ::= "a" root | "b"\n')
        facts.get_by_text("answers of any length").wait_for()
        type_constraint(page, "JSON Schema", '{"type": "integer", "x-note": 2, "minimum": 3}')
        facts.get_by_text("Not enforced").wait_for()
