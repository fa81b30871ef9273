# One command each: run, test, check, bench, docs. Everything lives in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
LOWEST := .venv-lowest
# Installs what it is given, in the versions that are known to work together; where a registry has not all of them any
# more, or has none for this Python, in the newest.
PIP := -m pip install --quiet --disable-pip-version-check
install = $(BIN)/python $(PIP) --constraint packaging/constraints.txt $(1) \
	|| { echo "not all of packaging/constraints.txt can be had here: installing the newest versions" >&2; $(BIN)/python $(PIP) $(1); }
# Tests have a worker a core: threads of theirs would wait for each other. Whoever asks Python to keep no byte code has every
# command that a test starts compile all modules that it imports, a quarter of a second of processor time.
QUICK := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# What must work with the lowest versions: models, laws, kernels against the reference, events, answers, the command line.
CORE := tests/known_answer tests/exact/test_models.py tests/exact/test_laws.py tests/exact/test_edges.py tests/exact/test_elementary.py \
	tests/exact/test_step.py tests/backends/test_cpu.py tests/exact/test_policy_traces.py tests/exact/test_results.py \
	tests/exact/test_schemas.py tests/exact/test_readers.py tests/docs/test_readme.py tests/cli/test_habits.py

.PHONY: run setup test test-lowest fuzz check bench growth docs paper-figures site wheel lock clean

run: $(READY)  ## evaluate the default model
	$(BIN)/loynes evaluate five-class-exponential --load 0.75

setup: $(READY_DEV)  ## everything for development

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "loynes needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml packaging/constraints.txt | $(VENV)/bin/python
	$(call install,--editable .)
	@touch $@

$(READY_DEV): pyproject.toml packaging/constraints.txt | $(VENV)/bin/python
	$(call install,--editable '.[dev]')
	@touch $(READY) $@

test: $(READY_DEV)  ## every test that needs no GPU
	$(QUICK) $(BIN)/python -m pytest -n auto --dist worksteal

test-lowest:  ## the core of the tests with the lowest versions of all direct dependencies (which have wheels for Python 3.11)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python packaging/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python $(PIP) --constraint $(LOWEST)/lowest.txt --editable '.[plot,io,yaml,scale,explore]' \
		hypothesis jsonschema mpmath pytest pytest-xdist simpy
	$(QUICK) $(LOWEST)/bin/python -m pytest -n auto --dist worksteal $(CORE)

fuzz: $(READY_DEV)  ## nonsense of every command and every place of a model, other nonsense each time; ten minutes
	$(BIN)/python tests/fuzz/long.py 600 $$(date +%s)

check: $(READY_DEV)  ## style, types, import direction, workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github

bench: $(READY_DEV)  ## rates, ratios and how long answers take, into benchmarks/results/latest.json; a quarter of an hour
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/rates.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/traces.py
	$(BIN)/python benchmarks/events.py
	$(BIN)/python benchmarks/eta.py
	$(BIN)/python -W ignore benchmarks/runs.py

growth: $(READY_DEV)  ## what servers, classes, load, jobs and workers cost, and the figure of it
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python docs/figures.py growth

docs: $(READY_DEV)  ## recompute the figures that the docs show, run the notebooks
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/explore_pictures.py
	$(BIN)/python docs/counts.py
	$(BIN)/python docs/notebooks/run.py

paper-figures: $(READY_DEV)  ## the figures of paper/paper.md
	$(BIN)/python paper/figures.py

site: $(READY_DEV)  ## the documentation as pages, in site/; zensical serve shows them while they are written
	$(BIN)/zensical build --clean --strict

wheel: $(READY_DEV)
	$(BIN)/python -m build --wheel --outdir dist

lock:  ## packaging/constraints.txt anew: the newest versions that go together
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python $(PIP) '.[dev]'
	echo '# Exact versions of everything for development, known to work together: make lock. No registry is named.' > packaging/constraints.txt
	build/lock/bin/python -m pip freeze --exclude loynes >> packaging/constraints.txt

clean:
	rm -rf $(VENV) $(LOWEST) dist build site
