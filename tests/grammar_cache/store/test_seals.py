"""Names, seals and values: what is read is what was written, by somebody with the secret, for this very place."""

from __future__ import annotations

import zlib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Limits
from grammar_cache.distances.claims import Claim, HorizonClaim
from grammar_cache.store import seals as seals_module
from grammar_cache.store.seals import SEAL_BYTES, Rejected, Seals, kept_secret
from grammar_cache.store.values import decoded, encoded, packed, unpacked
from tests.strategies import examples

SECRET = b"nobody knows this one"
OURS = Seals(SECRET)


def test_names_tell_nothing_and_are_the_same_everywhere() -> None:
    """Names are equal for one grammar and limits; others for another secret, tenant, grammar or limit."""
    name = OURS.name("grammar", Limits())
    assert name == Seals(SECRET).name("grammar", Limits())
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")
    others = {
        Seals(SECRET + b"!").name("grammar", Limits()),
        Seals(SECRET, "tenant").name("grammar", Limits()),
        OURS.name("grammar2", Limits()),
        OURS.name("grammar", replace(Limits(), step_fuel=1)),
    }
    assert len(others | {name}) == 5


@pytest.mark.parametrize("field", [field.name for field in fields(Limits)])
def test_names_depend_on_what_changes_results(field: str) -> None:
    """Names depend on each limit but the size of a cache."""
    other = replace(Limits(), **{field: getattr(Limits(), field) // 2})
    same = OURS.name("grammar", other) == OURS.name("grammar", Limits())
    assert same is (field == "table_bytes")


def test_another_version_has_other_names_and_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of another version are neither found nor believed."""
    sealed = OURS.sealed(b"kind", b"place", b"value")
    monkeypatch.setattr(seals_module, "SCHEMA", 2)
    later = Seals(SECRET)
    assert later.name("grammar", Limits()) != OURS.name("grammar", Limits())
    with pytest.raises(Rejected):
        later.unsealed(b"kind", b"place", sealed)


@given(st.binary(max_size=40), st.binary(max_size=20), st.data())
@examples(60)
def test_any_other_bytes_are_rejected(value: bytes, place: bytes, data: st.DataObject) -> None:
    """One bit changed, cut, longer, under another place, as another kind, or sealed by somebody else."""
    sealed = OURS.sealed(b"kind", place, value)
    assert OURS.unsealed(b"kind", place, sealed) == value
    bit = data.draw(st.integers(0, 8 * len(sealed) - 1))
    changed = bytearray(sealed)
    changed[bit // 8] ^= 1 << bit % 8
    cut = sealed[: data.draw(st.integers(0, len(sealed) - 1))]
    for seals, kind, other_place, other in (
        (OURS, b"kind", place, bytes(changed)),
        (OURS, b"kind", place, cut),
        (OURS, b"kind", place, sealed + b"\0"),
        (OURS, b"kind", place + b"\0", sealed),
        (OURS, b"other", place, sealed),
        (Seals(SECRET, "tenant"), b"kind", place, sealed),
        (Seals(SECRET + b"!"), b"kind", place, sealed),
    ):
        with pytest.raises(Rejected):
            seals.unsealed(kind, other_place, other)


def test_bytes_do_not_move_between_place_and_value() -> None:
    """The seal knows where one ends and the other begins."""
    moved = OURS.sealed(b"kind", b"pla", b"cevalue")
    with pytest.raises(Rejected):
        OURS.unsealed(b"kind", b"place", b"value" + moved[-SEAL_BYTES:])


def test_a_secret_is_kept(tmp_path: Path) -> None:
    """Made once, for its owner only; nothing else is left in the folder."""
    path = tmp_path / "folder" / "secret"
    first = kept_secret(path)
    assert kept_secret(path) == first != kept_secret(tmp_path / "other")
    assert [p.name for p in path.parent.iterdir()] == ["secret"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_secret_has_to_be_long_enough() -> None:
    """16 bytes."""
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Seals(b"x" * 15)


numbers = st.integers(0, 2**31 - 1)
witnesses = st.lists(numbers, max_size=8).map(tuple)
claims = st.builds(Claim, numbers, witnesses)
horizons = st.builds(HorizonClaim, numbers, st.lists(witnesses, max_size=4).map(tuple))


@given(claims, claims)
@examples(60)
def test_claims_as_bytes(one: Claim, other: Claim) -> None:
    """Claims come back as they were, and those of lesser distance have lesser bytes."""
    assert decoded(encoded(one)) == one
    assert (one.distance < other.distance) <= (encoded(one) < encoded(other))


@given(horizons)
@examples(60)
def test_horizon_claims_as_bytes(claim: HorizonClaim) -> None:
    """Horizon claims come back as they were, with no ways, empty ones and several."""
    assert decoded(encoded(claim)) == claim


@given(st.binary(max_size=30))
@examples(100)
def test_reading_claims_never_fails_otherwise(data: bytes) -> None:
    """Any bytes are a claim, or are rejected."""
    try:
        claim = decoded(data)
    except Rejected:
        return
    assert encoded(claim) == data


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0\0\0", b"\0\0\0\1\xff\xff\xff\xff", b"\0\0\0\1\x80\0\0\0", b"\0" * 7),
        b"\x80\0\0\1\0\0\0\1",
    ],
)
def test_what_is_no_claim(data: bytes) -> None:
    """Bytes that are no claim: none, half a number, a token that no vocabulary has, a way that is cut."""
    with pytest.raises(Rejected):
        decoded(data)


def test_artefacts_are_compressed_and_come_back() -> None:
    """Artefacts of one grammar are always equal bytes."""
    artefact = b"rules and states " * 1000
    assert unpacked(packed(artefact), 10**6) == artefact
    assert packed(artefact) == packed(artefact)
    assert len(packed(artefact)) < 1000


@pytest.mark.parametrize(
    "data",
    [b"", b"x", packed(b"x" * 100)[:-1], packed(b"x" * 100) + b"x", packed(b"x" * 1001), zlib.compress(b"")[:3]],
)
def test_what_is_no_artefact(data: bytes) -> None:
    """Bytes that are no artefact: none, not compressed, cut, followed by more, longer than is read."""
    with pytest.raises(Rejected):
        unpacked(data, 1000)


def test_a_bomb_is_not_unpacked() -> None:
    """A megabyte that would become a gigabyte takes the room that was allowed."""
    bomb = zlib.compressobj()
    data = b"".join([*(bomb.compress(bytes(1 << 20)) for _ in range(100)), bomb.flush()])
    with pytest.raises(Rejected):
        unpacked(data, 1 << 16)
