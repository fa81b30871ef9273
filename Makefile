# One command each: run, test, check, bench, docs. Everything lives in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

.PHONY: run setup test fuzz check bench growth docs site wheel clean

run: $(READY)  ## evaluate the default model
	$(BIN)/loynes evaluate five-class-exponential --load 0.75

setup: $(READY_DEV)  ## everything for development

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "loynes needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY_DEV): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY) $@

test: $(READY_DEV)  ## every test that needs no GPU
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal  # a worker a core: threads of theirs would wait for each other

fuzz: $(READY_DEV)  ## nonsense of every command and every place of a model, other nonsense each time; ten minutes
	$(BIN)/python tests/fuzz/long.py 600 $$(date +%s)

check: $(READY_DEV)  ## style, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY_DEV)  ## rates, ratios and how long answers take, into benchmarks/results/latest.json; a quarter of an hour
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/rates.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/traces.py
	$(BIN)/python benchmarks/events.py
	$(BIN)/python -W ignore benchmarks/runs.py

growth: $(READY_DEV)  ## what servers, classes, load, jobs and workers cost, and the figure of it
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python docs/figures.py growth

docs: $(READY_DEV)  ## recompute the figures that the docs show, run the notebooks
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/counts.py
	$(BIN)/python docs/notebooks/run.py

site: $(READY_DEV)  ## the documentation as pages, in site/; zensical serve shows them while they are written
	$(BIN)/zensical build --clean --strict

wheel: $(READY_DEV)
	$(BIN)/python -m build --wheel --outdir dist

clean:
	rm -rf $(VENV) dist build site
