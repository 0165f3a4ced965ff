"""`GET /v1/models`: the one model that is served."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.api.access import service_of
from server.api.description import problems
from server.protocol.errors import ErrorCode
from server.protocol.models import Model, ModelList
from server.service import Service

router = APIRouter()


@router.get("/v1/models", responses=problems(ErrorCode.INVALID_API_KEY))
def list_models(request: Request) -> ModelList:
    """All models, of which there is one."""
    return ModelList(data=[_model(service_of(request))])


@router.get("/v1/models/{model:path}", responses=problems(ErrorCode.INVALID_API_KEY, ErrorCode.MODEL_NOT_FOUND))
def get_model(model: str, request: Request) -> Model:
    """One model; its name may hold slashes."""
    service = service_of(request)
    service.check_model(model)
    return _model(service)


def _model(service: Service) -> Model:
    model = service.model
    return Model(id=model.name, created=service.created, context_window=model.context_window)
