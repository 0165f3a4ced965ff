"""Models of the answer to `GET /v1/models`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class Model(BaseModel):
    """`context_window`: tokens of prompt and answer together."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "swyb"
    context_window: int


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]
