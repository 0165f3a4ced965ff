#!/usr/bin/env bash
# All experiments of docs/explain/evaluation.md on their full sets: for a machine with a GPU, or much patience.
#   scripts/eval_all.sh MODEL_FOLDER DATA_FOLDER [OUT_FOLDER]
# What is stopped goes on where it was. N=20 takes so many tasks of each set; CONCURRENCY answers share a step;
# METHODS are those beside ours (scripts/install_peers.sh brings more of them).
set -euo pipefail
if (($# < 2)); then
  sed -n '2,5s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 data=$2 out=${3:-results/all}
swyb=${SWYB:-$(dirname "${BASH_SOURCE[0]}")/../.venv/bin/swyb}
methods=${METHODS:-base,sample-verify,xgrammar,llguidance,outlines-core,lm-format-enforcer}

evaluate() {
  echo "== swyb eval $*" >&2
  "$swyb" eval "$@" --model "$model" --data "$data" --out "$out" --concurrency "${CONCURRENCY:-64}" ${N:+--n "$N"}
}

evaluate json --methods "swyb,swyb:M=4,$methods"
evaluate json --methods "swyb,swyb:M=4,$methods" --hard
evaluate json --set functions --methods "swyb,swyb:M=4,$methods"
evaluate sql --methods swyb,swyb:M=4,base,sample-verify,xgrammar,llguidance
evaluate sql --set spider-schema --methods swyb,swyb:M=4
evaluate ltl --methods swyb,swyb:M=4,base,sample-verify,xgrammar,llguidance
evaluate budget --set json-mode --methods "swyb,$methods"
evaluate tight --methods swyb:defaults=server,swyb:M=4:defaults=server,xgrammar
evaluate tight --set functions --methods swyb:defaults=server,swyb:M=4:defaults=server,xgrammar
evaluate tools --methods swyb,base,xgrammar
evaluate tools --set bfcl-auto --methods swyb,base,xgrammar
evaluate think
evaluate ablation --set drone
evaluate ablation --set spider
"$swyb" eval report "$out" > /dev/null
echo "tables and pictures: $out" >&2
