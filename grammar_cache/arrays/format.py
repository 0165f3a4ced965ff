"""A header and named arrays as bytes, and back without trusting them.

    8 bytes    what the bytes are
    4          the version of their format, little-endian like all numbers here
    4          the length of the header
    …          the header: a JSON object in UTF-8, keys sorted, and spaces up to a multiple of 8 bytes
    …          the arrays by name, each with zeros up to a multiple of 8 bytes
    32         SHA-256 of all bytes before

Under `arrays` the header has of every array its dtype, its shape, and its offset behind the header. There is one way
to write the same content, so equal contents are equal bytes. The checksum tells damage, not malice: whoever reads
arrays has to look at what is in them. This module doesn't know what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from math import prod
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import ArtefactError

Kinds: TypeAlias = Mapping[str, tuple[str, int]]
"""Dtype, little-endian, and number of dimensions of each array, by name. the dtype, little-endian, and the number of
dimensions.
"""

_HEAD = Struct("<8sII")
_CHECKSUM_BYTES = sha256().digest_size
_ALIGNED = 8


def pack(what: bytes, version: int, header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """`what`: 8 bytes. The header must not have `arrays` yet."""
    listed: dict[str, object] = {}
    parts: list[bytes] = []
    offset = 0
    for name in sorted(arrays):
        stored = np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))
        listed[name] = {"dtype": stored.dtype.str, "shape": list(stored.shape), "offset": offset}
        parts.append(stored.tobytes() + bytes(-stored.nbytes % _ALIGNED))
        offset += len(parts[-1])
    text = json.dumps({**header, "arrays": listed}, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-(_HEAD.size + len(text)) % _ALIGNED)
    body = b"".join([_HEAD.pack(what, version, len(text)), text, *parts])
    return body + sha256(body).digest()


def unpack(data: bytes, what: bytes, version: int, kinds: Kinds) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and its arrays, which are exactly those of these kinds, of any shape, and writable.

    They share one copy of the bytes. Booleans are 0 or 1; no other value has been looked at. Raises ArtefactError.
    """
    past = len(data) - _CHECKSUM_BYTES
    if past < _HEAD.size or data[: len(what)] != what:
        raise ArtefactError("these bytes are something else, or cut")
    _, found, length = _HEAD.unpack_from(data)
    if found != version:
        raise ArtefactError(f"the format has version {found}, and {version} is read")
    if sha256(memoryview(data)[:past]).digest() != data[past:]:
        raise ArtefactError("the checksum is wrong: the bytes are damaged or cut")
    begin = _HEAD.size + length
    if begin > past or begin % _ALIGNED:
        raise ArtefactError("the header's length is wrong")
    header = _header(data[_HEAD.size : begin])
    # Compiled loops are compiled anew for arrays that can't be written to, so these are no views of `data`.
    return header, _arrays(np.frombuffer(data, np.uint8, past - begin, begin).copy(), header.get("arrays"), kinds)


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ArtefactError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise ArtefactError("the header is no object")
    return header


def _arrays(body: NDArray[np.uint8], listed: object, kinds: Kinds) -> dict[str, NDArray[Any]]:
    if not isinstance(listed, dict) or listed.keys() != kinds.keys():
        raise ArtefactError("the arrays are not those that are expected")
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name in sorted(kinds):
        dtype, dimensions = np.dtype(kinds[name][0]), kinds[name][1]
        shape = _shape(listed[name], dimensions)
        if listed[name] != {"dtype": dtype.str, "shape": shape, "offset": offset}:
            raise ArtefactError(f"{name} has another dtype or place than expected")
        past = offset + prod(shape) * dtype.itemsize
        if past > len(body):
            raise ArtefactError(f"{name} is cut")
        if dtype == np.bool_ and (body[offset:past] > 1).any():
            raise ArtefactError(f"{name} has other values than 0 and 1")
        own: NDArray[Any] = np.ndarray(shape, dtype, body, offset)
        arrays[name] = own if dtype.isnative else own.astype(dtype.newbyteorder("="))
        offset = past + -past % _ALIGNED
    if offset != len(body):
        raise ArtefactError("there is something behind the arrays")
    return arrays


def _shape(listed: object, dimensions: int) -> list[int]:
    shape = listed.get("shape") if isinstance(listed, dict) else None
    if not isinstance(shape, list) or len(shape) != dimensions:
        raise ArtefactError("the shape of an array is wrong")
    for n in shape:
        if type(n) is not int or not 0 <= n < 1 << 31:
            raise ArtefactError("the shape of an array is wrong")
    return shape
