"""Requests for masks: there and back unchanged, and nothing else gets through."""

from __future__ import annotations

import json

import pytest

from server.backends.vllm.wire.mask_requests import KEY, MaskRequest, mask_request_of
from tests.server.backends.vllm.fakes import Sampling

REQUEST = MaskRequest("g", shortest=True, ends_from=3)


def test_there_and_back() -> None:
    """Through JSON; requests of others are none of ours."""
    assert mask_request_of(Sampling({KEY: json.loads(json.dumps(REQUEST.to_dict()))})) == REQUEST
    assert mask_request_of(Sampling()) is mask_request_of(Sampling({"other": 1})) is None


@pytest.mark.parametrize(
    "data",
    [[], "g", {}, {"grammar": "g"}, *(REQUEST.to_dict() | {name: 2.0} for name in REQUEST.to_dict()), {"more": 1}],
)
def test_other_values_are_refused(data: object) -> None:
    """Shapes and types that no request has are errors that name the key."""
    with pytest.raises(ValueError, match=KEY):
        mask_request_of(Sampling({KEY: data}))
