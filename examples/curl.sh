#!/usr/bin/env bash
# Three requests: an answer that fits, a budget that can't hold any answer, a grammar with beams.
# Usage: examples/curl.sh   (SWYB_URL: the server's address, SWYB_API_KEY: its key if it asks for one)
set -euo pipefail

url=${SWYB_URL:-http://127.0.0.1:8000}

ask() {
  curl -sS "$url/v1/chat/completions" \
    -H "Content-Type: application/json" -H "Authorization: Bearer ${SWYB_API_KEY:-unused}" -d "$1"
  echo
}

ask '{
  "messages": [{"role": "user", "content": "Describe Marie Curie in JSON: name, field, summary."}],
  "max_tokens": 24,
  "temperature": 0,
  "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": {
    "type": "object",
    "properties": {"name": {"type": "string"}, "field": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["name", "field", "summary"],
    "additionalProperties": false
  }}}
}'

ask '{
  "messages": [{"role": "user", "content": "Describe Marie Curie in JSON: name, field, summary."}],
  "max_tokens": 8,
  "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": {
    "type": "object",
    "properties": {"name": {"type": "string"}, "field": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["name", "field", "summary"],
    "additionalProperties": false
  }}}
}'

ask '{
  "messages": [{"role": "user", "content": "Write an SQL query: the names of all users older than 30."}],
  "max_tokens": 16,
  "grammar": "root ::= \"SELECT \" column (\", \" column)* \" FROM users\" (\" WHERE \" test)?\ntest ::= column \" \" [<>=] \" \" number | \"(\" test (\" AND \" | \" OR \") test \")\"\ncolumn ::= \"name\" | \"age\" | \"height\"\nnumber ::= [0-9]{1,2}",
  "swyb": {"beam_width": 4}
}'
