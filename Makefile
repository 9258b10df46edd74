# Two commands matter: `make demo` runs the main job, `make test` runs every check.
# The first call makes .venv and installs into it; later calls start at once.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# Real data sets for tests and benchmarks; whoever has none skips what needs them.
ifneq ($(wildcard ../shared/data),)
export SEPC_DATA ?= $(abspath ../shared/data)
endif

MEASURED := --cov --cov-report= --cov-fail-under=0
KERNELS := tests/geometry/test_kernels.py tests/geometry/_mve tests/geometry/_hulls tests/estimators/test_calibrating.py

.PHONY: demo test coverage docs paper pictures bench clean

demo: $(VENV)/.sepc-all
	$(RUN) -m sepc.demo

test: $(VENV)/.sepc-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(RUN) -m pytest -n auto

# Lines and branches that the tests reach; fails below the floor in pyproject.toml. No tracer sees into compiled code, so
# that the tests of kernels run once more without the compiler. Whether they pass is for the second run to say: Python
# raises where compiled code goes on with infinity.
coverage: $(VENV)/.sepc-test
	rm -f .coverage .coverage.*
	-NUMBA_DISABLE_JIT=1 COVERAGE_FILE=.coverage.kernels $(RUN) -m pytest -q --tb=no -W ignore::RuntimeWarning -n auto $(MEASURED) $(KERNELS)
	COVERAGE_FILE=.coverage.tests $(RUN) -m pytest -n auto $(MEASURED)
	$(RUN) -m coverage combine .coverage.kernels .coverage.tests
	mkdir -p build
	$(RUN) -m coverage json -o build/coverage.json
	$(RUN) -m coverage report

# The site, in docs/_build/html; every script of the gallery runs, and a warning is an error.
docs: $(VENV)/.sepc-docs
	$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --jobs auto --quiet docs docs/_build/html
	$(RUN) docs/check_site.py docs/_build/html

# The paper's experiments with all their seeds, and the page on them; `python -m paper` takes a few seeds.
paper: $(VENV)/.sepc-all
	$(RUN) -m paper --full --out docs/reproduction

# Pictures of README and site that are kept in the repository; those of the report need a chromium.
pictures: $(VENV)/.sepc-docs
	$(RUN) docs/pictures/partition.py
	$(RUN) docs/pictures/displays.py
	$(RUN) docs/pictures/report.py
	$(RUN) docs/pictures/screencast.py

bench: $(VENV)/.sepc-bench
	$(RUN) bench/kernels.py
	$(RUN) bench/estimator.py
	$(RUN) bench/growth.py --quick
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
	$(RUN) bench/decisions.py --repeats 1
	$(RUN) bench/missing.py --sets wdbc vehicle iris --shares 0.2
	$(RUN) bench/classes.py --quick
	$(RUN) bench/trust.py --seeds 1

clean:
	rm -rf $(VENV)

$(RUN):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.sepc-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable .[$*]
	touch $@
