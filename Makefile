# Three commands matter: `make demo` runs the main job, `make quick` the fast checks, `make test` all of them.
# The first call makes .venv and installs into it; later calls start at once.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# Once for all processes of the tests, so that no test is charged for it.
COMPILE := $(RUN) -c "import sepc, sklearn.datasets as d; sepc.SEPClassifier().fit(*d.load_iris(return_X_y=True))"

# Real data sets for tests and benchmarks; whoever has none skips what needs them.
ifneq ($(wildcard ../shared/data),)
export SEPC_DATA ?= $(abspath ../shared/data)
endif

# Empty: what Python compiles of tests and package is kept, whatever the environment says, for each process needs it.
export PYTHONDONTWRITEBYTECODE :=

MEASURED := --cov --cov-report= --cov-fail-under=0
KERNELS := tests/geometry/test_kernels.py tests/geometry/_mve tests/geometry/_hulls tests/estimators/test_calibrating.py

.PHONY: demo quick test types-of-source compiled coverage docs dist package environment types release-files paper pictures bench measure measure-check clean

demo: $(VENV)/.sepc-all
	$(RUN) -m sepc.demo

# The tests that matter while working; what the marks mean stands in pyproject.toml.
quick: $(VENV)/.sepc-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(COMPILE)
	HYPOTHESIS_PROFILE=quick $(RUN) -m pytest -n auto -q -m \
		"not (browser or conformance or first_use or pages or processes or real_data or slow or study)"

# Studies, laws of chance by many fits and the paper's experiments, run every night.
test: $(VENV)/.sepc-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(MAKE) -j2 types-of-source compiled
	$(VENV)/bin/lint-imports
	$(RUN) -m pytest -n auto -m "not study" --durations=20

# Each keeps one core busy.
types-of-source: $(VENV)/.sepc-test
	$(VENV)/bin/mypy

compiled: $(VENV)/.sepc-test
	$(COMPILE)

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

# Wheel and sdist, in dist.
dist: $(VENV)/.sepc-package
	rm -rf dist
	$(VENV)/bin/towncrier build --draft --version next
	$(RUN) -m build
	$(RUN) -m twine check --strict dist/*
	$(RUN) .ci/check_dist.py dist

# The same, each installed into an empty environment and tried there, and the types that the wheel shows to its users.
package: dist types
	$(RUN) .ci/smoke.py dist/*

# The wheel with all its dependencies.
environment:
	rm -rf build/environment
	$(PYTHON) -m venv build/environment
	build/environment/bin/python -m pip install --quiet "$$(ls $(CURDIR)/dist/*.whl)[all]"

types: environment $(VENV)/.sepc-package
	$(VENV)/bin/mypy --config-file tests/typing/mypy.ini --python-executable build/environment/bin/python tests/typing

# What a release has beside wheel and sdist: a bill of materials of the wheel with all its dependencies, and checksums.
release-files: environment $(VENV)/.sepc-package
	$(VENV)/bin/cyclonedx-py environment --output-reproducible --output-file dist/sepc.cdx.json build/environment
	cd dist && rm -f SHA256SUMS && sha256sum sepc* > SHA256SUMS

# The paper's experiments with all their seeds, and the page on them; `python -m paper` takes a few seeds. ONLY names
# some of them, separated by spaces; the others stay as they are.
paper: $(VENV)/.sepc-all
	$(RUN) -m paper $(ONLY) --full --out docs/reproduction

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
	$(RUN) bench/watch.py --quick
	$(RUN) bench/guarantee.py
	$(RUN) bench/outside.py --splits 2
	$(RUN) bench/paper_trust.py --repeats 1
	$(RUN) bench/stability.py --seeds 1 --refits 5
	$(RUN) bench/novelty.py --most 300
	$(RUN) bench/changes.py --records 5 --tries 2000 --models sepc
	$(RUN) bench/calibration_cost.py --repeats 3
	$(RUN) bench/decisions.py --repeats 1
	$(RUN) bench/missing.py --sets wdbc vehicle iris --shares 0.2
	$(RUN) bench/classes.py --quick
	$(RUN) bench/trust.py --seeds 1
	$(RUN) bench/around.py --sets wine,wdbc
	$(RUN) bench/around_promises.py --sets spambase --repeats 2

# Result files of docs/measured whose code has changed since, measured anew; ONLY names some of them.
measure: $(VENV)/.sepc-bench
	$(RUN) bench/figures.py $(ONLY)

# Every number on a page of docs/measured and in the README comes from a result file.
measure-check: $(VENV)/.sepc-test
	$(RUN) bench/figures.py --check

clean:
	rm -rf $(VENV) build dist

$(RUN):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.sepc-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable .[$*]
	touch $@
