"""Options from flags, the environment and a file: which goes first, and how what is wrong is told."""

from __future__ import annotations

import os
import re
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.cli import parse
from server.commands.serve import configuration
from server.options.option import Option, options_of
from server.options.sources import AROUND, FILE, OTHERS
from server.settings import Settings
from tests.documents import ROOT

OPTIONS = {option.name: option for option in options_of(Settings)}


class Said(NamedTuple):
    """Texts that the sources give for one option; None: nothing."""

    flag: str | None
    variable: str | None
    key: str | None


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SWYB_")]:
        monkeypatch.delenv(name)


def texts(option: Option) -> st.SearchStrategy[str]:
    """Texts that an option may have."""
    if option.choices:
        return st.sampled_from(option.choices)
    if isinstance(option.default, bool):
        return st.sampled_from(["true", "no", "1", "off"])
    if isinstance(option.default, int | float):
        return st.integers(1, 9999).map(str)
    if option.name == "traces":
        return st.sampled_from(["http://localhost:4318/v1/traces", "https://user:pw@[::1]/"])
    if option.name == "api_key":
        return st.text("abc:/#'\"-é", min_size=1, max_size=6).filter(lambda text: text != "--")
    return st.text("abc:/ #'\"-{}[]é", min_size=1, max_size=6).filter(lambda text: text.strip() == text != "--")


SAID = st.fixed_dictionaries(
    {
        name: st.builds(Said, *(st.none() | texts(option) for _ in range(3)))
        for name, option in OPTIONS.items()
        if option.shape == "one"
    }
)


def command(said: dict[str, Said]) -> list[str]:
    """Flags of `swyb serve`; an option without a flag has none."""
    words = ["serve"]
    for name, (text, _, _) in said.items():
        flag = OPTIONS[name].flag
        if text is not None and flag:
            switched = isinstance(OPTIONS[name].default, bool)
            words.append((flag if text in ("true", "1") else f"--no-{flag[2:]}") if switched else f"{flag}={text}")
    return words


def value_of(found: Settings, option: Option) -> Any:
    return reduce(getattr, option.path, found)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(SAID)
def test_flags_go_before_variables_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Said]
) -> None:
    """Every option has the value of the first source that gives one, and its origin says which."""
    file = tmp_path / "swyb.yaml"
    file.write_text(yaml.safe_dump({name: key for name, (_, _, key) in said.items() if key is not None}))
    with monkeypatch.context() as patch:
        for name, (_, variable, _) in said.items():
            if variable is not None:
                patch.setenv(OPTIONS[name].variable, variable)
        found = configuration(parse([*command(said), "--config", str(file)]))
    for name, (flag, variable, key) in said.items():
        option = OPTIONS[name]
        told = [flag if option.flag else None, variable, key]
        places = [option.flag, option.variable, str(file)]
        first = next((number for number, text in enumerate(told) if text is not None), None)
        expected = option.default if first is None else option.read(str(told[first]))
        assert value_of(found.settings, option) == expected, name
        origin = found.origins.get(name)
        assert (origin and origin.rpartition(":")[0] if first == 2 else origin) == (
            None if first is None else places[first]
        )


def test_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is a list in the file, a text with commas in a variable, and words or repeated flags."""
    file = tmp_path / "swyb.yaml"
    file.write_text("warm: [sql, 'a, b']\ncors_origin:\n  - https://a.example\nengine_options: [--x, '1 2']\n")
    found = configuration(parse(["serve", "--config", str(file)])).settings
    assert (found.warm, found.cors_origins) == (("sql", "a, b"), ("https://a.example",))
    assert found.engine_options == ("--x", "1 2")
    monkeypatch.setenv("SWYB_WARM", "json, sql")
    monkeypatch.setenv("SWYB_ENGINE_OPTIONS", "--y '3 4'")
    monkeypatch.setenv(FILE, str(file))
    found = configuration(parse(["serve", "--cors-origin", "http://a:1", "--cors-origin", "*"])).settings
    assert (found.warm, found.cors_origins, found.engine_options) == (
        ("json", "sql"),
        ("http://a:1", "*"),
        ("--y", "3 4"),
    )
    found = configuration(parse(["serve", "--warm", "ari", "sql", "--", "--z"])).settings
    assert (found.warm, found.engine_options) == (("ari", "sql"), ("--z",))


def test_what_is_empty_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "swyb.yaml"
    file.write_text("# nothing but\nport:\nhost: ~\nname: null\nmodel: ''\n")
    monkeypatch.setenv("SWYB_RUNNING", "")
    found = configuration(parse(["serve", "--config", str(file)]))
    assert (found.settings, dict(found.origins)) == (Settings(), {})
    file.write_text("")
    assert configuration(parse(["serve", "--config", str(file)])).settings == Settings()


FLAGS = [option for option in OPTIONS.values() if option.on_command_line and not isinstance(option.default, bool)]


@pytest.mark.parametrize("option", [each for each in FLAGS if each.shape != "passed on"], ids=lambda each: each.name)
def test_an_empty_flag_is_refused(option: Option, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty flag is no absent one: `--host ''` would listen everywhere, and `--api-key ''` let everybody in."""
    with pytest.raises(SystemExit) as ended:
        parse(["serve", str(option.flag), ""])
    assert ended.value.code == 2
    assert re.match(rf"swyb serve: error: argument {option.flag}: (the value is|'' is)", capsys.readouterr().err)


def test_bytes_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that no client could show is refused, and isn't quoted."""
    monkeypatch.setenv("SWYB_API_KEY", "secret\udcff")
    with pytest.raises(ValueError, match=r"^SWYB_API_KEY: the value is not UTF-8$"):
        configuration(parse(["serve"]))


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(("--traces", value) for value in ("nonsense", "localhost:4318", "ftp://host/x", "http://", "http://[::1/x")),
        *(
            ("--cors-origin", value)
            for value in ("nonsense", "https://a.example/", "https://a.example/page", "https://")
        ),
        *(("--cors-origin", value) for value in ("https://u@a.example", "https://a.example:x", "https://a b", "null")),
        *(("--running", value) for value in (str(10**23), "9" * 5000, str(1 << 31))),
        ("--prefix-cache", str(10**30)),
    ],
)
def test_what_no_option_can_be(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses and numbers that would do nothing, or fail later, are refused where they are read."""
    with pytest.raises(SystemExit):
        parse(["serve", flag, value])
    assert f"argument {flag}: " in capsys.readouterr().err


def test_passwords_of_addresses_are_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["serve", "--traces", "htp://user:pass-word@host"])
    assert "pass-word" not in capsys.readouterr().err


def test_texts_stay_texts(tmp_path: Path) -> None:
    """YAML would read some texts as numbers, dates or truth: a key is what is written."""
    file = tmp_path / "swyb.yaml"
    file.write_text("api_key: 0123\nname: no\nstore_tenant: 2026-11-23\nhost: 1e3\n")
    found = configuration(parse(["serve", "--config", str(file)])).settings
    assert (found.api_key, found.name, found.store_tenant, found.host) == ("0123", "no", "2026-11-23", "1e3")


CHECKED = [name for name, option in OPTIONS.items() if option.choices or isinstance(option.default, int | float)]


@pytest.mark.parametrize("name", CHECKED)
def test_wrong_values_name_themselves(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flag, a variable or a line that an option can't have is an error that names it, and the value."""
    option = OPTIONS[name]
    monkeypatch.setenv(option.variable, "wrong value")
    with pytest.raises(ValueError, match=rf"^{option.variable}: 'wrong value' is n"):
        configuration(parse(["serve"]))
    monkeypatch.delenv(option.variable)
    file = tmp_path / "swyb.yaml"
    file.write_text(f"\n{name}: wrong value\n")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}:2: {name}: 'wrong value' is n"):
        configuration(parse(["serve", "--config", str(file)]))
    file.write_text(f"{name}: [1, 2]\n")
    with pytest.raises(ValueError, match=rf":1: {name}: {name} has one value, and a list is none"):
        configuration(parse(["serve", "--config", str(file)]))
    if not isinstance(option.default, bool):
        with pytest.raises(SystemExit):
            parse(["serve", str(option.flag), "wrong value"])
        assert f"{option.flag}: 'wrong value' is n" in capsys.readouterr().err


def test_choices_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allowed names are listed, with the one that was perhaps meant; several mistakes are told at once."""
    monkeypatch.setenv("SWYB_ENGINE", "vlm")
    monkeypatch.setenv("SWYB_PORT", "99999")
    with pytest.raises(ValueError, match="none of auto, transformers, vllm; did you mean vllm") as caught:
        configuration(parse(["serve"]))
    assert "SWYB_PORT: '99999' is not a port from 0 to 65535" in str(caught.value)
    assert configuration(parse(["serve", "--port", "1", "--engine", "auto"])).settings.port == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot: 1", ":1: there is no option prot; did you mean port?"),
        ("host: a\nmax-tokens: 1", ":2: there is no option max-tokens; did you mean max_tokens?"),
        ("port: 1\nport: 2", ":2: port is there twice, first in line 1"),
        ("intake: {bodies: 1}", ":1: intake is neither a value nor a list of values"),
        ("warm: [[sql]]", ":1: warm is neither a value nor a list of values"),
        ("port: [1", ":1: no YAML: "),
        ("\tport: 1", ":1: no YAML: "),
        ("- port", ": not a mapping of options to values"),
        ("port", ": not a mapping of options to values"),
        ("port: &a 1\nhost: *b", ":2: no YAML: found undefined alias"),
        ("config: other.yaml", ":1: there is no option config"),
        ("\x00", ": no YAML: "),
        ("[" * 5000, ": no YAML: it is nested too deeply"),
        ("[a, b]: 1", ":1: the name of an option is a text, and this is none"),
    ],
)
def test_wrong_files(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "swyb.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(str(file) + told)) as caught:
        configuration(parse(["serve", "--config", str(file)]))
    assert "Traceback" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        configuration(parse(["serve", "--config", str(tmp_path / "none")]))
    (tmp_path / "latin").write_bytes(b"name: \xe9\n")
    with pytest.raises(ValueError, match="latin: no YAML"):
        configuration(parse(["serve", "--config", str(tmp_path / "latin")]))


def test_unknown_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of ours that nobody reads is an error with the nearest name; others' are none."""
    monkeypatch.setenv("SWYB_CACHE", "/nowhere")
    monkeypatch.setenv("SWYB_CPUS", "2")
    assert configuration(parse(["serve"])).settings == Settings()
    monkeypatch.setenv("SWYB_MAX_TOKEN", "1")
    with pytest.raises(ValueError, match="SWYB_MAX_TOKEN; did you mean SWYB_MAX_TOKENS"):
        configuration(parse(["serve"]))


@pytest.mark.parametrize("name", ["SWYB_PORT", "SWYB_SERVICE_HOST"])
def test_variables_of_kubernetes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes gives containers variables for a Service `swyb`: the error says where they come from."""
    monkeypatch.setenv(name, "tcp://10.0.0.1:8000")
    with pytest.raises(ValueError, match=name) as caught:
        configuration(parse(["serve"]))
    assert "enableServiceLinks" not in str(caught.value)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ValueError, match="enableServiceLinks: false"):
        configuration(parse(["serve"]))


def test_every_variable_is_known() -> None:
    """A variable that any file here names is that of an option, or one of others'."""
    known = {*(option.variable for option in OPTIONS.values()), FILE, *AROUND}
    files = [
        path for folder in ("server", "grammar_cache", "docker", "examples") for path in (ROOT / folder).rglob("*")
    ]
    found = {
        name
        for path in [*files, ROOT / "Dockerfile", ROOT / "Makefile"]
        if path.is_file() and path.suffix in (".py", ".yaml", ".yml", ".sh", ".cfg", "")
        for name in re.findall(r"SWYB_[A-Z_]*[A-Z]", path.read_text())
    }
    assert {name for name in found - known if not f"{name}_".startswith(OTHERS)} == set()
    assert {name for name in AROUND if name in {option.variable for option in OPTIONS.values()}} == set()
