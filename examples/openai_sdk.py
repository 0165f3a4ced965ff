"""The official OpenAI client against a SWYB server: a whole answer, a stream, and a refusal.

Usage: python examples/openai_sdk.py [ADDRESS]   (default: http://127.0.0.1:8000)
"""

import os
import sys
from typing import Any

from openai import BadRequestError, OpenAI

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "field": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["name", "field", "summary"],
    "additionalProperties": False,
}


def main(address: str) -> None:
    with OpenAI(base_url=f"{address}/v1", api_key=os.environ.get("SWYB_API_KEY", "unused")) as client:
        ask(client)


def ask(client: OpenAI) -> None:
    request: dict[str, Any] = {
        "model": client.models.list().data[0].id,
        "messages": [{"role": "user", "content": "Describe Marie Curie in JSON: name, field, summary."}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}},
    }

    answer = client.chat.completions.create(
        **request, max_tokens=48, extra_body={"swyb": {"beam_width": 2, "whitespace": "compact"}}
    )
    certificate = (answer.model_extra or {})["swyb"]
    print("answer:     ", answer.choices[0].message.content)
    print("certificate:", certificate)

    print("stream:      ", end="")
    for chunk in client.chat.completions.create(**request, max_tokens=48, temperature=0, stream=True):
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()

    try:
        client.chat.completions.create(**request, max_tokens=certificate["min_tokens"] - 1)
    except BadRequestError as error:
        print("refusal:    ", error.body)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
