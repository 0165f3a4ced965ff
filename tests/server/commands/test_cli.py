"""The command `swyb`."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from server.cli import main, parse
from server.commands.generate import request_body
from server.commands.serve import address, configuration, example, listening_on, reachable, settings_of, tell
from server.protocol.reading import parse_chat
from server.settings import Settings

SCHEMA = {
    "type": "object",
    "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], str]:
    """Writes a text (or JSON) to a file and names it."""

    def made(name: str, content: object) -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), newline="")
        return str(path)

    return made


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tokenizer whose tokens are the 256 bytes and an end."""
    folder = tmp_path_factory.mktemp("tokenizer")
    alphabet = sorted(ByteLevel.alphabet())
    made = Tokenizer(BPE(vocab={character: at for at, character in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevelDecoder()
    made.add_special_tokens(["<|end|>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))
    return folder


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """JSON that a command printed."""
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_certify_says_what_is_needed(write: Any, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The certificate has the minimum, a shortest text, the sizes and what is not enforced."""
    schema = write("s", {**SCHEMA, "x-note": 1})
    assert main(["certify", "--schema", schema, "--model", str(tokenizer)]) == 0
    certificate = told(capsys)
    jsonschema.validate(json.loads(certificate["witness"]), SCHEMA)
    # One token is one byte here, and this is the shortest spelling.
    assert certificate["min_tokens"] == len(certificate["witness"]) == len('{"b":"","a":0}')
    assert certificate["exact"] is True
    assert certificate["size"]["states"] > 0
    assert certificate["compile_ms"] > 0
    assert any("x-note" in entry for entry in certificate["ignored"])


def test_certify_refuses_in_json(write: Any, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal says its code and where, and the exit status is 1."""
    schema = write("s", {"properties": {"x": {"type": "strin"}}})
    assert main(["certify", "--schema", schema, "--model", str(tokenizer)]) == 1
    error = told(capsys)["error"]
    assert (error["code"], error["pointer"]) == ("invalid_grammar", "/properties/x/type")


@pytest.mark.parametrize(
    "arguments",
    [
        ["certify"],
        ["certify", "--schema", "a", "--grammar", "b"],
        ["check", "--schema", "a"],
        ["serve", "--port", "65536"],
        ["serve", "--max-tokens", "0"],
        [],
        ["other"],
    ],
)
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A command line that makes no sense ends with status 2 and one line, which says where there is help."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert ": error: " in line
    assert "--help" in line


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that isn't there is one line, not a traceback."""
    assert main(["check", "--schema", str(tmp_path / "none"), "-"]) == 2
    assert capsys.readouterr().err == f"swyb check: error: {tmp_path / 'none'}: No such file or directory\n"


def test_settings_come_from_options_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key may come from the environment, where other users can't read it; an option wins."""
    monkeypatch.setenv("SWYB_API_KEY", "from the environment")
    quiet = settings_of(configuration(parse(["serve", "--port", "0", "--max-tokens", "7"])), "transformers")
    loud = settings_of(configuration(parse(["serve", "--api-key", "given"])), "transformers")
    assert (quiet.api_key, quiet.port, quiet.default_max_tokens) == ("from the environment", 0, 7)
    assert loud.api_key == "given"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("example.org", "http://example.org:80"),
    ],
)
def test_the_address_can_be_reached(host: str, expected: str) -> None:
    """The address to try can be opened on this machine."""
    assert address(reachable(host), 80) == expected


def test_the_log_tells_where_a_server_listens(capsys: pytest.CaptureFixture[str]) -> None:
    """A server that all the network reaches says so; the line to try names this machine."""
    service: Any = SimpleNamespace(model=SimpleNamespace(name="m"), settings=Settings())
    with socket.create_server(("0.0.0.0", 0)) as listening:
        port = listening.getsockname()[1]
        tell(listening, service)
    printed = capsys.readouterr()
    assert f"m is ready at http://0.0.0.0:{port}. Try:" in printed.err
    assert f"curl http://127.0.0.1:{port}/v1" in printed.out


def test_connections_send_what_is_small_at_once() -> None:
    """A client that keeps its connection never waits for the system to put headers and bodies together."""

    async def connected(listening: socket.socket) -> int:
        made: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            made.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(take, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await made

    assert asyncio.run(connected(listening_on("127.0.0.1", 0))) != 0


def test_the_example_is_a_request_of_this_server() -> None:
    """The curl line to try survives a shell and asks for what the server accepts."""
    words = shlex.split(example("http://127.0.0.1:80", "it's", keyed=True))
    assert words[:2] == ["curl", "http://127.0.0.1:80/v1/chat/completions"]
    assert "Authorization: Bearer $SWYB_API_KEY" in words
    chat = parse_chat(json.loads(words[words.index("-d") + 1]))
    assert (chat.model, chat.max_tokens) == ("it's", 32)


def test_first_outputs_are_greedy_and_name_their_fields() -> None:
    """The curl line, and `swyb generate` unless it is told otherwise: the next run prints the same."""
    words = shlex.split(example("http://127.0.0.1:80", "model", keyed=False))
    body = json.loads(words[words.index("-d") + 1])
    assert body["temperature"] == 0
    fields = body["response_format"]["json_schema"]["schema"]["required"]
    assert all(field in body["messages"][-1]["content"] for field in fields)
    for options, temperature in (([], 0), (["--temperature", "0.7"], 0.7)):
        assert request_body(parse(["generate", "hello", *options]), None)["temperature"] == temperature
