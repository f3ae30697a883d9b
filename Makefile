# Everything a person or a CI job runs. Needs make, git and Python 3.11 or newer; the rest goes into .venv.

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
# two levels of .venv: what the program needs, and what development needs besides
RUNTIME := .venv/.runtime
READY := .venv/.ready
RESULTS := .spec.json
# worksteal: the slow ones at the end would otherwise be one worker's
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
TESTED := $(shell find src tests spec tools docs README.md pyproject.toml -type f -not -name '*.pyc' 2>/dev/null)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help setup demo test test-all check lint types measure spec bench fuzz agents test-agents browser test-programs pictures fix build clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

setup: $(READY) ## Make .venv ready; every other target does this by itself

$(RUNTIME) $(READY): pyproject.toml constraints.txt tools/setup_venv.py tools/hatch_build.py src/hookline/bridge/launcher.c src/hookline/process/spawn.c
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Hookline needs Python 3.11 or newer, and '$(PYTHON)' is not. Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) tools/setup_venv.py $(if $(filter $(READY),$@),dev,runtime)
	@touch $@

demo: $(if $(wildcard $(READY)),$(READY),$(RUNTIME)) ## Watch rules answer Claude Code, Codex and Gemini CLI
	@$(BIN)/python -m hookline.demo $(ARGS)

test: $(READY) ## Run the tests but those marked slow; ARGS="-k name" goes to pytest
	@$(if $(ARGS),$(BIN)/python -m pytest -q $(ARGS),$(PYTEST) -m "not slow")

test-all: $(READY) ## Run all tests, also the slow ones: storms, kill -9 series, thousands of processes
	@$(PYTEST) --spec-results=$(RESULTS)

# Each step is a make of its own, so that `spec` sees the result file that `test-all` has just written.
check: $(READY) ## Run lint, types, measure, test-all, spec
	@for step in lint types measure test-all spec; do \
	  echo "== $$step"; $(MAKE) --no-print-directory $$step || { echo "== $$step failed" >&2; exit 1; }; done
	@echo "== all good"

lint: $(READY) ## Check style and formatting
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .

types: $(READY) ## Check types, strictly
	@$(BIN)/mypy

measure: $(READY) ## Report lines and modules of each package, lengths of functions, helpers that are called once
	@$(BIN)/python tools/measure.py

spec: $(RESULTS) ## Show which promise is kept by how many passing tests (runs them when results are old)
	@$(BIN)/python tools/spec.py $(ARGS)

$(RESULTS): $(READY) $(TESTED)
	@$(PYTEST) --spec-results=$(RESULTS)

bench: $(READY) ## Measure everything and write docs/benchmarks.md; ARGS="emit command" measures some
	@$(BIN)/python -m tests.bench.run $(ARGS)

fuzz: $(READY) ## Throw 100,000 generated replies at the dialects, and 200,000 mutated payloads at a guard
	@$(BIN)/python tools/fuzz_replies.py --count 100000 $(ARGS)
	@$(BIN)/python tools/fuzz_payloads.py --count 200000 $(ARGS)

agents: $(READY) ## Install the real agents with npm into ~/.cache/hookline-agents
	@$(BIN)/python -m tests.agents.programs

test-agents: agents ## Run the hooks of every system under real agents, on loopback; needs npm
	@HOOKLINE_TEST_AGENTS=1 $(BIN)/python -m pytest -q -n 3 --dist loadfile tests/agents $(ARGS)

test-programs: ## Install Prometheus and bubblewrap with apt-get, which some tests run; needs root on Debian
	@{ command -v prometheus && command -v bwrap; } >/dev/null || { apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus bubblewrap; }

browser: $(READY) ## Install what tests of the page need: Debian's chromium (as root) and axe-core (with npm)
	@$(BIN)/python -m tests.ui.browser

pictures: browser ## Make the pictures in docs/pictures anew, from the real page and the real commands
	@$(BIN)/python -m tools.pictures $(ARGS)

fix: $(READY) ## Repair what ruff can repair
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

build: $(READY) ## Build the wheel and the source archive into dist/
	@$(BIN)/python -m hatchling build --clean

clean: ## Remove everything that can be made again
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build $(RESULTS)
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
