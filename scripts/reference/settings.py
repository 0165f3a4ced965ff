"""The page on settings, made of the options that a server has."""

from __future__ import annotations

from scripts.reference.markdown import linked, table
from server.options.option import Option, options_of
from server.settings import Settings

_HEAD = """# Settings

Made from the code by `python -m scripts.reference`. `swyb serve` has each of these as a flag, as an environment
variable and as a key of the file that `--config FILE` (or `SWYB_CONFIG`) names. A flag goes before a variable, a
variable before the file, the file before the default. Variables that are empty, and keys without a value, are absent.

```yaml
# swyb.yaml, for `swyb serve --config swyb.yaml`
host: 0.0.0.0
max_tokens: 512
warm: [sql, json]
```

A list is a YAML list in the file and a text with commas in a variable (`SWYB_ENGINE_OPTIONS`: words, as a shell splits
them). Paths are relative to where the server is started.

`swyb serve --print-config` prints what holds and where each value comes from, as such a file, and ends: it checks a
configuration without starting a server. Files of keys, the store's address and secret, a model's folder, grammars to
warm and missing packages are checked too; no server or hub is asked, and nothing is made. Secrets, and passwords in
addresses, are never printed; their lines are comments.

A value that an option can't have is an error that names the flag, the variable or the line, and the values that are
allowed. So are an empty flag (`--host ''`), `--metrics key` without a key, a key that no option has, and a variable
that begins with `SWYB_`, with the nearest name. Kubernetes gives containers variables such as `SWYB_PORT` when a
Service is called `swyb`: `enableServiceLinks: false` in the pod keeps them away.

`swyb generate`, `swyb grammars` and `swyb precompute` have the options of the store by flag and by variable.
"""


def page() -> str:
    """All options, in the order of the settings' fields."""
    head = ("Flag", "Variable", "Key", "Default", "Meaning")
    return f"{_HEAD}\n{table(head, [_row(option) for option in options_of(Settings)])}\n"


def _row(option: Option) -> tuple[str, ...]:
    default = option.default_text
    shown = default if option.told is not None or default == "none" else f"`{default}`"
    flag = f"`{option.flag}`" if option.flag else "not on a command line, where others read it"
    if isinstance(option.default, bool):
        flag = f"`{option.flag}`, `--no-{str(option.flag)[2:]}`"
    meaning = linked(option.help)
    values = f" (one of {', '.join(f'`{name}`' for name in option.choices)})" if option.choices else ""
    return flag, f"`{option.variable}`", f"`{option.name}`", shown, f"{meaning}{values}"
