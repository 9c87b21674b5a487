# `make help` explains the targets. `make check` is what CI runs.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := engine services
GENERATE := $(BIN)/python tools/generate_proto.py
PROTO_IMAGE := build/proto.binpb
PROTO_BASELINE := proto/baseline.binpb

# Relative on purpose: pip splits this variable at spaces, and a checkout's path may hold one.
# Older pips read the first for the build backend too, newer ones the second.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint types proto proto-check proto-baseline check format faults soak bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## make .venv and install Croupier with its tools into it
	@:

$(INSTALLED): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "setup: '$(PYTHON)' is not there; install Python 3.11 or newer, or name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setup: Croupier needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1); name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/pip || { \
	  echo "setup: making $(VENV) with $$($(PYTHON) -V)"; \
	  $(PYTHON) -m venv --clear $(VENV) || { \
	    rm -rf $(VENV); echo "setup: could not make $(VENV); on Debian: apt-get install python3-venv" >&2; exit 1; }; }
	@echo "setup: installing Croupier and its tools, about a minute the first time"
	@$(BIN)/pip install -qq --constraint constraints.txt --editable '.[dev]'
	@touch $@
	@echo "setup: done"

demo: setup  ## play 20 matches of all games on this machine, servers included, and audit them
	@$(BIN)/croupier demo $(ARGS)

test: setup  ## run the tests on all cores (ARGS='-k timos -x' goes to pytest)
	@$(BIN)/pytest -n auto --dist worksteal $(ARGS)

lint: setup  ## check format and lint rules
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check

types: setup  ## check types, strictly
	@$(BIN)/mypy $(SOURCES)

proto: setup  ## regenerate the code beside the .proto files
	@$(GENERATE)

proto-check: setup  ## lint the protos; fail on breaking changes and stale generated code
	@$(GENERATE) --check
	@$(GENERATE) --image $(PROTO_IMAGE)
	@$(BIN)/buf lint $(PROTO_IMAGE) --path croupier
	@test -f $(PROTO_BASELINE) || { echo "proto-check: no $(PROTO_BASELINE); make it with: make proto-baseline" >&2; exit 1; }
	@$(BIN)/buf breaking $(PROTO_IMAGE) --against $(PROTO_BASELINE) --path croupier

proto-baseline: setup  ## at a release: make today's protos the ones that may not break
	@$(GENERATE) --image $(PROTO_IMAGE)
	@$(BIN)/buf build $(PROTO_IMAGE) --exclude-source-info --output $(PROTO_BASELINE)
	@echo "proto-baseline: wrote $(PROTO_BASELINE)"

check: lint types proto-check test  ## all that CI runs

format: setup  ## format, and fix what the linter can fix safely
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

faults: setup  ## let every part fail under load, then audit; ARGS='worker killed' picks some, --list shows all
	@$(BIN)/python -m tests.faults $(ARGS)

soak: setup  ## play all games for 20 minutes (ARGS='--minutes 5') and watch the memory of every process
	@$(BIN)/python -m tests.faults.soak $(ARGS)

bench: setup  ## measure throughput and latency on this machine
	@$(BIN)/python -m benchmarks $(ARGS)

clean:  ## remove .venv, builds and caches
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
