.DEFAULT_GOAL := help
.PHONY: help install run test check format bench flood fuzz soak pictures dist clean

PYTHON ?= python3
PORT ?= 8080
SECONDS ?= 60
BIN := .venv/bin

help: ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/sample: setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev: setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/bench: .venv/dev
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@

install: .venv/dev ## create .venv with everything that development needs

run: .venv/sample ## serve the sample on http://127.0.0.1:8080 (PORT=… for another port)
	@echo 'Serving on http://127.0.0.1:$(PORT)/ (another port: make run PORT=8081). In another terminal, make yourself an administrator:'
	@echo '  $(BIN)/python -m wsgiauth createsuperuser'
	@$(BIN)/waitress-serve --threads=8 --listen=127.0.0.1:$(PORT) sample_wsgi:app

test: .venv/dev ## run the tests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

check: .venv/dev ## what CI runs: lint, types, tests with branch coverage
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n auto --dist loadfile --no-loadscope-reorder && $(BIN)/coverage combine --quiet && $(BIN)/coverage report

format: .venv/dev ## format the code and mend what lint can mend
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: .venv/bench ## time requests and logins, beside their floor and what one would take instead
	$(BIN)/python -m tests.load.bench

flood: .venv/dev ## show what a flood of logins does to everybody else, in two minutes
	$(BIN)/python -m tests.load.flood

soak: .venv/dev ## ten minutes of mixed traffic, during which nothing may grow
	$(BIN)/python -m tests.load.soak

fuzz: .venv/dev ## send the site what no client should, for a minute (SECONDS=… for longer)
	$(BIN)/python -m tests.load.fuzz $(SECONDS)

pictures: .venv/dev ## take the README's picture of the pages again, with Chromium
	$(BIN)/python -m tests.docs.picture

dist: .venv/dev ## build the sdist and the wheel into dist/
	$(BIN)/python -m build

clean: ## remove everything that these commands made, but no database
	rm -rf .venv build dist artefacts *.egg-info .coverage* .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -exec rm -rf {} +
