"""Caller of the service: whose request it is, and what is recorded of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from server.access.account import Account
from server.access.keys import ANYBODY, Key
from server.telemetry.record import Record


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """Caller of one request. `among`: whether there are other keys, to which it leaves room."""

    account: Account = field(default_factory=lambda: Account(ANYBODY))
    record: Record = field(default_factory=Record)
    among: bool = False

    @property
    def key(self) -> Key:
        return self.account.key


class Accounts:
    """Accounts of all keys that have been used, by name."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    def of(self, key: Key) -> Account:
        """Account of a key, with the limits that it has now."""
        account = self._accounts.setdefault(key.name, Account(key))
        if account.key is not key:
            account.follow(key)
        return account
