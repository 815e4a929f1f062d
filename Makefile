# make chat [PAPERS=path] [PORT=7860]   read the papers (default: the sample library) and serve the chat
# make test | lint | bench              tests, checks, measurements
PYTHON ?= python3
PORT ?= 7860
PAPERS ?=
BENCH ?=
export PORT PAPERS

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: chat test lint bench install constraints licences help
.DEFAULT_GOAL := help

help:
	@sed -n '1,2s/^# //p' Makefile

install: $(INSTALLED)

# The stamp is written last, so that an install that was broken off is made again.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or later is needed and $(PYTHON) is not; name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@echo "Installing into $(VENV); the first time this fetches about 1 GB and takes some minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	@touch $@

chat: install
	@$(BIN)/abstract-qa models pull --default
	@if [ -n "$$PAPERS" ]; then $(BIN)/abstract-qa ingest "$$PAPERS"; else $(BIN)/abstract-qa ingest --sample; fi
	@$(BIN)/abstract-qa serve --port "$$PORT"

test: install
	@$(BIN)/python -m pytest

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# BENCH holds its options, for example BENCH="--library 40000=HOME --resume"; `python -m eval.bench --help` lists them.
bench: install
	@$(BIN)/abstract-qa models pull --default
	@$(BIN)/python -m eval.bench $(BENCH)

# Write constraints.txt anew from what the ranges in pyproject.toml give today.
constraints:
	@PYTHON="$(PYTHON)" scripts/constraints

licences: install
	@$(BIN)/python scripts/licences.py docs/licences.md
