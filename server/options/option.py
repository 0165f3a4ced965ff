"""Option: one setting as people write it, declared where the setting's field is.

A frozen dataclass holds the settings. A field that people may set says so in place of its default:

    port: int = option(8000, port, "0: any free one")

Its name gives the flag `--port`, the variable `SWYB_PORT` and the key `port` of a file. A field that is such a
dataclass itself brings the options of its own fields.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from server.options.readers import HIDDEN, NotAllowed, one_of, without_password

T = TypeVar("T")
Shape: TypeAlias = Literal["one", "words", "repeated", "passed on"]
Secrecy: TypeAlias = Literal["open", "password within", "secret"]

PREFIX = "SWYB_"
"""Beginning of the variables of all options."""
PASSED_ON = "--"
"""Mark behind which a command's options are for the engine."""
_METADATA = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """One option, and the path of the field that has its value."""

    read: Callable[[str], object]
    """Reader of a text, or of each text of a list. Raises `NotAllowed`. Texts that it returns it reads alike."""

    help: str
    name: str = ""
    """Key in a file; the field's name unless declared otherwise."""

    metavar: str | None = None
    choices: tuple[str, ...] = ()
    shape: Shape = "one"
    """Form on the command line: one value, or a list: words behind one flag, flags repeated, what is passed on."""

    secrecy: Secrecy = "open"
    on_command_line: bool = True
    """Whether there is a flag: other users of a machine read what stands there."""

    told: str | None = None
    """Default in words, where the field's is worked out later."""

    show: Callable[[Any], object] = lambda value: value
    """Value as people write it."""

    default: object = None
    path: tuple[str, ...] = ()

    @property
    def flag(self) -> str | None:
        """Flag on the command line; None where there is none."""
        if self.shape == "passed on":
            return PASSED_ON
        return f"--{self.name.replace('_', '-')}" if self.on_command_line else None

    @property
    def variable(self) -> str:
        """Environment variable."""
        return PREFIX + self.name.upper()

    @property
    def default_text(self) -> str:
        """Default as texts of help tell it."""
        if self.told is not None:
            return self.told
        match self.show(self.default):
            case None | () | "":
                return "none"
            case bool(on):
                return str(on).lower()
            case float(number):
                return f"{number:g}"
            case other:
                return str(other)

    def value(self, found: object) -> object:
        """Value of what a source says: a text, or a list of them. What is no text has been read. Raises NotAllowed."""
        if self.shape != "one":
            texts = found if isinstance(found, list | tuple) else self._split(str(found))
            return tuple(self.read(str(each)) for each in texts)
        if isinstance(found, list):
            raise NotAllowed(f"{self.name} has one value, and a list is none")
        return self.read(found) if isinstance(found, str) else found

    def _split(self, found: str) -> list[str]:
        """Texts of a list in one variable: words as a shell reads them, or else what stands between commas."""
        return shlex.split(found) if self.shape == "passed on" else [each.strip() for each in found.split(",")]

    def shown(self, value: object) -> object:
        """Value for anybody to see, as JSON has it."""
        if value is not None and self.secrecy == "secret":
            return HIDDEN
        if isinstance(value, str) and self.secrecy == "password within":
            return without_password(value)
        found = self.show(value)
        return str(found) if isinstance(found, Path) else found


def option(
    default: T,
    read: Callable[[str], object],
    help: str,
    *,
    name: str = "",
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
    shape: Shape = "one",
    secrecy: Secrecy = "open",
    on_command_line: bool = True,
    told: str | None = None,
    show: Callable[[Any], object] = lambda value: value,
) -> T:
    """Field of a settings' dataclass that people may set. One that may hold a secret isn't in the settings' repr."""
    made = Option(read, help, name, metavar, choices, shape, secrecy, on_command_line, told, show, default)
    found: T = field(default=default, repr=secrecy == "open", metadata={_METADATA: made})
    return found


def choice(default: T, names: tuple[str, ...], help: str, *, told: str | None = None) -> T:
    """Field that people may set to one of some names."""
    return option(default, one_of(names), help, choices=names, told=told)


def options_within(made: Callable[[], T], options: Mapping[str, Option]) -> T:
    """Field that is a dataclass of others', whose fields have these options."""
    found: T = field(default_factory=made, metadata={_METADATA: options})
    return found


def options_of(settings: type[Any], path: tuple[str, ...] = ()) -> Iterator[Option]:
    """All options of a dataclass, in the order of its fields."""
    for each in fields(settings):
        declared = each.metadata.get(_METADATA)
        here = (*path, each.name)
        if isinstance(declared, Option):
            yield replace(declared, name=declared.name or each.name, path=here)
        elif isinstance(declared, Mapping):
            defaults = _made(each)
            for name, inner in declared.items():
                yield replace(inner, default=getattr(defaults, name), path=(*here, name))
        elif is_dataclass(_made(each)):
            yield from options_of(type(_made(each)), here)


def _made(declared: Field[Any]) -> Any:
    """Default of a field, or what its factory makes."""
    return declared.default if declared.default_factory is MISSING else declared.default_factory()
