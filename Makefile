# The commands a person types. What they do stands in scripts/, in Python's standard library alone.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 4 ] && n=4; echo $$n)

.PHONY: help setup run test lint bench clean

help:
	@echo "make run     open the window (with no display: do the same headless, pictures in out/)"
	@echo "make test    lint, type checks and all tests"
	@echo "make setup   only prepare .venv"
	@echo "make lint    ruff, mypy and import-linter"
	@echo "make bench   speed figures"
	@echo "make clean   remove .venv and everything generated"

setup:
	@$(if $(PYTHON),,echo "Tilescope needs Python 3.11 or newer and found none: apt-get install python3." >&2; exit 1)
	@$(PYTHON) scripts/setup.py

run: setup
	@$(BIN)/python scripts/run.py

test: setup
	@$(BIN)/python scripts/qt_libraries.py offscreen xcb
	@status=0; $(MAKE) --no-print-directory lint || status=1; \
	QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile || status=1; exit $$status

lint: setup
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

bench: setup
	@QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python scripts/bench.py

clean:
	rm -rf .venv build out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
