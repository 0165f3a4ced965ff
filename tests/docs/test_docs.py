"""Commands, samples, requests and links of the documentation do what the pages say."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grammar_cache import Vocabulary
from server.backends.loop import EngineLoop
from server.cli import COMMANDS, main, parse
from server.job import Job
from server.protocol.completion import Certificate, ChatCompletion
from server.protocol.errors import ApiError
from server.protocol.reading import parse_chat, parse_json
from server.service import Service
from server.settings import Settings
from tests.cached import cache_folder, model_folder
from tests.documents import ROOT, Document, documents, run, spans
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import Running, serving

README = Document("README.md")
BEAMS = Document("docs/how-to/beams.md")
CLIENTS = Document("docs/how-to/clients.md")
TOOLS = Document("docs/how-to/tools.md")
START = Document("docs/start.md")
DISTANCE = Document("docs/explain/distance.md")
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A server with a model of random preferences."""
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service that refuses or prepares requests, with the embedded model's tokenizer and no model."""
    vocabulary = Vocabulary.from_pretrained(model_folder())
    found = Service(Settings(), EngineLoop(ScriptedEngine(vocabulary, uniform(vocabulary.size), context_window=8192)))
    yield found
    found.grammars.close()


def requests_shown() -> list[dict[str, Any]]:
    """The bodies of the curl examples; the second one is the first with another budget, as the README says it."""
    found: list[dict[str, Any]] = []
    for _, code in [*README.blocks("sh"), *BEAMS.blocks("sh")]:
        words = shlex.split(code)
        if words[0] == "curl":
            assert words[1] == f"{ADDRESS}/v1/chat/completions"
            found.append(json.loads(words[words.index("-d") + 1]))
    [budget] = re.findall(r"With `\"max_tokens\": (\d+)` the same request is refused", README.text)
    return [found[0], {**found[0], "max_tokens": int(budget)}, *found[1:]]


def answers_shown() -> list[dict[str, Any]]:
    """Answers that the examples are shown with."""
    return [json.loads(code) for page in (README, BEAMS) for _, code in page.blocks("json")]


def prepare(service: Service, body: dict[str, Any]) -> Job:
    """All that is done before the first call of the model. Raises ApiError."""
    return asyncio.run(service.prepare(parse_chat(parse_json(json.dumps(body).encode(), 512))))


def test_each_curl_example_shows_its_answer() -> None:
    """Three requests, and an answer below each."""
    assert len(requests_shown()) == len(answers_shown()) == 3


def test_curl_examples_are_those_of_the_script() -> None:
    """The README and examples/curl.sh ask the same, but for a temperature."""
    script = (ROOT / "examples" / "curl.sh").read_text()
    bodies = [json.loads(body) for body in re.findall(r"^ask '(.*?)'$", script, re.DOTALL | re.MULTILINE)]
    assert [{**body, "temperature": 0} for body in bodies] == [{**body, "temperature": 0} for body in requests_shown()]


@pytest.mark.parametrize("number", range(3))
def test_answers_of_the_curl_examples_are_true(service: Service, number: int) -> None:
    """A refusal is shown word for word; an answer belongs to the language, and its certificate is right."""
    body, shown = requests_shown()[number], answers_shown()[number]
    if "error" in shown:
        with pytest.raises(ApiError) as refusal:
            prepare(service, body)
        assert refusal.value.body == shown
        assert refusal.value.code.status == 400
        return
    assert set(shown) < set(ChatCompletion.model_fields)
    assert set(shown["swyb"]) < set(Certificate.model_fields)
    certified = prepare(service, body).certified
    assert certified is not None
    [choice] = shown["choices"]
    text = choice["message"]["content"]
    config = certified.grammar.consume_bytes(certified.grammar.start, text.encode())
    assert config is not None
    assert certified.grammar.accepts(config)
    if "response_format" in body:
        jsonschema.validate(json.loads(text), body["response_format"]["json_schema"]["schema"])
    told = shown["swyb"]
    assert (told["min_tokens"], told["exact"]) == (certified.minimum.tokens, certified.minimum.exact)
    assert told["complete"]
    assert told["budget"] == body["max_tokens"]
    assert told["min_tokens"] <= told["tokens_used"] == shown["usage"]["completion_tokens"] <= told["budget"]


def test_the_sample_for_the_openai_client_runs(running: Running) -> None:
    """The sample prints what the page says, against a real server."""
    [code] = [code for _, code in README.blocks("python") if "openai" in code]
    namespace: dict[str, Any] = {}
    try:
        for promised, printed in run(code.replace(ADDRESS, running.base), namespace):
            assert printed == promised
    finally:
        namespace["client"].close()


@pytest.mark.parametrize(("page", "number"), [(CLIENTS, 0), (CLIENTS, 1), (TOOLS, 0)])
def test_the_samples_for_other_clients_run(running: Running, page: Document, number: int) -> None:
    """Samples print what they say, against a real server."""
    code = page.blocks("python")[number][1].replace(ADDRESS, running.base)
    namespace: dict[str, Any] = {}
    try:
        told = run(code, namespace)
        assert len(told) >= 3
        for promised, printed in told:
            assert printed == promised
    finally:
        namespace["client"].close()


def test_the_samples_of_the_tutorial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples run in order and print what the page says, with the tokenizer of the embedded model; the grammar
    of the database then is where the page's command looks for it.
    """
    model_folder()
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "swyb").symlink_to(cache_folder())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    told = [line for _, code in START.blocks("python") for line in run(code, namespace)]
    assert len(told) > 10
    for promised, printed in told:
        assert printed == promised
    [command] = [line for _, code in START.blocks("sh") for line in code.splitlines() if "all singers" in line]
    words = shlex.split(command)
    assert Path(words[words.index("--grammar") + 1]).read_text() == namespace["text"]


def test_the_worked_example_of_the_distances_runs() -> None:
    """The blocks run in order and print what they say."""
    namespace: dict[str, Any] = {}
    told = [line for _, code in DISTANCE.blocks("python") for line in run(code, namespace)]
    assert len(told) > 10
    for promised, printed in told:
        assert printed == promised
    grammar, vocabulary, opened = (namespace[name] for name in ("grammar", "vocabulary", "opened"))
    rows = [(row[3], spans(row[4])) for row in DISTANCE.table("The example of the paper")]
    assert rows == [
        (str(grammar.distance(config)), [vocabulary.text(grammar.witness(config)).decode()]) for config in opened
    ]


@pytest.mark.parametrize("name", ["openai_sdk.py", "python_api.py"])
def test_examples_run(running: Running, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each small program does what its name says, to the end."""
    argument: object = running.base if name == "openai_sdk.py" else model_folder()
    runpy.run_path(str(ROOT / "examples" / name))["main"](argument)
    printed = capsys.readouterr().out
    assert "refus" in printed.splitlines()[-1]
    assert not any(not line.split(":", 1)[1].strip() for line in printed.splitlines())


def test_command_lines_are_understood() -> None:
    """Every `swyb` line of all pages parses, its files exist, and all commands are shown."""
    blocks = [code for page in documents() for _, code in page.blocks("sh")]
    lines = [line for code in blocks for line in code.splitlines()]
    shown = [line.split("| ")[-1] for line in lines if re.match(r"(echo .*\| )?swyb [a-z]", line)]
    parsed = [parse(shlex.split(line, comments=True)[1:]) for line in shown]
    assert {arguments.command for arguments in parsed} == set(COMMANDS)
    for file in {file for line in [*shown, README.text] for file in re.findall(r"examples/[\w./]+\w", line)}:
        assert (ROOT / file).is_file(), file


def printed_in_pages() -> Iterator[tuple[list[str], list[str]]]:
    """The words of each command whose output is shown, but for where it goes, and the lines that are shown."""
    for _, code in [block for page in documents() for block in page.blocks("console")]:
        for part in code.removeprefix("$ ").split("\n$ "):
            command, *lines = part.splitlines()
            yield shlex.split(command.partition(" > ")[0]), lines


def shown_of(command: str) -> list[tuple[list[str], list[str]]]:
    return [(words[1:], lines) for words, lines in printed_in_pages() if words[:2] == ["swyb", command]]


def untimed(text: str) -> dict[str, Any]:
    """A certificate without what differs from run to run."""
    told: dict[str, Any] = json.loads(text)
    assert told.pop("compile_ms") > 0
    return told


def test_what_certify_prints_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate word for word but for its time, and a refusal with its caret."""
    model = ["--model", str(model_folder())]
    (refused, error), (certified, lines) = shown_of("certify")
    monkeypatch.chdir(ROOT)
    assert main([*certified, *model]) == 0
    printed = capsys.readouterr().out
    assert untimed(printed) == untimed("\n".join(lines))
    assert [line for line in printed.splitlines() if "_ms" not in line] == [line for line in lines if "_ms" not in line]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.gbnf").write_text(f"root ::= test\n{error[1].partition(' | ')[2]}\n")
    assert main([*refused, *model]) == 1
    assert capsys.readouterr().err.splitlines() == error


@pytest.mark.model
def test_what_generate_prints_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded model's text, and its certificate."""
    monkeypatch.chdir(ROOT)
    [(words, (text, certificate))] = shown_of("generate")
    assert main([*words, "--model", str(model_folder())]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{text}\n"
    assert untimed(printed.err.splitlines()[-1]) == untimed(certificate)


def test_make_verbs_exist() -> None:
    """The Makefile knows each verb that the pages tell to type."""
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = {verb for page in documents() for verb in re.findall(r"(?:^|`)make ([a-z-]+)", page.text, re.MULTILINE)}
    assert {"serve", "test"} <= told <= known


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Document) -> None:
    """Relative links name files that are there, and headings that they have."""
    for link in page.links:
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = Document(str(((ROOT / page.name).parent / file).resolve().relative_to(ROOT.resolve())))
        assert (ROOT / target.name).is_file(), link
        assert not anchor or anchor in target.anchors, link


def test_the_changelog_knows_the_version() -> None:
    """The version of the package has an entry."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"## [{version}]" in Document("CHANGELOG.md").text


def test_the_readme_is_short_and_in_order() -> None:
    """Promise, picture, table, start, request, client, comparison, links."""
    lines = README.text.splitlines()
    assert len(lines) <= 150
    marks = ["promise.svg", "| Budget T |", "json-validity.svg", "pip install", "curl ", "budget_too_small", "OpenAI("]
    marks += ["## How it compares", "## Read on"]
    places = [README.text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert lines[2].split(".")[0].startswith("SWYB is")
    rows = [row for row in README.text.splitlines() if re.match(r"\| \d+ \|", row)]
    assert [row.split("|")[1].strip() for row in rows] == ["32", "64", "120", "256", "512"]


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    """Shares of valid answers by budget and method, as the experiment's own table has them first."""
    names = ("swyb", "xgrammar", "llguidance", "outlines-core", "lm-format-enforcer", "base")
    measured: dict[tuple[str, str], float] = {}
    for line in Document("docs/results/json/json.md").text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].isdigit():
            measured.setdefault((cells[0], cells[1]), float(cells[5].split(" %")[0]))
    rows = README.table("SWYB")
    assert len(rows) == 5
    for budget, *shares in rows:
        assert [float(share.removesuffix(" %")) for share in shares] == [measured[budget, name] for name in names]


def test_samples_begin_at_the_public_face() -> None:
    """No page and no example imports from the packages behind `swyb` what `swyb` has."""
    codes = [code for page in documents() for _, code in page.blocks("python")]
    codes += [path.read_text() for path in (ROOT / "examples").glob("*.py")]
    for code in codes:
        assert not re.search(r"^from grammar_cache import", code, re.MULTILINE), code
        assert "from grammar_cache.grammars" not in code


def test_files_that_pages_name_are_there() -> None:
    """Paths in code spans, from the root of the repository. Entries of the log are of their commits."""
    folders = "server|grammar_cache|tests|benchmarks|examples|scripts"
    for page in documents():
        if not page.name.startswith(("benchmarks/log", "docs/results")):
            for file in re.findall(rf"`((?:{folders})/[\w/.]+\.\w+)`", page.prose):
                assert (ROOT / file).is_file(), f"{page.name}: {file}"


def test_sentences_name_their_subjects() -> None:
    """No sentence, item or cell begins with a word that stands for another one. Python's page is made of docstrings."""
    for page in documents():
        if not page.name.startswith(("benchmarks/log", "docs/results", "docs/reference/python", "CHANGELOG")):
            found = re.findall(r"(?:^|[.:] |\n\n|\| |- )((?:Of|Those|The same) [^.|]{0,40})", page.prose)
            assert not found, f"{page.name}: {found}"
