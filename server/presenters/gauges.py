"""State of a service at this moment, for its gauges."""

from __future__ import annotations

from collections.abc import Mapping

from grammar_cache.store.database import Database
from server.service import Service
from server.telemetry.state import ServerState, StoreState


def state_of(service: Service, *, keys_stale: bool) -> ServerState:
    """State of a service, of all tenants; the store is the server's own tenant's."""
    own = service.tenants.own
    return ServerState(
        running=service.turns.running,
        waiting=service.turns.waiting,
        admitted=service.present,
        places=service.admission.all,
        grammars=own.grammars.kept,
        grammar_bytes=own.grammars.held_bytes,
        load=service.backend.load,
        store=None if own.database is None else _store(own.database),
        keys_stale=keys_stale,
    )


def _store(database: Database) -> StoreState:
    events: Mapping[str, int] = {str(event): times for event, times in database.counters.snapshot.items()}
    breakers = {"read": not database.reading, "write": not database.writing}
    return StoreState(events, database.latency, breakers)
