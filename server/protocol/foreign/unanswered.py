"""Fields of chats where no answer is written: for a certificate of a constraint, and for the tokens of a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from server.protocol.chat import ChatRequest
from server.protocol.foreign.field import NEVER, Foreign
from server.protocol.foreign.names import OTHER_NAMES
from server.protocol.foreign_fields import REQUEST
from server.protocol.grammars import CertifyRequest, ExplainRequest
from server.protocol.strict import StrictModel
from server.protocol.tokens import TokenizeRequest

_UNANSWERED = Foreign(NEVER, "no answer is written here: leave it out")


def _of(model: type[StrictModel]) -> Mapping[str, Foreign]:
    others = [name for name in OTHER_NAMES if name not in REQUEST]
    known = {**REQUEST, **dict.fromkeys([*ChatRequest.member_names(), *others], _UNANSWERED)}
    return {name: foreign for name, foreign in known.items() if name not in model.member_names()}


CERTIFY = _of(CertifyRequest)
EXPLAIN = _of(ExplainRequest)
TOKENIZE = _of(TokenizeRequest)
