"""Answers of `/v1/grammars` and `/v1/certify`: grammars that are kept, names for them, and what constraints need."""

from __future__ import annotations

import asyncio
import logging

from grammar_cache import GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION
from grammar_cache.grammars.shipped import names
from grammar_cache.store.contract import Info, StoreError
from server.access.permissions import check_names
from server.grammars.compiled import Certified
from server.presenters.certificate import unknown_fields
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.protocol.grammars import (
    Certification,
    CertifyRequest,
    GrammarList,
    GrammarRequest,
    Listed,
    Named,
    Precompute,
    Registered,
    Stored,
    StoreState,
    TableInfo,
)
from server.request_constraint import Asked
from server.service import Service

_log = logging.getLogger(__name__)


async def registered(service: Service, request: GrammarRequest) -> Registered:
    """Compiles and certifies it before it gets its name. Raises ApiError."""
    asked = await service.asked(request)
    if asked is None:
        raise ApiError(ErrorCode.MISSING_PARAMETER, "a grammar has one constraint, and this has none", param="grammar")
    certified = await service.certify(asked)
    if request.precompute is not None:
        certified = await _precomputed(service, asked, request.precompute)
    async with service.named.changing:
        if service.caller.key.limits.named_grammars is not None:
            check_names(service.caller.key, len({*await service.named.registered()} - {request.name}))
        shared = await service.named.register(request.name, asked.constraint)
    return Registered(
        name=request.name,
        grammar_id=certified.grammar_id,
        min_tokens=certified.minimum.tokens,
        exact=certified.minimum.exact,
        example=certified.witness_text,
        size=certified.grammar.size,
        compile_ms=certified.compile_ms,
        cache=certified.source,
        ignored=[*unknown_fields(request.unknown_fields), *certified.ignored],
        table=_table_info(certified),
        shared=shared,
    )


async def _precomputed(service: Service, asked: Asked, wanted: Precompute) -> Certified:
    """Certified grammar with a table of distances, which all who share the store use from now on. Raises ApiError."""
    if service.database is None:
        message = "a table is computed for all who share a store, and this server has none"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="precompute")
    try:
        return await service.grammars.precompute(asked.constraint, wanted.height, wanted.configurations)
    except GrammarError as error:
        raise of_grammar(error, asked.field) from error


async def asked_in(service: Service, request: CertifyRequest) -> Asked:
    """The constraint of a request that is about one. Raises ApiError."""
    service.check_model(request.model)
    asked = await service.asked(request, service.calling(request))
    if asked is None:
        message = "there is no constraint: send response_format, grammar, json_schema, or tools that may be called"
        raise ApiError(ErrorCode.MISSING_PARAMETER, message, param="response_format")
    return asked


async def certified(service: Service, request: CertifyRequest) -> Certification:
    """Compiles the constraint, and tells what it needs. Raises ApiError."""
    asked = await asked_in(service, request)
    found = await service.certify(asked)
    known = await service.tenants.reports.of(asked.constraint, found.grammar)
    return Certification(
        model=service.model.name,
        kind=asked.constraint.kind,
        field=asked.field,
        grammar_id=found.grammar_id,
        min_tokens=found.minimum.tokens,
        exact=found.minimum.exact,
        example=found.witness_text,
        finite=known.finite,
        largest_tokens=known.largest_tokens,
        largest_exact=known.largest_exact,
        ambiguous=known.ambiguous,
        ambiguous_example=known.ambiguous_example,
        unreachable_rules=list(known.unreachable_rules),
        ignored=[*unknown_fields(request.unknown_fields), *found.ignored],
        size=found.grammar.size,
        distance_version=ALGORITHM_VERSION,
        compile_ms=found.compile_ms,
        cache=found.source,
        table=_table_info(found),
    )


def _table_info(certified: Certified) -> TableInfo | None:
    table = certified.table
    return TableInfo(name=table.name, height=table.height, entries=len(table)) if table is not None else None


async def warm_up(service: Service) -> None:
    """Compiles what settings list, and gives names to what has one there. Raises ApiError for what can't be."""
    await asyncio.gather(*(_warm(service, wanted) for wanted in service.settings.warm))


async def _warm(service: Service, wanted: GrammarRequest | str) -> None:
    if isinstance(wanted, GrammarRequest):
        await registered(service, wanted)
        return
    try:
        constraint = await service.named.find(wanted, "warm")
    except ApiError as error:
        if error.code is not ErrorCode.STORE_UNAVAILABLE:
            raise
        _log.warning("%s: it isn't warm", error.message)
        return
    await service.certify(Asked(constraint, "warm"))


async def listed(service: Service) -> GrammarList:
    """While the store doesn't answer, what is known without it."""
    kept = service.grammars.certified
    infos = await _infos(service, [certified.grammar_id for certified in kept])
    data = [
        Listed(
            grammar_id=certified.grammar_id,
            min_tokens=certified.minimum.tokens,
            exact=certified.minimum.exact,
            size=certified.grammar.size,
            compile_ms=certified.compile_ms,
            source="shared" if certified.source == "shared" else "miss",
            table=_table_info(certified),
            store=_stored(infos.get(certified.grammar_id)),
        )
        for certified in kept
    ]
    named = [Named(name=name, shipped=True) for name in names()]
    named += [Named(name=name, shipped=False) for name in await service.named.registered()]
    return GrammarList(data=data, named=named, compiled=service.grammars.compiled, store=_state(service))


async def _infos(service: Service, grammar_ids: list[str]) -> dict[str, Info]:
    catalogue = service.tenant.catalogue
    if catalogue is None:
        return {}
    places = {catalogue.place(grammar_id): grammar_id for grammar_id in grammar_ids}
    try:
        found = await asyncio.to_thread(catalogue.infos, list(places))
    except StoreError:
        return {}
    return {places[info.name]: info for info in found}


def _stored(info: Info | None) -> Stored | None:
    if info is None:
        return None
    return Stored(
        artefact_bytes=info.artefact_bytes,
        entries=info.entries,
        origin=info.origin,
        created=info.created,
        used=info.used,
        uses=info.uses,
    )


def _state(service: Service) -> StoreState | None:
    database = service.database
    if database is None:
        return None
    return StoreState(
        reading="on" if database.reading else "off",
        writing="on" if database.writing else "off",
        counters={str(event): times for event, times in database.counters.snapshot.items()},
    )
