"""Values of options that nobody can mean: each is an error that names where it stands."""

from __future__ import annotations

import os

import pytest

from server.cli import parse
from server.commands.serve import configuration


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SWYB_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("key", ["secret\n", " secret", "sec\tret", "sec\x7fret"])
def test_a_key_that_no_client_can_send(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """White space at an end, as a file's last line has it, would keep everybody out: an error, and it isn't quoted."""
    monkeypatch.setenv("SWYB_API_KEY", key)
    with pytest.raises(ValueError, match=r"^SWYB_API_KEY: .*no header can carry") as caught:
        configuration(parse(["serve"]))
    assert "sec" not in str(caught.value)
    with pytest.raises(SystemExit):
        parse(["serve", "--api-key", key])
    assert "--api-key: the value has white space" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value"), [("SWYB_STORE_WRITE", "1e300"), ("SWYB_STORE_LEASE", "86401"), ("SWYB_PORT", "9" * 5000)]
)
def test_absurd_numbers(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can wait for so long, and Python reads no number of thousands of digits: both are told by the name."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=rf"^{variable}: '{value}' is not a "):
        configuration(parse(["serve"]))
