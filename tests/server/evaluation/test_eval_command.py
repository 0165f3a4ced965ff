"""`swyb eval` from end to end, with a tiny model and with a server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.cli import main, parser
from server.commands.eval import EXPERIMENTS
from server.evaluation import experiments
from server.evaluation.budgets import levels
from server.evaluation.datasets.samples import samples
from server.evaluation.methods.registry import ANYWHERE
from server.evaluation.methods.spec import specs
from server.evaluation.peers.catalogue import KINDS
from tests.server.evaluation.world import FEWEST, write_tasks
from tests.server.running import Running, serving

pytest.importorskip("matplotlib", reason="the package matplotlib (extra: eval) is not installed")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights."""
    pytest.importorskip("transformers", reason="the package transformers (extra: embedded) is not installed")
    from tests.server.engines.tiny import save_model

    return save_model(tmp_path_factory.mktemp("model"), "llama")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving() as found:
        yield found


def rows(folder: Path, name: str = "json") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def test_a_model_in_this_process(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows, a report and its pictures; the same command again runs nothing, and `report` shows the same."""
    data, out = write_tasks(tmp_path / "data" / "jme").parent, tmp_path / "out"
    asked = ["eval", "json", "--data", str(data), "--model", str(tiny), "--out", str(out), "--concurrency", "2"]
    asked += ["--methods", "swyb,swyb:M=2,base,sample-verify:samples=2", "--budgets", "10,20"]
    assert main(asked) == 0
    first = capsys.readouterr()
    assert "16 of 16" in first.err
    found = rows(out)
    assert len(found) == 16
    ours = [row for row in found if row["method"].startswith("swyb") and row["task"] == "plain"]
    assert all(row["verdict"]["valid"] for row in ours)
    assert all((row["perplexity"] or 2.0) > 1.0 for row in found)
    description = json.loads((out / "json.run.json").read_text())
    assert (description["model"], description["data"], description["tasks"]) == (tiny.name, "json-mode", 2)
    taken_over = 2  # that a keyword is refused holds for every budget
    assert sum(sweep["answers"] for sweep in description["sweeps"]) == 16 - taken_over
    assert first.out.strip() == (out / "json.md").read_text().strip()
    assert main(asked) == 0
    assert rows(out) == found
    capsys.readouterr()
    assert main(["eval", "report", str(out)]) == 0
    assert "| 20  | swyb" in capsys.readouterr().out


def test_a_server(running: Running, tiny: Path, tmp_path: Path) -> None:
    """The server's own structured output, and a folder's tokenizer for budgets relative to references."""
    data, out = write_tasks(tmp_path / "data"), tmp_path / "out"
    asked = ["eval", "json", "--data", str(data), "--base-url", f"{running.base}/v1", "--model", str(tiny), "--hard"]
    assert main([*asked, "--methods", "server,base", "--out", str(out)]) == 0
    served = [row for row in rows(out) if (row["method"], row["task"]) == ("server", "plain")]
    assert [row["level"] for row in served] == ["1x", "1.1x", "1.2x", "1.3x", "1.4x", "1.5x"]
    assert all(row["verdict"]["valid"] and row["budget"] >= FEWEST for row in served)
    assert len(rows(out)) == 2 * 2 * 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["json", "--methods", "nobody"], "nobody"),
        (["json", "--budgets", "many"], "'many' is not a budget"),
        (["sql", "--set", "drone"], "spider"),
        (["json", "--data", "nowhere"], "nowhere"),
        (["json", "--api-model", "m"], "--base-url"),
        (["report", "nowhere"], "no results"),
    ],
)
def test_what_cant_be_run_is_told(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """A run that can't be is told in one line, with status 1, before anything is written."""
    rest = [] if words[0] == "report" else ["--model", str(tiny), "--out", str(tmp_path / "out")]
    assert main(["eval", *words, *rest]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_option_says_the_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    """`--hard` beside `--budgets` said nothing."""
    with pytest.raises(SystemExit) as ended:
        main(["eval", "json", "--hard", "--budgets", "32"])
    assert ended.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_the_command_knows_every_experiment() -> None:
    assert list(experiments.EXPERIMENTS) == list(EXPERIMENTS)
    assert parser().parse_args(["eval", "sql", "--n", "3"]).experiment == "sql"


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_experiments_have_samples_and_defaults(name: str) -> None:
    """Each of an experiment's sets has tasks in the package; budgets and methods can be read."""
    chosen = experiments.EXPERIMENTS[name]
    assert levels(chosen.budgets)
    assert specs(chosen.methods)
    with samples() as folder:
        for data in chosen.sets:
            tasks = experiments.tasks(data, folder, 2, 0)
            assert len(tasks) == 2
            assert all(task.judge(task.gold).correct for task in tasks)
    assert len({experiments.file_name(name, data) for data in chosen.sets}) == len(chosen.sets)


def test_the_script_of_all_experiments_can_be_run(tmp_path: Path) -> None:
    """Each of its commands is one that `swyb` understands; every experiment is there, on each kind of set."""
    told = tmp_path / "told"
    stand_in = tmp_path / "swyb"
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {told}\n')
    stand_in.chmod(0o755)
    script = Path(__file__).resolve().parents[3] / "scripts" / "eval_all.sh"
    environment = {**os.environ, "SWYB": str(stand_in), "N": "5"}
    subprocess.run([script, "model", "data", tmp_path / "out"], check=True, env=environment, capture_output=True)
    commands = [parser().parse_args(line.split()) for line in told.read_text().splitlines()]
    runs = [command for command in commands if command.experiment != "report"]
    assert commands[-1].experiment == "report"
    assert {run.experiment for run in runs} == set(EXPERIMENTS)
    assert {run.set for run in runs if run.set} <= set(experiments.SETS)
    for run in runs:
        assert (run.n, run.out) == (5, tmp_path / "out")
        chosen = specs(run.methods or experiments.EXPERIMENTS[run.experiment].methods)
        assert {spec.name for spec in chosen} <= {"swyb", "think", *ANYWHERE, *KINDS}


def test_a_server_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose every answer failed has measured nothing, and says why."""
    words = ["eval", "json", "--n", "1", "--methods", "server", "--budgets", "20", "--out", str(tmp_path)]
    assert main([*words, "--base-url", "http://127.0.0.1:1/v1"]) == 1
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith("swyb eval: error: nothing could be measured: ConnectError: ")
    )
