#!/usr/bin/env bash
# Installs the constraint engines that an evaluation compares with, each into its own environment, FOLDER/NAME, because
# what they require of other packages clashes. What is already there is left alone; what fails is told and left out.
# Usage: scripts/install_peers.sh [FOLDER [NAME...]]   (default: ${SWYB_CACHE:-~/.cache/swyb}/peers, and all but xgrammar
# and llguidance, which `make bench` puts beside the server). PYTHON names the interpreter, 3.11 or later.
set -uo pipefail

folder=${1:-${SWYB_CACHE:-$HOME/.cache/swyb}/peers}
shift || true
python=${PYTHON:-python3}

# torch is pinned and asked for with the rest, so that nothing brings another one.
torch=torch==2.13.0

# With their requirements: `needs`. Without: `alone`, whose own requirements ask for things that aren't used here.
plan() {
  alone=()
  case $1 in
    xgrammar) needs=("$torch" numpy pydantic "transformers>=5,<6" apache-tvm-ffi==0.1.15.post2) alone=(xgrammar==0.2.8) ;;
    llguidance) needs=(numpy llguidance==1.7.6) ;;
    outlines-core) needs=(numpy outlines_core==0.2.14) ;;
    lm-format-enforcer) needs=(numpy lm-format-enforcer==0.11.3) ;;
    syncode) needs=("$torch" numpy setuptools syncode==0.4.16) ;;
    genlm-control)
      needs=("$torch" "numpy<2.5" "transformers>=5,<6" numba accelerate "arsenal>=3.1.3" ipython json-stream jsonschema
        regex interegular lark nltk frozendict graphviz pandas)
      # Beyond these they ask for what runs models on a device.
      alone=(genlm-control==0.4.1 genlm-grammar==0.2.0 genlm-backend==0.3.1 genlm-bytes==0.2.0)
      ;;
    *) return 1 ;;
  esac
}

module() {
  case $1 in
    outlines-core) echo outlines_core ;;
    lm-format-enforcer) echo lmformatenforcer ;;
    syncode) echo syncode.grammar_mask.logits_processor ;;
    genlm-control) echo genlm.control ;;
    *) echo "$1" ;;
  esac
}

install() {
  local name=$1 own=$folder/$1 pip
  plan "$name" || { echo "there is no peer $name" >&2; return 1; }
  if [[ -f $own/installed ]]; then
    echo "$name: already there"
    return
  fi
  echo "$name: installing into $own"
  rm -rf "${own:?}"
  pip=("$own/bin/python" -m pip --disable-pip-version-check --quiet)
  mkdir -p "$folder" &&
    "$python" -m venv "$own" &&
    "${pip[@]}" install "${needs[@]}" &&
    { ((!${#alone[@]})) || "${pip[@]}" install --no-deps "${alone[@]}"; } &&
    (cd "$own" && bin/python -I -c "import $(module "$name")") &&
    touch "$own/installed"
}

names=("$@")
((${#names[@]})) || names=(outlines-core lm-format-enforcer syncode genlm-control)
missing=()
for name in "${names[@]}"; do
  install "$name" || missing+=("$name")
done
if ((${#missing[@]})); then
  echo "going on without: ${missing[*]}" >&2
fi
