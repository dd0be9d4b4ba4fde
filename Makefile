# Every verb of the project. `make` prints them. Each installs what it needs, once.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= $(shell scripts/find_python)
PY := .venv/bin/python
CLI := $(PY) -m pulsar_backlog.cli
export PYTHONPATH := $(CURDIR)/lib:$(CURDIR)

# Variables that verbs take: make sql Q="..." OUT=folder, make test ARGS="tests/wire -k crc".
OUT ?= demo-out
Q ?=
ARGS ?=
export Q

BACKLOG := tests/data/backlog
LOCK := uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-emit-index-url

.PHONY: help
help: ## Print this list
	@echo 'make VERB, where VERB is'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' Makefile

# --- environment ---------------------------------------------------------------------------------------

.PHONY: setup need-python need-java
setup: .venv/.installed .venv/.jars ## Install Python packages into .venv, and fetch the Delta jars

need-python:
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
	  echo "Python 3.11, 3.12 or 3.13 is needed; where it is not on the PATH, say make PYTHON=/path/to/it." >&2; exit 2; }

need-java:
	@"$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -Eq 'version "(17|21)[."]' || { \
	  echo "Java 17 or 21 is needed (java on the PATH, or JAVA_HOME set)." >&2; exit 2; }

.venv/.installed: requirements/dev.txt requirements/build.txt | need-python need-java
	[ -x $(PY) ] || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements/dev.txt -r requirements/build.txt
	printf '#!/bin/sh\nPYTHONPATH=%s exec %s -m pulsar_backlog.cli "$$@"\n' \
	  '"$(CURDIR)/lib:$(CURDIR)"' '"$(CURDIR)/$(PY)"' > .venv/bin/pulsar-backlog
	chmod +x .venv/bin/pulsar-backlog
	touch $@

.venv/.jars: $(addprefix lib/pulsar_backlog/spark/,jars.py class_archive.py) .venv/.installed | need-java
	$(PY) -m pulsar_backlog.spark.jars
	$(PY) -m pulsar_backlog.spark.class_archive
	touch $@

# Environments of their own: airflow, docs, deploy, versions. They stay, though nobody names them as a target.
.PRECIOUS: .venv-%/.installed
.venv-%/.installed: requirements/%.txt | need-python
	[ -x .venv-$*/bin/python ] || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

.PHONY: lock
lock: ## Lock the dependencies again (needs uv)
	$(LOCK) pyproject.toml -o requirements/runtime.txt
	$(LOCK) pyproject.toml --group dev -o requirements/dev.txt
	$(LOCK) requirements/build.in -c requirements/dev.txt -o requirements/build.txt
	$(LOCK) requirements/airflow.in -o requirements/airflow.txt
	$(LOCK) requirements/docs.in -o requirements/docs.txt
	$(LOCK) requirements/deploy.in -o requirements/deploy.txt
	$(LOCK) requirements/versions.in -o requirements/versions.txt
	for spark in 4.0 4.2; do $(LOCK) --no-deps requirements/spark-$$spark.in -o requirements/spark-$$spark.txt; done

# --- use -----------------------------------------------------------------------------------------------

.PHONY: demo sql
demo: setup ## Audit the bundled backlog of a real broker into OUT (demo-out)
	$(CLI) audit $(BACKLOG)/objects --admin $(BACKLOG)/admin --out $(OUT) --cluster demo --fail-on never \
	  --exit-zero-when-unchanged
	@echo
	@echo "The report is $(abspath $(OUT))/report.html"

sql: setup ## Ask the tables in OUT: make sql Q="SELECT state, count(*) FROM chunked_messages GROUP BY state"
	@[ -n "$$Q" ] || { echo 'Give a query: make sql Q="SELECT * FROM topic_overview"' >&2; exit 2; }
	@$(CLI) sql $(OUT) "$$Q"

# --- proof ---------------------------------------------------------------------------------------------

.PHONY: check lint test test-airflow test-broker test-broker5 test-consumers test-stores test-cluster test-matrix test-browser test-monitoring need-chromium bench bench-check
check: lint site test-airflow test-broker test-broker5 test-consumers test-matrix test-stores test-cluster test-browser test-monitoring test ## Everything CI runs (it runs three at a time, and the tests last)

lint: setup .venv-deploy/.installed ## Style, types, import contracts, freshness of generated files, recipes of conf/deploy/
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) scripts/generate_docs.py --check
	$(PY) scripts/generate_proto.py --check
	.venv-deploy/bin/hadolint conf/deploy/Dockerfile
	.venv-deploy/bin/kubernetes-validate --strict --quiet conf/deploy/*.yaml

test: setup ## All tests but those of Airflow, in two processes; ARGS="..." goes to pytest, which then runs in one
	$(PY) -m pytest $(or $(ARGS),-n 2 --dist loadfile --durations 25)

test-airflow: .venv-airflow/.installed ## The DAG in Airflow's own environment (.venv-airflow)
	.venv-airflow/bin/python -m pytest tests/airflow

test-broker: setup .venv-airflow/.installed ## Against a real Pulsar broker, fetched once into .cache/ (300 MB) and started on loopback
	$(PY) -m tests.broker.distribution
	PULSAR_BACKLOG_TEST_BROKER=1 $(PY) -m pytest tests/broker $(ARGS)

test-broker5: setup ## Against a real Pulsar 5.0.0-M1, whose jars are fetched once into .cache/ (220 MB): scalable topics
	$(PY) -m tests.broker5.distribution
	PULSAR_BACKLOG_TEST_BROKER5=1 $(PY) -m pytest tests/broker5 $(ARGS)

test-consumers: setup ## Several consumers against real brokers 4.0.8, 4.2.4 and 5.0.0-M1, fetched once into .cache/ (700 MB)
	$(PY) -m tests.several_consumers.releases
	PULSAR_BACKLOG_TEST_CONSUMERS=1 $(PY) -m pytest tests/several_consumers $(ARGS)

test-stores: setup ## Against servers of S3, Google Cloud Storage and Azure Blob, fetched once into .cache/ (needs Node and Go)
	$(PY) -m tests.stores.installed
	PULSAR_BACKLOG_TEST_STORES=1 $(PY) -m pytest tests/stores $(ARGS)

test-cluster: setup .venv-airflow/.installed ## Jobs on a Spark cluster on loopback, results on an S3 server, both started and ended here
	$(PY) -m pulsar_backlog.spark.jars s3a > /dev/null
	PULSAR_BACKLOG_TEST_CLUSTER=1 $(PY) -m pytest tests/spark_cluster $(ARGS)

test-matrix: setup .venv-versions/.installed ## The wheel on each Spark and Java, by Python 3.11, 3.12 and 3.13 (all three are needed)
	$(PY) -m tests.versions.environments
	PULSAR_BACKLOG_TEST_MATRIX=1 $(PY) -m pytest tests/versions $(ARGS)

need-chromium:
	@command -v "$${CHROMIUM:-chromium}" chromium-browser google-chrome >/dev/null || { \
	  echo "Chromium is needed (apt install chromium; or say CHROMIUM=/path/to/it)." >&2; exit 2; }

test-browser: setup | need-chromium ## The report in a real browser (needs Chromium; CHROMIUM=/path/to/it)
	$(PY) -m pytest tests/browser/check_report.py

test-monitoring: setup ## Numbers, alert rules and a scrape by a real Prometheus (needs Debian's package prometheus)
	@command -v promtool prometheus >/dev/null || { echo "Prometheus is needed (apt install prometheus)." >&2; exit 2; }
	$(PY) -m pytest tests/monitoring/check_prometheus.py

bench: setup ## Speed, as ratios measured in one run
	$(PY) -m bench $(ARGS)

bench-check: setup ## Fail where a small audit lost ground against the floor of reading and writing (see bench/floor.py)
	$(PY) -m bench --quick --only floor --check

# --- making --------------------------------------------------------------------------------------------

.PHONY: docs site screenshots proto dist clean
docs: setup ## Write the generated pages of docs/ and conf/schemas/ again, and, where there is Chromium, the screenshots
	$(PY) scripts/generate_docs.py
	@if $(MAKE) --silent need-chromium 2>/dev/null; then $(MAKE) screenshots; else \
	  echo 'There is no Chromium here: docs/images stays as it is (make screenshots).'; fi

site: .venv-docs/.installed ## The docs as a site with search, in build/site; a link that leads nowhere ends it
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet

screenshots: demo | need-chromium ## Take the pictures of docs/screenshots.md again, of the report in OUT (needs Chromium)
	$(PY) scripts/screenshots.py $(OUT)

proto: setup ## Generate the protobuf classes again
	$(PY) scripts/generate_proto.py

dist: setup ## A wheel, and the same as a zip for spark-submit --py-files, in dist/
	rm -rf dist
	$(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	cd dist && for wheel in *.whl; do cp "$$wheel" "pulsar_backlog-$$(cut -d- -f2 <<< "$$wheel").zip"; done
	@ls -l dist

clean: ## Remove what was made; environments (.venv, .venv-airflow, ...) stay
	rm -rf build dist demo-out bench-data .cache spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
