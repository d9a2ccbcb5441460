# `make perf` and `make test` set up everything they need: a virtual environment from the pinned lock.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
ARGS   ?=

.PHONY: perf test lint testbed testbed-check clean help

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(READY): ci/cpu.lock pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "draftgate needs Python 3.11 or later: make PYTHON=..."'
	$(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) from ci/cpu.lock: 190 packages, a minute or two"
	$(BIN)/python -m pip install --quiet --no-deps --requirement ci/cpu.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

perf: $(READY)  ## the main job: every variant on real vLLM, judged against the baselines
	DRAFTGATE_PROFILE=$${DRAFTGATE_PROFILE:-cpu} $(BIN)/python -m pytest -m perf perf_tests $(ARGS)

# Two processes: pytester forgets modules that it saw imported, and vLLM cannot be imported twice.
test: lint  ## all tests of draftgate itself, and vLLM's samplers held to the law
	$(BIN)/python -m pytest tests/lossless tests/testbed correctness_tests -m "not slow" $(ARGS)
	$(BIN)/python -m pytest tests --ignore tests/lossless --ignore tests/testbed -m "not slow" $(ARGS)

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

testbed: $(READY)  ## rebuild the tiny model family (hours; resumes where it stopped)
	KMP_BLOCKTIME=1 LD_PRELOAD=$$(ls $(VENV)/lib/libiomp5.so 2>/dev/null) $(BIN)/python -m draftgate.testbed.recipe $(ARGS)

testbed-check: $(READY)  ## what the family must show, measured on vLLM
	$(BIN)/python -m pytest tests/testbed/test_family.py $(ARGS)

clean:  ## remove results and caches, not the environment
	rm -rf results .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
