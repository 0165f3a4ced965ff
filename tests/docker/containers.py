"""Surroundings of the proxy in a test: replicas at addresses of their own, and the name server that knows them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = b"\x06server\x00"
"""Name of the service, as it is written in a question."""


class Replica(ThreadingHTTPServer):
    """Answers `/ready`, and everything else by a stream of two pieces, the second one when it is told to go on."""

    daemon_threads = True

    def __init__(self, address: str, port: int) -> None:
        super().__init__((address, port), _Handler)
        self.ready = True
        self.asked = 0
        self.go_on = threading.Event()
        self.left = threading.Event()
        """Set when a client has gone away before its second piece."""

    @contextmanager
    def running(self) -> Iterator[Replica]:
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.go_on.set()
            self.shutdown()
            thread.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Replica

    def do_GET(self) -> None:
        if self.path == "/ready":
            self.send_response(200 if self.server.ready else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.server.asked += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        while not self.server.go_on.wait(0.02):
            if self._gone():
                self.server.left.set()
                return
        self.wfile.write(b"data: second\n\n")

    def log_message(self, format: str, *values: object) -> None:
        """Says nothing."""

    def _gone(self) -> bool:
        self.connection.setblocking(False)
        with suppress(BlockingIOError):
            return bool(self.connection.recv(1, socket.MSG_PEEK) == b"")
        return False


class NameServer:
    """Knows one name, and the addresses that it has now."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    @contextmanager
    def running(self) -> Iterator[NameServer]:
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield self
        finally:
            self._socket.sendto(b"", ("127.0.0.1", self.port))
            thread.join()
            self._socket.close()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(4096)
            if not question:
                return
            self._socket.sendto(self._answer(question), client)

    def _answer(self, question: bytes) -> bytes:
        name_end = question.index(b"\0", 12) + 1
        known = question[12:name_end] == NAME and question[name_end : name_end + 2] == b"\0\1"
        addresses = self.addresses if known else []
        status = b"\x81\x80" if addresses else b"\x81\x83"  # no such name
        counts = b"\0\1" + len(addresses).to_bytes(2, "big") + b"\0\0\0\0"
        records = [b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(address) for address in addresses]
        return question[:2] + status + counts + question[12 : name_end + 4] + b"".join(records)
