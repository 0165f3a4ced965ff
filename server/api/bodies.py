"""Bodies of requests: JSON that says so, within bounds of bytes and time; long ones are read off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_body
from server.settings import Settings

LOOP_BYTES = 32 << 10
"""Longer bodies are read by a thread: what this many hold takes the event loop a few milliseconds at worst."""

_LONGEST_TOLD = 100

T = TypeVar("T")


class Bodies:
    """Bodies of one application's requests: how many bodies are on their way, and who reads a long one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._under_way = 0
        # One after the other: threads that hold Python's lock in turn would leave the event loop little of it.
        self._reading = asyncio.Lock()

    async def read(self, request: Request, parse: Callable[[object], T]) -> T:
        """Reads a body, and returns what `parse` makes of its value. Raises ApiError, also as soon as the body is known
        to be too long.
        """
        _check_type(request)
        body = await self._whole(request)
        if len(body) <= LOOP_BYTES:
            return self._parsed(body, parse)
        async with self._reading:
            return await asyncio.to_thread(self._parsed, body, parse)

    def _parsed(self, body: bytes, parse: Callable[[object], T]) -> T:
        return parse(parse_body(body, self._settings.body_nesting, self._settings.body_values))

    async def _whole(self, request: Request) -> bytes:
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._settings.body_bytes:
            raise self._too_large()
        seconds = self._settings.intake.body_seconds
        try:
            async with asyncio.timeout(seconds):
                body, more = await _chunk(request)
                if more:
                    body = await self._rest(request, body)
        except TimeoutError as error:
            message = f"the body did not come within {seconds} seconds"
            raise ApiError(ErrorCode.REQUEST_TIMEOUT, message, details={"limit": "body_seconds"}) from error
        if len(body) > self._settings.body_bytes:
            raise self._too_large()
        return body

    async def _rest(self, request: Request, begun: bytes) -> bytes:
        body, more = bytearray(begun), True
        with self._place():
            while more and len(body) <= self._settings.body_bytes:
                chunk, more = await _chunk(request)
                body += chunk
        return bytes(body)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._under_way >= self._settings.intake.bodies:
            message = "too many requests have sent only a part of their bodies"
            raise ApiError(ErrorCode.OVERLOADED, message, details={"limit": "bodies"})
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _too_large(self) -> ApiError:
        message = f"a request body has at most {self._settings.body_bytes} bytes"
        return ApiError(ErrorCode.REQUEST_TOO_LARGE, message, details={"limit": "body_bytes"})


async def read_body(request: Request, parse: Callable[[object], T]) -> T:
    """See `Bodies.read`."""
    bodies: Bodies = request.app.state.bodies
    return await bodies.read(request, parse)


async def _chunk(request: Request) -> tuple[bytes, bool]:
    """A piece of the body, and whether there is more."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def _check_type(request: Request) -> None:
    # A page of anybody's may make a browser send forms and plain text here, but no JSON that says that it is JSON.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return
    sent = f"not {kind[:_LONGEST_TOLD]}" if kind else "which is missing"
    message = f"the body has to be JSON and to say so: send the header Content-Type: application/json, {sent}"
    raise ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE, message)
