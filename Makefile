# Two commands matter: `make demo` runs the main job, `make test` runs every check.
# The first call makes .venv and installs into it; later calls start at once.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# Real data sets for tests and benchmarks; whoever has none skips what needs them.
ifneq ($(wildcard ../shared/data),)
export SEPC_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test bench clean

demo: $(VENV)/.sepc-all
	$(RUN) -m sepc.demo

test: $(VENV)/.sepc-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(RUN) -m pytest -n auto

bench: $(VENV)/.sepc-bench
	$(RUN) bench/kernels.py
	$(RUN) bench/estimator.py
	$(RUN) bench/scale.py --quick
	$(RUN) bench/agreement.py --on file strict --most 2000
	$(RUN) bench/cli.py
	$(RUN) bench/fuzz.py
	$(RUN) bench/landscape.py
	$(RUN) bench/drift.py --quick
	$(RUN) bench/guarantee.py
	$(RUN) bench/outside.py --splits 2
	$(RUN) bench/paper_trust.py --repeats 1
	$(RUN) bench/stability.py --seeds 1 --refits 5
	$(RUN) bench/novelty.py --most 300
	$(RUN) bench/calibration_cost.py --repeats 3
	$(RUN) bench/classes.py --quick
	$(RUN) bench/trust.py --seeds 1

clean:
	rm -rf $(VENV)

$(RUN):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.sepc-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable .[$*]
	touch $@
