"""Sources of options: flags before the environment, the environment before a file, a file before defaults.

pydantic-settings reads the environment and puts the sources in their order; its model is made from the declarations.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from server.options.command_line import flags
from server.options.file import Entry, entries
from server.options.option import PREFIX, Option
from server.options.readers import perhaps

if TYPE_CHECKING:  # loaded when options are read: texts of help are there at once
    from pydantic import ValidationError
    from pydantic_settings import BaseSettings

T = TypeVar("T")

FILE = PREFIX + "CONFIG"
"""Variable that names the file where no flag does."""
OTHERS = ("SWYB_BUDGET_", "SWYB_CACHE", "SWYB_LOOPS", "SWYB_VLLM_FRONT_END", "SWYB_DATA")
"""Beginnings of variables of other parts: vLLM's plug-in and processes, caches, data of evaluations."""
AROUND = (
    *("SWYB_CERTIFICATE", "SWYB_CPUS", "SWYB_GPUS", "SWYB_MEMORY", "SWYB_MODEL_NAME", "SWYB_SECRET_FILE"),
    *("SWYB_TLS_HOST", "SWYB_TLS_PORT", "SWYB_HAPROXY", "SWYB_PYTHON", "SWYB_REDIS_SERVER", "SWYB_URL"),
)
"""Variables of compose files, tests and examples, which a shell that runs a server may have too."""


@dataclass(frozen=True, slots=True)
class Configuration(Generic[T]):
    """Settings, and where each that isn't a default comes from, by the option's name."""

    settings: T
    options: tuple[Option, ...]
    origins: Mapping[str, str]


def configured(
    settings: T, options: Sequence[Option], arguments: Namespace, file: Path | None = None, *, strict: bool = False
) -> Configuration[T]:
    """Settings with what the sources say instead. `strict`: variables that no option has are errors too.

    Raises OSError for a file that can't be read, ValueError, in one line, for all that is wrong where it counts.
    """
    given = flags(arguments, options)
    written = entries(file) if file else {}
    unknown = [*_unknown_keys(written, options, file), *(_unknown_variables(options) if strict else [])]
    if unknown:
        raise ValueError("; ".join(unknown))
    model, environment = _model(options, given, written)
    origins = {
        **{name: f"{file}:{entry.line}" for name, entry in written.items()},
        **{option.name: option.variable for option in options if option.name in environment},
        **{option.name: str(option.flag) for option in options if option.name in given},
    }
    values = _validated(model, origins)
    for option in options:
        if option.name in origins:
            settings = _with(settings, option.path, getattr(values, option.name))
    return Configuration(settings, tuple(options), MappingProxyType(origins))


def _model(
    options: Iterable[Option], given: Mapping[str, object], written: Mapping[str, Entry]
) -> tuple[type[BaseSettings], Mapping[str, object]]:
    """Model with a field an option, whose sources these are; and what the environment has of them."""
    from pydantic import BeforeValidator, create_model
    from pydantic_settings import BaseSettings, EnvSettingsSource, InitSettingsSource, SettingsConfigDict

    texts = {name: entry.value for name, entry in written.items()}

    class Sources(BaseSettings):
        model_config = SettingsConfigDict(
            env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", validate_default=False
        )

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: Any, **others: Any
        ) -> tuple[Any, ...]:
            environment = EnvSettingsSource(settings_cls)
            return InitSettingsSource(settings_cls, dict(given)), environment, InitSettingsSource(settings_cls, texts)

    fields: dict[str, Any] = {
        option.name: (Annotated[Any, BeforeValidator(option.value)], option.default) for option in options
    }
    model = create_model("Options", __base__=Sources, **fields)
    return model, EnvSettingsSource(model)()


def _validated(model: type[BaseSettings], origins: Mapping[str, str]) -> BaseSettings:
    from pydantic import ValidationError

    try:
        return model()
    except ValidationError as error:
        raise ValueError("; ".join(_told(error, origins))) from None


def _told(error: ValidationError, origins: Mapping[str, str]) -> Iterable[str]:
    """Mistakes, each behind the flag, the variable, or the line and the key that it stands in."""
    for found in error.errors():
        name = str(found["loc"][0])
        place = origins[name]
        key = f" {name}:" if ":" in place else ""
        message = str(found.get("ctx", {}).get("error", found["msg"]))
        hint = _KUBERNETES if "KUBERNETES_SERVICE_HOST" in os.environ and place.startswith(PREFIX) else ""
        yield f"{place}:{key} {message}{hint}"


_KUBERNETES = (
    " (Kubernetes sets such variables for a Service of that name: `enableServiceLinks: false` keeps them away)"
)


def _unknown_keys(written: Mapping[str, Entry], options: Sequence[Option], file: Path | None) -> Iterable[str]:
    known = [option.name for option in options]
    for name, entry in written.items():
        if name not in known:
            yield f"{file}:{entry.line}: there is no option {name}{perhaps(name, known)}"


def _unknown_variables(options: Sequence[Option]) -> Iterable[str]:
    known = [*(option.variable for option in options), FILE]
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in (*known, *AROUND) and not name.startswith(OTHERS):
            hint = _KUBERNETES if "KUBERNETES_SERVICE_HOST" in os.environ else ""
            yield f"there is no variable {name}{perhaps(name, known)}{hint}"


def _with(settings: T, path: Sequence[str], value: object) -> T:
    """Frozen settings with another value at a path of fields."""
    head, *rest = path
    changed: T = replace(settings, **{head: _with(getattr(settings, head), rest, value) if rest else value})  # type: ignore[type-var]
    return changed
