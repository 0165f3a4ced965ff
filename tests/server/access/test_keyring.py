"""Keys of a file: how they are read, found and read anew, and that no value is ever told."""

from __future__ import annotations

import json
import logging
import os
from hashlib import sha256
from pathlib import Path

import pytest

from server.access import keyring
from server.access.key_file import read_keys
from server.access.keyring import LOOK_SECONDS, Keyring
from server.access.keys import ANYBODY, Key
from tests.server.access.test_account import Clock

SECRET = "sk-marker-0123456789abcdef"
OTHER = "sk-another-0123456789abcdef"


def written(path: Path, *entries: dict[str, object]) -> Path:
    """A file of keys that has another stamp than before."""
    path.write_text(json.dumps({"keys": list(entries)}))
    before = path.stat().st_mtime_ns
    os.utime(path, ns=(before + 1, before + 1))
    return path


def test_yaml_and_json_and_digests(tmp_path: Path) -> None:
    """A key is found by its value, whether the file has that or its digest."""
    path = tmp_path / "keys.yaml"
    path.write_text(
        f"keys:\n  - name: team-a\n    key: {SECRET}\n    share: 2\n    requests_per_minute: 60\n"
        f"  - name: team-b\n    sha256: {sha256(OTHER.encode()).hexdigest()}\n    tenant: b\n    only_grammars: [sql]\n"
    )
    keys = Keyring(None, path)
    first, second = keys.find(SECRET), keys.find("nothing", OTHER)
    assert first is not None
    assert second is not None
    assert (first.name, first.share, first.limits.requests_per_minute) == ("team-a", 2.0, 60)
    assert (second.name, second.tenant, second.limits.only_grammars) == ("team-b", "b", frozenset({"sql"}))
    assert keys.find("nothing") is None
    assert keys.find() is None
    assert keys.several
    assert not keys.open


def test_the_single_key_stays_beside_a_file(tmp_path: Path) -> None:
    """Either way alone works, and both do together."""
    path = written(tmp_path / "keys.json", {"name": "a", "key": SECRET})
    both = Keyring(OTHER, path)
    assert [key.name for value in (OTHER, SECRET) if (key := both.find(value))] == ["default", "a"]
    assert Keyring(None, None).find() is ANYBODY
    assert Keyring(OTHER, None).find(SECRET) is None


def test_an_empty_value_is_no_key() -> None:
    """A server whose key is empty by some mistake is closed, not open."""
    assert Keyring("", None).find("") is None
    assert not Keyring("", None).open


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    """New keys open and old ones don't, within a second; what can't be read changes nothing, and is told."""
    clock = Clock()
    path = written(tmp_path / "keys.json", {"name": "a", "key": SECRET})
    keys = Keyring(None, path, clock)
    written(path, {"name": "b", "key": OTHER})
    clock.now += LOOK_SECONDS
    assert keys.find(SECRET) is None
    found = keys.find(OTHER)
    assert found is not None
    assert found.name == "b"
    path.write_text('{"keys": [')
    clock.now += LOOK_SECONDS
    assert keys.find(OTHER) is found
    assert keys.stale
    path.unlink()
    clock.now += LOOK_SECONDS
    assert keys.find(OTHER) is found
    assert keys.stale
    written(path, {"name": "c", "key": SECRET})
    clock.now += LOOK_SECONDS
    assert keys.find(SECRET) is not None
    assert not keys.stale


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("keys: []", "keys"),
        ("{}", "keys"),
        ("[", "no YAML"),
        ("\0", "no YAML"),
        (f"keys: [{{name: a, key: {SECRET}, other: {SECRET}}}]", "other"),
        (f"keys: [{{name: {SECRET} x, key: {SECRET}}}]", "name"),
        (f"keys: [{{name: a, sha256: {SECRET}}}]", "sha256"),
        (f"keys: [{{name: a, key: {SECRET}, sha256: {'a' * 64}}}]", "one of key and sha256"),
        ("keys: [{name: a}]", "one of key and sha256"),
        (f"keys: [{{name: a, key: {SECRET}, requests_per_minute: 0}}]", "requests_per_minute"),
        (f"keys: [{{name: a, key: {SECRET}, requests_per_minute: '{SECRET}'}}]", "requests_per_minute"),
        (f"keys: [{{name: a, key: {SECRET}, share: .inf}}]", "share"),
        (f"keys: [{{name: a, key: {SECRET}}}, {{name: a, key: {OTHER}}}]", "two names"),
        (f"keys: [{{name: a, key: {SECRET}}}, {{name: b, key: {SECRET}}}]", "two keys"),
        (f"keys: [{{name: default, key: {SECRET}}}]", "another key"),
        ("keys: [{name: a, key: short}]", "key"),
        (f"keys: [{{name: a, key: &x {SECRET}}}, {{name: b, key: *y}}]", "no YAML"),
        (f"keys: [{{name: a, key: {SECRET}}}]\nkeys: [{{name: b, key: {OTHER}}}]", "line 2 has a name that is there"),
        (f"keys: [{{name: a, key: {SECRET}, concurrency: 1, concurrency: 9}}]", "line 1 has a name that is there"),
        (f"keys: [{{name: 2026-99-99, key: {SECRET}}}]", "no YAML"),
        (f"keys: [{{name: a, key: {SECRET}, tokens_per_minute: {10**400}}}]", "tokens_per_minute"),
        (f'keys: [{{name: a, key: "{SECRET} "}}]', "white space"),
        (f"keys: [{{name: a, key: {SECRET}}}, {{[]: 1}}]", "no YAML"),
        (f"keys: [{{name: a, key: {SECRET}}}, &x {{*x : 1}}]", "no YAML"),
        (f"keys: !!python/object/apply:os.system ['echo {SECRET}']", "no YAML"),
    ],
)
def test_a_fault_is_named_and_no_value_is_quoted(tmp_path: Path, text: str, fault: str) -> None:
    """Errors may be logged."""
    path = tmp_path / "keys.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"keys\.yaml: ") as caught:
        read_keys(path)
    told = str(caught.value)
    assert fault in told
    assert SECRET not in told


def test_no_representation_and_no_log_has_a_value(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Names are told, values and digests aren't."""
    clock = Clock()
    path = written(tmp_path / "keys.json", {"name": "a", "key": SECRET})
    keys = Keyring(OTHER, path, clock)
    with caplog.at_level(logging.DEBUG):
        written(path, {"name": "b", "key": SECRET}, {"name": "c", "key": SECRET})
        clock.now += LOOK_SECONDS
        keys.find(SECRET)
        written(path, {"name": "b", "key": SECRET})
        clock.now += LOOK_SECONDS
        keys.find(SECRET)
    assert "read anew: default, b" in caplog.text
    told = caplog.text + repr(keys.find(SECRET))
    assert SECRET not in told
    assert sha256(SECRET.encode()).hexdigest() not in told
    assert repr(sha256(SECRET.encode()).digest()) not in told


def test_a_file_that_could_not_be_read_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Keys count once they can be read, though the file has no other stamp. A failure that lasts is told once."""
    clock = Clock()
    path = written(tmp_path / "keys.json", {"name": "a", "key": SECRET})
    keys = Keyring(None, path, clock)
    written(path, {"name": "b", "key": OTHER})

    def failing(_: Path) -> tuple[Key, ...]:
        raise PermissionError("not now")

    with monkeypatch.context() as without_rights:
        without_rights.setattr(keyring, "read_keys", failing)
        for _ in range(3):
            clock.now += LOOK_SECONDS
            assert keys.find(SECRET) is not None
            assert keys.stale
    assert caplog.messages == ["the keys stay as they were: not now"]
    clock.now += LOOK_SECONDS
    assert keys.find(SECRET) is None
    assert keys.find(OTHER) is not None
    assert not keys.stale
