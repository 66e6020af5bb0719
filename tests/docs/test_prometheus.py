"""docs/prometheus/: Prometheus reads the metrics of a site by it, and evaluates the rules."""

import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from tests.conftest import require_program
from tests.docs.accounts import ask
from tests.docs.pages import ROOT
from tests.support.mails import Post, with_mail
from tests.support.sites import echo, free_port, serving, started
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.metrics.exposition import declared_metrics
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.testing import api_key, make_user

FOLDER = ROOT / "docs/prometheus"
PATIENCE = 60  # seconds


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the files, for a key beside them."""
    require_program("promtool")
    require_program("prometheus")
    return shutil.copytree(FOLDER, tmp_path / "prometheus")


def promtool(folder, *arguments):
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_configuration_and_the_rules_are_valid(folder):
    (folder / "wsgiauth.key").write_text("x", encoding="utf-8")
    assert "SUCCESS" in promtool(folder, "check", "config", "prometheus.yml")
    assert "SUCCESS" in promtool(folder, "check", "rules", "rules.yml")


def test_the_tests_of_the_rules_pass(folder):
    assert "SUCCESS" in promtool(folder, "test", "rules", "rules.test.yml")


def test_the_tests_of_the_rules_have_each_alert(folder):
    alerts = {
        line.split()[-1]
        for line in (folder / "rules.yml").read_text("utf-8").splitlines()
        if line.strip().startswith("- alert:")
    }
    tested = (folder / "rules.test.yml").read_text("utf-8")
    assert [each for each in alerts if tested.count(each) < 2] == []


@pytest.fixture
def site(settings):
    """Return a site with metrics, whose emails wait."""
    made = AuthMiddleware(echo, replace(with_mail(settings), METRICS=True), send_mail=Post())
    made.site.outbox.keep_messages()
    yield made
    storage.discard_connection(made.database)


@contextmanager
def prometheus(folder, site, key):
    """Run Prometheus with the configuration of the page; yields a function that asks its API."""
    (folder / "wsgiauth.key").write_text(f"{key}\n", encoding="utf-8")
    with serving(site) as address:
        scheme, _, host = address.partition("://")
        text = (folder / "prometheus.yml").read_text("utf-8")
        text = text.replace("scheme: https", f"scheme: {scheme}").replace("example.org", host)
        quick = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        (folder / "quick.yml").write_text(quick + text, encoding="utf-8")
        port = free_port()
        options = (
            f"--config.file={folder / 'quick.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        )

        def get(path, **query):
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urlencode(query)}"
            return json.loads(ask(url)[1])["data"]

        with started(["prometheus", *options], port):
            wait_for(lambda: ask(f"http://127.0.0.1:{port}/-/ready")[0] == 200)
            yield get


def wait_for(found):
    """Return what a function returns as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = found()
        if result:
            return result
        time.sleep(0.1)
    pytest.fail("Prometheus does not get there")


def samples(get, name):
    return {
        tuple(value for label, value in each["metric"].items() if label in LABELS): each["value"][1]
        for each in get("query", query=name)["result"]
    }


LABELS = {"state", "queue", "event", "version", "status"}


def test_prometheus_reads_every_metric_and_evaluates_the_rules(folder, site):
    user = make_user(site, "meter", permissions=[PERMISSION])
    key = api_key(site, user, [PERMISSION])["Authorization"].removeprefix("Bearer ")
    with prometheus(folder, site, key) as get:
        wait_for(lambda: samples(get, 'wsgiauth_requests_total{status="2xx"} > 1'))
        names = {each.name for each in declared_metrics(site.site)}
        assert names == {name for name in names if samples(get, name)}
        assert samples(get, "wsgiauth_users") == {("active",): "1", ("inactive",): "0"}
        assert get("metadata")["wsgiauth_requests"][0]["type"] == "counter"

        def rules():
            (group,) = get("rules")["groups"]
            return all(each["health"] == "ok" for each in group["rules"]) and group["rules"]

        assert {each["state"] for each in wait_for(rules)} == {"inactive"}


def test_prometheus_is_refused_with_a_revoked_key(folder, site):
    with prometheus(folder, site, "wsgiauth_x") as get:

        def refused():
            targets = get("targets")["activeTargets"]
            return targets and targets[0]["lastError"]

        assert "401" in wait_for(refused)
        wait_for(lambda: "WsgiauthUnreachable" in alerts(get))


def alerts(get):
    return {each["labels"]["alertname"] for each in get("alerts")["alerts"]}
