"""Schemas of pydantic models in packages: found once each, compiled, certified; a missing package is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.core.sdk_time import ModelRow
from benchmarks.data import read_rows

MODELS = """
from pydantic import BaseModel
class Point(BaseModel):
    x: bool
class Names(BaseModel):
    names: list[Point]
"""


@pytest.mark.full
def test_models_of_a_package_are_measured(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that another module imports counts where it stands, and one that can't be imported is counted."""
    package = tmp_path / "models_to_measure"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "some.py").write_text(MODELS)
    (package / "again.py").write_text("from models_to_measure.some import Point")
    (package / "broken.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["sdk", "models_to_measure", "no_such_package", "--tokenizer", "bytes", "--out", str(world)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "no_such_package isn't installed" in told
    assert "1 modules and models without a schema" in told
    names, point = read_rows(world / "sdk.jsonl", ModelRow)
    assert (names.model, point.model) == ("models_to_measure.some.Names", "models_to_measure.some.Point")
    assert (point.tokens, point.refusal) == (len('{"x":true}'), None)
    assert min(point.compile_ms, names.compile_ms) > 0
