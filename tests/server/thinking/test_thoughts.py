"""Thoughts as clients meet them: who has one, how it ends, what is told of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache import Constraint, Vocabulary, compile_grammar
from server.backends.backend import Piece, Work
from server.backends.request import Decoding
from server.decoding.answer import Answer
from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from server.thinking.opening import Closer
from server.thinking.plan import ThinkingPlan
from server.thinking.thoughts import ThoughtPiece, thought_and_answer
from tests.server.engines.scripts import fail_at, follow, hostile, seeded
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.running import STOP, Running, error_of, eventually
from tests.server.thinking.engines import END, VOCABULARY, ThinkingEngine, Way, message_of, spelled, thinking_server
from tests.server.thinking.test_budgets import told

SIZE = VOCABULARY.size
SENTENCE = "2 and 2 are 4."
SENTENCES_END = re.compile(r"4\.(?!\d)")
"""Last token of the sentence, but no figure such as 14.2 milliseconds."""
CHOICE = CONSTRAINTS["choice"]
ON: dict[str, dict[str, Any]] = {
    "enable_thinking": {"enable_thinking": True},
    "reasoning_effort": {"reasoning_effort": "max"},
    "reasoning": {"reasoning": {"enabled": True}},
    "reasoning.effort": {"reasoning": {"effort": "max"}},
    "reasoning.max_tokens": {"reasoning": {"max_tokens": 500}},
    "thinking": {"thinking": {"type": "enabled", "budget_tokens": 500}},
    "adaptive": {"thinking": {"type": "adaptive"}},
    "think": {"think": True},
    "a level": {"think": "max"},
}
OFF: dict[str, dict[str, Any]] = {
    "enable_thinking": {"enable_thinking": False},
    "chat_template_kwargs": {"chat_template_kwargs": {"enable_thinking": False}},
    "reasoning_effort": {"reasoning_effort": "none"},
    "reasoning": {"reasoning": {"enabled": False}},
    "thinking": {"thinking": {"type": "disabled"}},
    "think": {"think": False},
    "reasoning_budget": {"reasoning_budget": 0},
    "thinking_token_budget": {"thinking_token_budget": 0},
}


@pytest.fixture(scope="module")
def calm() -> Iterator[tuple[Running, ThinkingEngine]]:
    """A model that thinks one sentence, and closes its thought."""
    with thinking_server(follow(SIZE, [*SENTENCE.encode()], END)) as found:
        yield found


@pytest.fixture(scope="module", params=["plain", "opened", "switched", "by itself"])
def any_way(request: pytest.FixtureRequest) -> Iterator[tuple[Running, ThinkingEngine]]:
    """A model whose template has one way or another with thoughts."""
    way: Way = request.param
    with thinking_server(follow(SIZE, [*f"{SENTENCE}</think>".encode()], END), way) as found:
        yield found


def test_the_model_closes_its_thought(calm: tuple[Running, ThinkingEngine]) -> None:
    """The thought is told apart, counted, and stands before the answer in what the model sees."""
    running, engine = calm
    del engine.prompts[:]
    body = running.chat(**CHOICE, max_tokens=100, temperature=0).json()
    assert message_of(body)["reasoning_content"] == message_of(body)["reasoning"] == SENTENCE
    assert belongs("choice", message_of(body)["content"])
    assert [spelled(prompt) for prompt in engine.prompts] == [
        "hi\n<think>\n",
        f"hi\n<think>\n{SENTENCE}</think>\n\n",
    ]
    known, usage = body["swyb"], body["usage"]
    assert known["thinking"]["tokens"] == len(SENTENCE) + len("T\n\n")
    assert known["thinking"]["closed_by_budget"] is known["budget_affected"] is False
    assert usage["completion_tokens"] == known["tokens_used"]
    assert usage["completion_tokens_details"] == {"reasoning_tokens": known["thinking"]["tokens"]}


def test_an_end_token_closes_a_thought() -> None:
    """A model that ends its turn within the thought is asked for the answer."""
    with thinking_server(follow(SIZE, [*SENTENCE.encode()], STOP)) as (running, _):
        body = running.chat(**CHOICE, max_tokens=100, temperature=0).json()
        assert message_of(body)["reasoning"] == SENTENCE
        assert body["swyb"]["thinking"]["closed_by_budget"] is False
        assert belongs("choice", message_of(body)["content"])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("One is 1. Two is 2. Three is 3. Four is 4. ", "Four is 4. One is 1."),
        ("Is it? It is. No! It isn't. ", "It is. No!"),
        ("One\nTwo\nThree\nFour\nFive\n", "Four\nFive"),
        ("words without an end ", "without"),
        ("oneword", "onewordo"),
    ],
    ids=["sentence", "sentences", "line", "word", "neither"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_budget_closes_a_thought_where_it_may_end(text: str, end: str, stream: bool) -> None:
    """Thoughts end where a sentence ends among the last tokens, else behind a word; the model sees what was told."""
    with thinking_server(follow(SIZE, [*text.encode()] * 100)) as (running, engine):
        asked: dict[str, Any] = {"max_tokens": 80, "temperature": 0, "swyb": {"thinking": {"reserve": 20}}}
        [(thought, _, known)] = told(running, stream, {**CHOICE, **asked})
        room = 80 - 20 - len("T\n\n")
        assert room - room // 4 <= len(thought) <= room
        assert thought == (text * 100)[: len(thought)]
        assert thought.endswith(end)
        assert known["thinking"]["closed_by_budget"] is known["budget_affected"] is True
        assert spelled(engine.prompts[-1]) == f"hi\n<think>\n{thought}</think>\n\n"


@pytest.mark.parametrize("asked", ON.values(), ids=ON)
def test_a_thought_is_asked_for_in_any_words(any_way: tuple[Running, ThinkingEngine], asked: dict[str, Any]) -> None:
    """Every model thinks on request, by its template's marks or the usual ones."""
    running, engine = any_way
    body = running.chat(**CHOICE, **asked, max_tokens=100, temperature=0).json()
    assert message_of(body)["reasoning_content"] == SENTENCE
    assert body["swyb"]["thinking"]["closed_by_budget"] is False
    assert spelled(engine.prompts[-1]) == f"hi\n<think>\n{SENTENCE}</think>\n\n"


@pytest.mark.parametrize("asked", OFF.values(), ids=OFF)
def test_a_thought_is_declined_in_any_words(any_way: tuple[Running, ThinkingEngine], asked: dict[str, Any]) -> None:
    """No model thinks where the request says so: a thought that its template opens is closed at once."""
    running, engine = any_way
    body = running.chat(**CHOICE, **asked, max_tokens=100, temperature=0).json()
    assert body["swyb"]["thinking"] is None
    assert "reasoning" not in message_of(body)
    assert "completion_tokens_details" not in body["usage"]
    assert spelled(engine.prompts[-1]).removeprefix("hi\n") == (
        "" if engine.way == "plain" else f"<think>\n{'' if engine.way == 'opened' else chr(10)}</think>\n\n"
    )


def test_models_think_as_their_templates_have_it(any_way: tuple[Running, ThinkingEngine]) -> None:
    """A thought that nobody asks for follows where the template opens it, or leaves it to the model."""
    running, engine = any_way
    known = running.chat(**CHOICE, max_tokens=100).json()["swyb"]
    assert (known["thinking"] is not None) is (engine.way in ("opened", "by itself"))


def test_marks_of_a_request() -> None:
    """A model whose template tells no marks thinks between those that the request brings."""
    with thinking_server(follow(SIZE, [*b"hm. ENOUGH: "]), "plain") as (running, engine):
        marks = {"begin": "THINK: ", "end": "ENOUGH: "}
        body = running.chat(**CHOICE, max_tokens=80, temperature=0, swyb={"thinking": marks}).json()
        assert message_of(body)["reasoning"] == "hm. "
        assert body["swyb"]["thinking"]["closed_by_budget"] is False
        assert spelled(engine.prompts[-1]) == "hi\nTHINK: hm. ENOUGH: "


@pytest.mark.parametrize("asked", [{"include_reasoning": False}, {"reasoning": {"exclude": True}}])
@pytest.mark.parametrize("stream", [False, True])
def test_a_thought_may_be_left_out(calm: tuple[Running, ThinkingEngine], asked: dict[str, Any], stream: bool) -> None:
    """Tokens of a thought that isn't told count all the same."""
    running, _ = calm
    answer = running.chat(**CHOICE, **asked, max_tokens=100, temperature=0, stream=stream)
    assert answer.status_code == 200
    assert not SENTENCES_END.search(answer.text) and '"reasoning' not in answer.text.replace('"reasoning_tokens', "")
    assert '"thinking":{"tokens":17,' in answer.text


@pytest.mark.parametrize(
    ("asked", "bound"),
    [
        ({"thinking_budget": 10}, 10),
        ({"thinking_token_budget": 10}, 10),
        ({"reasoning_budget": 10}, 10),
        ({"reasoning": {"max_tokens": 10}}, 10),
        ({"thinking": {"type": "enabled", "budget_tokens": 10}}, 10),
        ({"reasoning_effort": "low"}, 40),
        ({"reasoning_effort": "medium"}, 100),
    ],
    ids=str,
)
def test_a_thought_has_bounds_of_its_own(asked: dict[str, Any], bound: int) -> None:
    """A number of tokens, or the effort's share of the budget."""
    with thinking_server(hostile(SIZE, [ord("x")])) as (running, _):
        body = running.chat(**CHOICE, **asked, max_tokens=200, temperature=0).json()
        assert len(message_of(body)["reasoning"]) == bound
        assert body["swyb"]["thinking"]["tokens"] == bound + 3
        assert running.chat(**CHOICE, **asked, max_tokens=30, temperature=0).json()["swyb"]["complete"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"reasoning_effort": "high", "think": False}, "think"),
        ({"enable_thinking": False, "thinking": {"type": "enabled"}}, "thinking"),
        ({"thinking_budget": 5, "thinking": {"type": "enabled", "budget_tokens": 6}}, "thinking.budget_tokens"),
        ({"thinking_budget": 5, "reasoning_budget": 6}, "reasoning_budget"),
        ({"include_reasoning": True, "reasoning": {"exclude": True}}, "reasoning.exclude"),
        ({"reasoning_effort": "none", "swyb": {"thinking": {"begin": "a", "end": "b"}}}, "swyb.thinking"),
        ({"think": True, "chat_template_kwargs": {"enable_thinking": False}}, "think"),
        ({"think": True, "add_generation_prompt": False}, "think"),
    ],
    ids=str,
)
def test_fields_that_disagree(calm: tuple[Running, ThinkingEngine], fields: dict[str, Any], param: str) -> None:
    """Two fields that say different things of thoughts are a conflict, told by the second one's name."""
    answer = calm[0].chat(**fields, max_tokens=50)
    error = error_of(answer)
    assert (answer.status_code, error["code"], error["param"]) == (400, "conflicting_parameters", param)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"swyb": {"thinking": {"begin": " ", "end": "b"}}}, "swyb.thinking.begin", "invalid_value"),
        ({"swyb": {"thinking": {"reserve": -1}}}, "swyb.thinking.reserve", "invalid_value"),
        ({"reasoning": {"summary": "long"}}, "reasoning.summary", "invalid_value"),
        ({"thinking": {"type": "maybe"}}, "thinking.type", "invalid_value"),
        ({"separate_reasoning": False}, "separate_reasoning", "unsupported_parameter"),
        ({"reasoning_format": "none"}, "reasoning_format", "unsupported_parameter"),
    ],
    ids=str,
)
def test_what_cannot_be_honoured_is_refused(
    calm: tuple[Running, ThinkingEngine], fields: dict[str, Any], param: str, code: str
) -> None:
    """The refusal names the field."""
    error = error_of(calm[0].chat(**fields, max_tokens=50))
    assert (error["param"], error["code"]) == (param, code)


def test_an_open_turn_is_gone_on_with(calm: tuple[Running, ThinkingEngine]) -> None:
    """A model that thinks by itself doesn't within a turn that was begun."""
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the"}]
    asked: dict[str, Any] = {"messages": turns, "max_tokens": 50, "continue_final_message": True}
    assert calm[0].chat(**CHOICE, **asked).json()["swyb"]["thinking"] is None
    assert error_of(calm[0].chat(**CHOICE, **asked, think=True))["param"] == "think"


def test_each_draw_has_its_own_thought() -> None:
    """Several drawn answers are those of the seeds that follow, thoughts and all; a thought's draws are its own."""
    with thinking_server(seeded(SIZE, seed=3)) as (running, _):
        asked: dict[str, Any] = {**CHOICE, "max_tokens": 60, "temperature": 1.0}
        several = running.chat(**asked, n=3, seed=5).json()
        alone = [running.chat(**asked, seed=seed).json() for seed in (5, 6, 7)]
        assert [choice["message"] for choice in several["choices"]] == [message_of(one) for one in alone]
        assert len({choice["message"]["reasoning"] for choice in several["choices"]}) == 3
        used = sum(one["usage"]["completion_tokens"] for one in alone)
        assert several["usage"]["completion_tokens"] == used
        first = running.chat(max_tokens=60, temperature=1.0, seed=5, swyb={"thinking": {"reserve": 30}}).json()
        thought, text = message_of(first)["reasoning"], message_of(first)["content"]
        assert thought[:8] != text[:8]


def test_beams_share_one_thought() -> None:
    """One thought comes before all beams, and is counted once."""
    with thinking_server(seeded(SIZE, seed=3)) as (running, _):
        asked: dict[str, Any] = {**CHOICE, "max_tokens": 80, "n": 3, "swyb": {"beam_width": 3}}
        body = running.chat(**asked).json()
        assert len({choice["message"]["reasoning"] for choice in body["choices"]}) == 1
        assert len({choice["message"]["content"] for choice in body["choices"]}) == 3
        known = [choice["swyb"] for choice in body["choices"]]
        thought = known[0]["thinking"]["tokens"]
        assert body["usage"]["completion_tokens"] == sum(one["tokens_used"] for one in known) - 2 * thought
        assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == thought


def test_an_answer_that_the_budget_changed_is_refused() -> None:
    """A thought that the budget closed may have changed the answer."""
    with thinking_server(hostile(SIZE, [ord("x")])) as (running, _):
        for stream in (False, True):
            answer = running.chat(**CHOICE, max_tokens=80, stream=stream, swyb={"on_budget": "refuse"})
            assert "budget_affected" in answer.text and "xxxx" not in answer.text


def test_a_model_that_fails_within_its_thought() -> None:
    """The request gets the engine's error, and everything is freed."""
    with thinking_server(fail_at(6, hostile(SIZE, [ord("x")]))) as (running, engine):
        assert error_of(running.chat(**CHOICE, max_tokens=80))["code"] == "engine_error"
        eventually(lambda: engine.open_sequences == 0 and running.service.present == 0)


def test_a_client_that_goes_away_frees_everything() -> None:
    """Within a thought, and within the answer behind it."""
    with thinking_server(hostile(SIZE, [ord("x")])) as (running, engine):
        for lines in (3, 60):
            body: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 2000}
            body |= {"thinking_budget": 40}
            with running.client.stream("POST", "/v1/chat/completions", json=body) as stream:
                for _, line in zip(range(2 * lines), stream.iter_lines(), strict=False):
                    assert "error" not in line
            eventually(lambda: engine.open_sequences == 0 and running.service.present == 0)


@pytest.mark.parametrize(
    "fields", [{"n": 3, "seed": 4}, {"temperature": 0}, {"n": 2, "swyb": {"beam_width": 4}}], ids=str
)
@pytest.mark.parametrize("kind", ["schema", "choice", "plain"])
def test_a_stream_tells_the_same(kind: str, fields: dict[str, Any]) -> None:
    """Thoughts, texts and certificates are those of the whole answer, broken code points too."""
    with thinking_server(seeded(SIZE, seed=11)) as (running, _):
        asked = {**CONSTRAINTS.get(kind, {}), **fields, "max_tokens": 70}
        told(running, False, asked)  # compiles
        assert told(running, True, asked) == told(running, False, asked)


@pytest.mark.parametrize("stream", [False, True])
def test_a_mark_is_found_wherever_a_thought_is_cut_in_parts(stream: bool) -> None:
    """A mark that a model spells is no part of the thought, though the last part begins within it, or ends."""
    for length in range(24, 48, 5 if stream else 1):
        script = follow(SIZE, [*("x" * length + "</think> and more").encode()], ord("y"))
        with thinking_server(script, "plain") as (running, _):
            asked: dict[str, Any] = {**CHOICE, "max_tokens": 80, "temperature": 0, "think": True}
            asked["swyb"] = {"thinking": {"reserve": 20}}
            [(thought, _, known)] = told(running, stream, asked)
            assert thought == "x" * length
            assert known["thinking"]["closed_by_budget"] is (length + len("</think>") > 50)


def test_a_thought_in_its_last_part_promises_nothing_if_it_is_drawn() -> None:
    """The last part has draws of its own, and the budget says where it begins: only what ended before is certain."""
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None, None], [257], markers={256: "</think>"})
    closing, grammar = 256, compile_grammar(Constraint("regex", "[a-z]{4}"), vocabulary)

    def logits(history: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.full(vocabulary.size, -20, np.float32)
        if closing in history:
            row[97 + crc32(repr(history[: history.index(closing)]).encode()) % 26] = 30
        else:
            row[97:123], row[closing] = 0, 0.5
        return row

    async def run(work: Work) -> AsyncGenerator[Piece | Answer]:
        decoding = Decoding(work, AnyText(vocabulary))
        while not decoding.answers:
            decoding.step(np.stack([logits((*work.prompt, *prefix)) for prefix in decoding.decoder.prefixes]))
        for answer in decoding.answers:
            yield answer

    async def answered(budget: int, seed: int) -> Answer:
        plan = ThinkingPlan(Closer((closing,), b"</think>", (closing,)), 30)
        work = Work((1,), grammar, Parameters(budget=budget, temperature=1.0, seed=seed))
        events = [event async for event in thought_and_answer(work, plan, vocabulary, run)]
        assert isinstance(events[-1], Answer)
        return events[-1]

    certain = 0
    for seed in range(60):
        short, long = asyncio.run(answered(60, seed)), asyncio.run(answered(4_000, seed))
        if short.budget_affected is False:
            certain += 1
            assert (short.text, short.thought and short.thought.text) == (long.text, long.thought and long.thought.text)
    assert 10 < certain < 60


def test_a_thought_of_a_few_tokens_takes_nothing_back() -> None:
    """A token whose end may begin the closing mark is no part of the thought, though its beginning could be told."""
    vocabulary = Vocabulary([b"a<", *(bytes([byte]) for byte in range(256)), None, None], [258], markers={257: "</t>"})

    async def run(work: Work) -> AsyncGenerator[Piece | Answer]:
        decoding = Decoding(work, AnyText(vocabulary))
        while not decoding.answers:
            row = np.full((len(decoding.decoder.prefixes), vocabulary.size), -9, np.float32)
            row[:, 0] = 9
            decoding.step(row)
            if (piece := decoding.piece()) is not None:
                yield piece
        for answer in decoding.answers:
            yield answer

    async def told(budget: int) -> tuple[bytes, bytes]:
        plan = ThinkingPlan(Closer((257,), b"</t>", (257,)), 4, told=True)
        work = Work((1,), None, Parameters(budget=budget), pieces=True)
        events = [event async for event in thought_and_answer(work, plan, vocabulary, run)]
        text = b"".join(event.text for event in events if isinstance(event, ThoughtPiece))
        [thought] = [event.thought for event in events if isinstance(event, Answer)]
        assert thought is not None
        return text, thought.text

    for budget in range(6, 14):
        streamed, whole = asyncio.run(told(budget))
        assert streamed == whole
