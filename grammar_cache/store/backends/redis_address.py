"""Addresses of Redis servers, clusters and sentinels, and the clients that they lead to.

    redis://[user[:password]@]host[:port][/number]
    redis+cluster://[user[:password]@]host[:port][,host[:port]…]
    redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/service[/number]

`rediss` in place of `redis` encrypts (TLS); then `?ssl_ca_certs=`, `ssl_certfile=` and `ssl_keyfile=` may name files. A
sentinel's own user is told by `?sentinel_username=` and `sentinel_password=`. All parts are percent-encoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from redis import ConnectionError as RedisConnectionError
from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel

Client: TypeAlias = Redis | RedisCluster

_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_SENTINEL = ("sentinel_username", "sentinel_password")
_PORTS = {"": 6379, "cluster": 6379, "sentinel": 26379}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """`kind`: "", "cluster" or "sentinel". `options`: the rest of what clients are told, without passwords."""

    kind: str
    hosts: tuple[tuple[str, int], ...]
    number: int
    service: str
    tls: dict[str, Any]
    user: dict[str, str] = field(repr=False)
    sentinel_user: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, address: str) -> RedisAddress:
        """Raises ValueError, which never quotes the address: it may hold a password."""
        scheme, _, kind = urlsplit(address).scheme.partition("+")
        if scheme not in ("redis", "rediss") or kind not in _PORTS:
            raise ValueError("the address of a store begins with sqlite:, redis:, redis+cluster: or redis+sentinel:")
        parts = urlsplit(address)
        user, _, hosts = parts.netloc.rpartition("@")
        name, _, password = map(unquote, user.partition(":"))
        service, number = _path(kind, unquote(parts.path).strip("/"))
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if not options.keys() <= {*(_TLS if scheme == "rediss" else ()), *(_SENTINEL if kind == "sentinel" else ())}:
            raise ValueError("the address of a store has an option that is not known here")
        if not kind and "," in hosts:
            raise ValueError("the address of a store has several hosts, and is that of one server")
        return cls(
            kind,
            tuple(_host(host, _PORTS[kind]) for host in hosts.split(",")),
            number,
            service,
            {"ssl": True, **{name: options[name] for name in _TLS if name in options}} if scheme == "rediss" else {},
            {key: value for key, value in (("username", name), ("password", password)) if value},
            {name.removeprefix("sentinel_"): options[name] for name in _SENTINEL if name in options},
        )

    def connect(self, seconds: float) -> Client:
        """A client whose every answer may take so long; one of a cluster asks its hosts at once.

        Raises RedisError, RedisClusterException.
        """
        # A connection that broke while it was idle is tried once more; nothing else is, since callers don't wait.
        again = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
        patience = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}
        common = {**patience, **self.tls, "retry": again, "retry_on_error": [RedisConnectionError]}
        if self.kind == "cluster":
            nodes = [ClusterNode(*host) for host in self.hosts]
            return RedisCluster(startup_nodes=nodes, **common, **self.user)
        if self.kind == "sentinel":
            watchers = Sentinel(list(self.hosts), sentinel_kwargs={**common, **self.sentinel_user}, **common)
            return watchers.master_for(self.service, db=self.number, **self.user)
        [(host, port)] = self.hosts
        return Redis(host=host, port=port, db=self.number, **common, **self.user)


def _host(text: str, port: int) -> tuple[str, int]:
    """`host`, `host:port`, `[address]:port`."""
    try:
        parts = urlsplit(f"//{text}")
        return parts.hostname or "localhost", parts.port or port
    except ValueError:
        raise ValueError("the address of a store has a host or port that is none") from None


def _path(kind: str, path: str) -> tuple[str, int]:
    """The service and the number of the database."""
    service, _, number = path.partition("/") if kind == "sentinel" else ("", "", path)
    if (kind == "sentinel") != bool(service) or (number and not number.isdecimal()) or (kind == "cluster" and number):
        raise ValueError("the address of a store has a path that is none: see the documentation of addresses")
    return service, int(number or 0)
