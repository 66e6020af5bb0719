.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run example test check programs browsers databases clusters pythons format measure bench house dumps pictures endpoints docs settings messages surface dist release clean .venv/weight

PYTHON ?= python3
PORT ?= 8080
BIN := .venv/bin

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'make measure lists the measurements. CONTRIBUTING.md describes the commands of maintainers.'

.venv/sample: setup.py
	@echo 'Installing wsgiauth and some 15 packages into .venv: 15 seconds to a minute, the first time.'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[oidc,passkeys,totp]'
	@touch $@

EXTRAS := argon2,metrics,mysql,oidc,passkeys,postgres,services,testing,totp
.venv/dev: GROUPS := dev
.venv/check: GROUPS := dev apps docs
.venv/docs: GROUPS := dev docs
.venv/bench: GROUPS := dev bench

# uv takes a third of the time that pip takes. It compiles the packages for each later start: with
# PYTHONDONTWRITEBYTECODE, as containers set it, every process would compile all that it imports.
.venv/dev .venv/check .venv/docs .venv/bench: setup.py pyproject.toml
	@echo 'Installing the packages of the groups $(GROUPS) into .venv: one or two minutes the first time.'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --editable '.[$(EXTRAS)]' $(addprefix --group ,$(GROUPS))
	@touch $@ .venv/dev

install: .venv/dev ## create .venv with everything that development needs

# Whoever has this key and the database can compute the codes of authenticator apps.
factor.key: | .venv/sample
	@umask 077 && $(BIN)/python -m wsgiauth secret > $@

# Everything is on. A newcomer has no mail server: what the sample sends is written to a folder.
run: export MAIL_URL ?= file://$(CURDIR)/mails
run: export MAIL_FROM ?= library@example.org
run: export PUBLIC_URL ?= http://localhost:$(PORT)
run: export PASSKEYS ?= on
run: .venv/sample factor.key ## serve the sample on http://localhost:8080 (PORT=… for another port)
	@mkdir -p mails
	@echo 'Ctrl-C stops it. For another port: make run PORT=8081.'
	@case "$$MAIL_URL" in file://*) echo "The emails that it sends are files in $${MAIL_URL#file://}";; esac
	@echo 'To become an administrator, run in another terminal:'
	@echo '  cd "$(CURDIR)" && $(BIN)/python -m wsgiauth createsuperuser'
	@FACTOR_KEY="$${FACTOR_KEY-$$(cat factor.key)}" $(BIN)/python -m wsgiauth serve sample_wsgi:app --listen localhost:$(PORT)

# In an environment of its own, it runs the commands of the example's README.
example: EXAMPLE := $(CURDIR)/.venv/example-$(NAME)/bin
example: ## serve an example of docs/examples on http://127.0.0.1:8080 (NAME=sqlite-web, for example)
	@test -f "docs/examples/$(NAME)/requirements.txt" || { echo "Choose one, as in make example NAME=sqlite-web:" $$(cd docs/examples && dirname */requirements.txt); exit 2; }
	@$(PYTHON) -m venv .venv/example-$(NAME)
	@$(EXAMPLE)/pip install --quiet --disable-pip-version-check --editable .
	@echo 'For another port: make example NAME=$(NAME) PORT=8081. To create a superuser, run in another terminal:'
	@echo '  cd docs/examples/$(NAME) && . $(EXAMPLE)/activate && python -m wsgiauth createsuperuser'
	@cd docs/examples/$(NAME) && { test -s secret.key || (umask 077 && $(EXAMPLE)/python -m wsgiauth secret > secret.key); } && \
	  PATH="$(EXAMPLE):$$PATH" PIP_QUIET=1 SECRET_KEY="$$(cat secret.key)" \
	  sh -ec "pip install -r requirements.txt && $$(sed -n '/^## Run it/,/^## /{s/8080/$(PORT)/;s/^[$$] //p}' README.md)"

# Without the bytecode of the last run, each process that tests start would compile what it imports.
test check programs browsers databases: export PYTHONDONTWRITEBYTECODE =

TESTS := -m pytest --parallel --target
# With code for PostgreSQL or MariaDB alone.
STORAGE := connections mariadb postgres_mysql postgresql psycopg_connection readiness schema synchronous
OF_SERVERS := wsgiauth/accounts/domains.py wsgiauth/cli/check.py wsgiauth/features/panel/user_search.py $(STORAGE:%=wsgiauth/storage/%.py)

test: .venv/dev ## run the tests that need only Python and SQLite, in 90 seconds on two quiet processors
	$(BIN)/python $(TESTS) test

# While mypy uses one processor, the other compiles the tests.
check: .venv/check ## lint, types, and the tests that need only Python, with branch coverage, in five minutes
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/python -m pytest --collect-only --quiet --target check >/dev/null & $(BIN)/mypy && wait
	rm -f .coverage .coverage.*
	$(BIN)/coverage run $(TESTS) check && $(BIN)/coverage combine --quiet && $(BIN)/coverage report --omit "$$(echo $(OF_SERVERS) | tr ' ' ,)"

programs: .venv/check ## test with other servers, frameworks, type checkers, builds and the documentation's programs
	$(BIN)/python $(TESTS) programs

browsers: .venv/check ## test the pages in Chromium, Firefox and WebKit
	$(BIN)/python $(TESTS) browsers

databases: .venv/dev ## test on PostgreSQL and MariaDB, and processes that race; after `make check`, with the coverage of both
	$(BIN)/coverage run $(TESTS) databases && if [ -f .coverage ]; then $(BIN)/coverage combine --append --quiet && $(BIN)/coverage report; fi

# Test clusters of databases and several hosts, in a few minutes: one after the other, as each takes
# all processors.
clusters: .venv/dev
	$(BIN)/python -m pytest tests/clusters

# Run the quick tests with each Python and two sets of dependencies (PYTHONS="3.11 3.15" for some).
pythons: .venv/dev
	$(BIN)/python -m tests.load.pythons $(PYTHONS)

format: .venv/dev ## format the code and fix what lint can fix
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

# Without a NAME, list the measurements.
measure:
	@$(PYTHON) -m tests.load "$(NAME)" $(foreach each,DATABASES EXAMPLES SECONDS,$(if $($(each)),"$(each)=$($(each))"))

bench house:
	@$(PYTHON) -m tests.load $@

# As users install it.
.venv/weight:
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check flask .

# Dump the tables of this version, for tests of later ones (VERSION=1.0.0).
dumps: .venv/dev
	$(BIN)/python -m tests.support.dumps "$(VERSION)"

# Take pictures of every page, and the documentation's, with Chromium.
pictures: .venv/dev
	$(BIN)/python -m tests.docs.pictures

# Make the sections of docs/endpoints.md from the OpenAPI document.
endpoints: .venv/dev
	$(BIN)/python -m tests.docs.endpoints_page && $(BIN)/python -m tests.docs.rows

docs: .venv/docs ## build the pages and the reference of the Python names into artefacts/docs
	$(BIN)/python -W ignore:pkg_resources -m sphinx --fresh-env --quiet --fail-on-warning --keep-going -c docs . artefacts/docs
	@echo 'Open artefacts/docs/README.html. Links that were not followed: artefacts/docs/external-links.txt'

# Write into docs/settings.md what the code declares.
settings: .venv/dev
	$(BIN)/python -m tests.docs.settings_page

CATALOGUES := wsgiauth/languages/locale
# Extract the texts, merge them into the catalogues, and compile these.
messages: .venv/dev
	@mkdir -p artefacts
	$(BIN)/pybabel --quiet extract --mapping-file pyproject.toml --omit-header --sort-output --add-location=file \
	  --width 100 --output-file artefacts/wsgiauth.pot . && mv artefacts/wsgiauth.pot $(CATALOGUES)/wsgiauth.pot
	$(BIN)/pybabel --quiet update --domain wsgiauth --input-file $(CATALOGUES)/wsgiauth.pot --width 100 \
	  --output-dir $(CATALOGUES) --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date
	$(BIN)/pybabel compile --domain wsgiauth --directory $(CATALOGUES) --statistics

# Record what applications can rely on: names, settings, paths, templates.
surface: .venv/check
	@mkdir -p artefacts
	$(BIN)/python -W ignore -m tests.public_surface > artefacts/surface.txt && mv artefacts/surface.txt tests/public_surface/current.txt

# The tools of releases are pinned, and no other package is installed beside them.
.venv/dist: tests/release/tools.txt
	$(PYTHON) -m venv --clear $@
	$@/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement $<
	@touch $@

# Build the sdist and the wheel of the last commit into dist/: the same bytes each time.
dist: .venv/dist
	@.venv/dist/bin/python -m tests.release.dist

# Check a release, and print the command that publishes it (VERSION=1.0.0).
release: .venv/dev .venv/dist
	@$(BIN)/python -m tests.release .venv/dist/bin/python "$(VERSION)"

# Everything that these commands made, but no database.
clean:
	rm -rf .venv dist artefacts *.egg-info .coverage* .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -exec rm -rf {} +
