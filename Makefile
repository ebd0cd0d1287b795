# Each target does its own set-up: a fresh clone needs nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
# Extra arguments for pip, for example a package index that has torch's CPU builds.
PIP_ARGS ?=
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
RUN = $(VENV)/bin/python -m
STAMP = $(VENV)/.isoglot-setup
# Two test processes of one thread each use two cores better than one process of two.
PYTEST = OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(RUN) pytest -n 2 --dist worksteal

.PHONY: help setup demo check format docs docs-reference test test-all test-lowest wheel bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## create .venv and install the pinned versions

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) torch
	$(PIP) -e '.[dev,docs]'
	touch $(STAMP)

demo: $(STAMP)  ## four encoders from scratch on generated data, what transfers, a report; 5 to 10 minutes on two cores
	$(VENV)/bin/isoglot demo

check: $(STAMP) docs  ## lint, format, types, the documentation's links
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) pytest tests/test_docstrings.py
	$(RUN) mypy

format: $(STAMP)  ## put the code into the project's format
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

docs-reference: $(STAMP)  ## fill the lists of docs/reference from the code
	$(VENV)/bin/python docs/generate.py

docs: $(STAMP)  ## the documentation as a site in build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --quiet --strict --site-dir build/site

test: $(STAMP)  ## the tests, without the slow ones
	$(PYTEST) -m "not slow"

test-all: $(STAMP)  ## every test, end-to-end runs included
	$(PYTEST)

test-lowest: | $(VENV)/bin/python  ## command line, recipes and training with the lowest versions that pyproject.toml allows
	$(PIP) uv
	test -x $(VENV)-lowest/bin/python || $(VENV)/bin/python -m venv $(VENV)-lowest
	$(RUN) uv pip install --quiet --resolution lowest-direct --python $(VENV)-lowest/bin/python -e '.[dev]'
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(VENV)-lowest/bin/python -m pytest -n 2 -m "not slow" tests/cli tests/recipe tests/training/test_trainer.py

wheel: | $(VENV)/bin/python  ## dist/: wheel and source distribution, checked
	$(PIP) build twine check-wheel-contents
	rm -rf dist
	$(RUN) build
	$(RUN) twine check --strict dist/*
	$(VENV)/bin/check-wheel-contents dist/*.whl

bench: $(STAMP)  ## every benchmark at a size that only shows that it runs
	$(VENV)/bin/python benchmarks/synthetic.py --rows 2000 --train 500 --test 200
	$(VENV)/bin/python benchmarks/prepare.py --pairs 20000 40000
	$(VENV)/bin/python benchmarks/pretraining.py --shapes tiny --steps 2
	$(VENV)/bin/python benchmarks/objectives.py --quick --rounds 1
	$(VENV)/bin/python benchmarks/aligners.py --quick
	$(VENV)/bin/python benchmarks/translate_and_copy.py --quick
	$(VENV)/bin/python benchmarks/statistical.py --generated --pairs 2000 --runs 1

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(VENV)-lowest dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
