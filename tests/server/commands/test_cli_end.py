"""When a server ends: by the command line, else by the environment, else by default."""

from __future__ import annotations

import pytest

from server.cli import parse
from server.commands.serve import settings_of
from server.settings import Settings


def given(*words: str) -> tuple[float, float, str]:
    found = settings_of(parse(["serve", "--store", "none", *words]), "transformers")
    return found.drain_seconds, found.shutdown_seconds, found.on_engine_failure


def test_options_come_before_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    default = Settings()
    assert given() == (default.drain_seconds, default.shutdown_seconds, default.on_engine_failure) == (5, 10, "exit")
    for name, value in (("DRAIN_SECONDS", "0"), ("SHUTDOWN_SECONDS", "2.5"), ("ON_ENGINE_FAILURE", "stay")):
        monkeypatch.setenv(f"SWYB_{name}", value)
    assert given() == (0, 2.5, "stay")
    assert given("--drain-seconds", "1", "--on-engine-failure", "exit") == (1, 2.5, "exit")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon"])
def test_times_are_times(value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever they are said."""
    monkeypatch.setenv("SWYB_SHUTDOWN_SECONDS", value)
    with pytest.raises(SystemExit):
        given()
    assert "is not a number of seconds" in capsys.readouterr().err
