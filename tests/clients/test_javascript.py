"""Clients in JavaScript: OpenAI's, and the AI SDK."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.clients.conftest import KEY, MODEL, City

FOLDER = Path(__file__).parent / "js"


def test_clients_in_javascript(base: str) -> None:
    """Structure by zod in both, tools, plain text, and streams."""
    done = subprocess.run(
        ["node", "clients.mjs", base, KEY, MODEL], cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for way in ("parse", "chat", "responses", "object", "tools", "toolsOfResponses"):
        City.model_validate(found[way])
    for way in ("stream", "text", "streamed"):
        assert isinstance(found[way], str), way
