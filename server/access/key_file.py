"""File of keys: YAML, of which JSON is a part, read as a whole or not at all.

    keys:
      - name: team-a
        sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8
        requests_per_minute: 600
        share: 2

Errors name the entry and the field, and never quote a value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from yaml.nodes import MappingNode, Node, ScalarNode

from server.access.keys import SINGLE, Key, KeyLimits, digest_of
from server.options.readers import key_value
from server.telemetry.record import NOBODY

MOST_KEYS = 1000
MOST_BYTES = 1 << 20
LEAST_CHARACTERS = 16
"""Characters of a key: what is shorter can be guessed, from its digest too."""

MOST_COUNTED = 1 << 53
"""Bound of counts: above it fractions of a bucket's level are no numbers any more."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Value = Annotated[str, Field(min_length=LEAST_CHARACTERS), AfterValidator(key_value)]
Count = Annotated[int, Field(ge=1, le=MOST_COUNTED)]


class KeyEntry(BaseModel):
    """Entry of a key: its value, or the SHA-256 of it in hexadecimal digits, and its limits (see `KeyLimits`)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    key: Value | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    concurrency: Count | None = None
    constraint_bytes: Count | None = None
    named_grammars: Annotated[int, Field(ge=0)] | None = None
    only_grammars: list[str] | None = None
    share: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 1.0
    tenant: Annotated[str, Field(max_length=64)] | None = None

    @model_validator(mode="after")
    def _has_one_value(self) -> KeyEntry:
        if (self.key is None) == (self.sha256 is None):
            raise ValueError("one of key and sha256 is needed")
        if self.name in (NOBODY, SINGLE):
            raise ValueError("the name means another key")
        return self

    @property
    def as_key(self) -> Key:
        """The key that the entry describes."""
        digest = digest_of(self.key) if self.key is not None else bytes.fromhex(self.sha256 or "")
        limits = KeyLimits(
            self.requests_per_minute,
            self.tokens_per_minute,
            self.concurrency,
            self.constraint_bytes,
            self.named_grammars,
            None if self.only_grammars is None else frozenset(self.only_grammars),
        )
        return Key(self.name, digest, limits, self.share, self.tenant)


class KeyFile(BaseModel):
    """Content of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    keys: Annotated[list[KeyEntry], Field(min_length=1, max_length=MOST_KEYS)]


class _TwiceError(Exception):
    """Mapping that has a name twice."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Loader that refuses a name which is there twice: YAML's own drops what was said first, keys and limits too."""

    def compose_mapping_node(self, anchor: dict[Any, Node] | None) -> MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for name in (name for name, _ in node.value if isinstance(name, ScalarNode)):
            if name.value in seen:
                raise _TwiceError(f"line {name.start_mark.line + 1} has a name that is there already")
            seen.add(name.value)
        return node


def read_keys(path: Path) -> tuple[Key, ...]:
    """Keys of a file. Raises OSError, or ValueError with a text that may be logged."""
    data = path.read_bytes()
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path}: a file of keys has at most {MOST_BYTES} bytes")
    try:
        found = KeyFile.model_validate(yaml.load(data, _Loader))
    except ValidationError as error:
        raise ValueError(f"{path}: {_first_fault(error)}") from None
    except _TwiceError as error:
        raise ValueError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:  # its text quotes the file
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{path}: line {line} is no YAML") from None
    except (yaml.YAMLError, RecursionError, ValueError):  # ValueError: dates and numbers that there are not
        raise ValueError(f"{path}: this is no YAML") from None
    keys = tuple(entry.as_key for entry in found.keys)
    if len({key.name for key in keys}) < len(keys):
        raise ValueError(f"{path}: two names are the same")
    if len({key.digest for key in keys}) < len(keys):
        raise ValueError(f"{path}: two keys are the same")
    return keys


def _first_fault(error: ValidationError) -> str:
    """Place and kind of the first fault, without the value that was found there."""
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the file'}: {fault['msg']}"
