"""Reading the Dockerfile: stages, what each has, and what its variables stand for."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO

from dockerfile_parse import DockerfileParser

from tests.documents import ROOT

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass(slots=True)
class Stage:
    """Lines from one FROM to the next. `lines`: instruction and value."""

    name: str
    base: str
    lines: list[tuple[str, str]] = field(default_factory=list)

    def values(self, instruction: str) -> list[str]:
        return [value for name, value in self.lines if name == instruction]

    @property
    def copies(self) -> list[tuple[str | None, list[str], str]]:
        """Parts of each COPY: the stage it copies from (None: what is sent to the builder), the sources and the
        target.
        """
        found = []
        for value in self.values("COPY"):
            words = shlex.split(value)
            options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
            *sources, target = [word for word in words if not word.startswith("--")]
            found.append((options.get("from"), sources, target))
        return found

    @property
    def environment(self) -> dict[str, str]:
        """Variables that ENV sets; variables in their values are left as they are."""
        return dict(word.split("=", 1) for value in self.values("ENV") for word in shlex.split(value))

    @property
    def healthcheck(self) -> tuple[dict[str, str], list[str]]:
        """Options and command."""
        [value] = self.values("HEALTHCHECK")
        options, command = value.split("CMD", 1)
        return dict(word[2:].split("=") for word in options.split()), exec_form(command)


@cache
def parsed() -> tuple[Mapping[str, str], tuple[Stage, ...]]:
    """The arguments before the first stage with their defaults, and the stages."""
    parser = DockerfileParser(fileobj=BytesIO((ROOT / "Dockerfile").read_bytes()))
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for line in parser.structure:
        instruction, value = line["instruction"], line["value"]
        if instruction == "COMMENT":
            continue
        if instruction == "FROM":
            base, _, name = value.partition(" AS ")
            stages.append(Stage(name, base))
        elif stages:
            stages[-1].lines.append((instruction, value))
        else:
            assert instruction == "ARG", value
            name, _, default = value.partition("=")
            arguments[name] = default
    return arguments, tuple(stages)


def base_of(stage: Stage, **chosen: str) -> str:
    """The image or stage that it begins with, for these build arguments."""
    arguments = {**parsed()[0], **chosen}
    return _VARIABLE.sub(lambda found: arguments[found[1] or found[2]], stage.base)


def chain(device: str) -> list[Stage]:
    """The stages that an image for this device is made of, the last one first; it ends where a base is no stage."""
    stages = {stage.name: stage for stage in parsed()[1]}
    found = [parsed()[1][-1]]
    while (base := base_of(found[-1], DEVICE=device)) in stages:
        found.append(stages[base])
    return found


def exec_form(value: str) -> list[str]:
    """A command as a list of words. Raises ValueError for one that a shell would read."""
    words = json.loads(value)
    assert isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words
