#!/usr/bin/env bash
# The checks and figures of vLLM as the engine, on a machine with a GPU and any model: tests first, then what a step of
# beams costs, our server beside vLLM's own, and what its processes weigh. Some tens of minutes.
# Usage: benchmarks/vllm/gpu.sh MODEL [OUT] [-- VLLM'S OPTIONS]   (OUT: results/gpu). PYTHON names an interpreter that has
# vLLM and this package (default: .venv-gpu/bin/python); SWYB_DATA the evaluation data; REQUESTS how many for the memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() { sed -n '4,5s/^# //p' "$0" >&2; exit 2; }
model=${1:-}
[[ -d $model ]] || usage
shift
out=results/gpu
if [[ $# -gt 0 && $1 != -- ]]; then
  out=$1
  shift
fi
if [[ $# -gt 0 ]]; then
  [[ $1 == -- ]] || usage
  shift
fi
options=${*:-"--dtype bfloat16 --max-model-len 4096"}
python=${PYTHON:-.venv-gpu/bin/python}
mkdir -p "$out"

step() {
  local name=$1
  shift
  echo "== $name: $*" >&2
  "$@" 2>"$out/$name.log" | tee "$out/$name.txt" || { tail -20 "$out/$name.log" >&2; exit 1; }
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv | tee "$out/machine.txt"
"$python" -c 'import torch, vllm; print("vLLM", vllm.__version__, "torch", torch.__version__, "GPU", torch.cuda.is_available())' \
  2>/dev/null | tee -a "$out/machine.txt"
git log -1 --format='commit %h' | tee -a "$out/machine.txt"

step tests "$python" -m pytest -q tests/server/backends/vllm -m "not full"
step beams "$python" -m benchmarks.vllm.beam_time --model "$model" --options "$options"
step load "$python" -m benchmarks vllm --model "$model" --options "$options" --out "$out"
step memory "$python" -m benchmarks vllm --model "$model" --options "$options" --memory "${REQUESTS:-2000}" --servers swyb xgrammar --out "$out"
