"""Refused grammars as they are told: the line of the text, and a caret below the column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.cli import main
from server.console.refusals import WIDEST, Place, excerpt, pointed
from tests.server.commands.test_cli import tokenizer, told, write

__all__ = ["tokenizer", "write"]

SCHEMA = '{\n  "type": "object",\n  "properties": {\n    "x": {"type": "strin"}\n  }\n}\n'


@pytest.mark.parametrize(
    ("option", "text", "line", "under"),
    [
        ("--grammar", 'root ::= "a" item\nitem ::= "b" | other\n', 'item ::= "b" | other', "other"),
        ("--schema", SCHEMA, '    "x": {"type": "strin"}', '"type": "strin"'),
        ("--schema", '{"type": object}', '{"type": object}', "object}"),
        ("--regex", "ab(c", "ab(c", "(c"),
        ("--choice", '["a", 1]', '["a", 1]', "1]"),
        ("--choice", '["a",\n [1,', " [1,", "[1,"),
        ("--choice", " x", " x", "x"),
        ("--structural-tag", '{"format": ]}', '{"format": ]}', "]}"),
    ],
)
def test_the_caret_is_below_the_place(
    *, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, text: str, line: str, under: str
) -> None:
    """The error is one line with its code; then two lines, of which the second has the caret."""
    file, judged = tmp_path / "constraint", tmp_path / "text"
    file.write_text(text)
    judged.write_text("x")
    assert main(["check", option, str(file), str(judged)]) == 2
    printed = capsys.readouterr()
    body = json.loads(printed.out)["error"]
    error, shown, caret = printed.err.splitlines()
    assert error == f"swyb check: error: {body['message']} [{body['code']}]"
    number = text.splitlines().index(line) + 1
    assert shown == f"  {file}:{number} | {line}"
    assert caret.replace("|", " ") == " " * shown.rindex(under) + "^"


def test_certify_tells_people_and_programs(tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The body of the error for programs, on the standard output; where there is no place, there is no caret."""
    file = tmp_path / "schema"
    file.write_text("false")
    assert main(["certify", "--schema", str(file), "--model", str(tokenizer)]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["code"] == "empty_language"
    assert printed.err.splitlines()[0].startswith("swyb certify: error: ")
    assert printed.err.splitlines()[0].endswith("[empty_language]")


@pytest.mark.parametrize("text", ["", "\n", "[", '["a",', '"a' * 40_000])
def test_a_choice_that_ends_too_early(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """An empty file, one that is cut and one that is too long are told as other mistakes are, with a place."""
    (tmp_path / "choice").write_text(text)
    (tmp_path / "text").write_text("x")
    assert main(["check", "--choice", str(tmp_path / "choice"), str(tmp_path / "text")]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["message"].startswith("choice: ")
    assert f"  {tmp_path}/choice:" in printed.err.splitlines()[1]


def test_long_lines_are_shown_in_part() -> None:
    """The caret stays below the place, however long the line and wide its characters."""
    text = "b" * 5000 + "x" + "c" * 5000
    shown, caret = excerpt(text, Place(1, 5001), "file").splitlines()
    assert len(shown) < WIDEST + 20
    assert shown[len(caret) - 1] == "x"
    shown, caret = excerpt("漢字\tx", Place(1, 4), "f").splitlines()
    assert shown == "  f:1 | 漢字 x"
    assert len(caret) - 1 == len("  f:1 | ") + 2 * 2 + 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def pointers(value: object, here: str = "") -> dict[str, object]:
    """All JSON Pointers into a value, and what they lead to."""
    found = {here: value}
    if isinstance(value, list):
        pairs: list[tuple[object, object]] = list(enumerate(value))
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    for key, inner in pairs:
        found |= pointers(inner, f"{here}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


@given(VALUES, st.sampled_from([None, 1]))
def test_pointers_lead_to_their_values(value: object, indent: int | None) -> None:
    """The place of a pointer has the value, or its name and the value; Python's own decoder reads it."""
    text = json.dumps(value, indent=indent)
    for pointer, expected in pointers(value).items():
        place = pointed(text, pointer)
        assert place is not None
        rest = "\n".join(text.split("\n")[place.line - 1 :])[place.column - 1 :]
        read, end = json.JSONDecoder().raw_decode(rest)
        if rest[end:].lstrip().startswith(":"):
            assert read == pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            read, _ = json.JSONDecoder().raw_decode(rest[end:].lstrip()[1:].lstrip())
        assert read == expected
    assert pointed(text, "/no/such/place") is None


def test_generate_refuses_before_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grammar that is none, and options that no request has, are told before anything is loaded."""
    from server.commands import generate

    def never(*arguments: object) -> None:
        raise AssertionError("the model is loaded")

    monkeypatch.setattr(generate, "backend_of", never)
    monkeypatch.setattr(generate, "model_folder", lambda *arguments: tmp_path)
    file = tmp_path / "grammar"
    file.write_text('root ::= "a" other')
    assert main(["generate", "hello", "--grammar", str(file)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].endswith("^")
    assert main(["generate", "hello", "--json", "--top-p", "7"]) == 1
    assert told(capsys)["error"]["param"] == "top_p"
