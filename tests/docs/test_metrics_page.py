"""The section about metrics, and the files for Prometheus and Grafana, name what a site has."""

import json
import re
from dataclasses import replace

import pytest

from tests.docs.pages import PAGES, ROOT, section
from tests.support.mails import Post, with_mail
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.feature import event_kinds_of
from wsgiauth.features.metrics.exposition import declared_metrics
from wsgiauth.features.registry import FEATURES

FOLDER = ROOT / "docs/prometheus"
METRICS = section(PAGES["docs/deployment.md"], "Metrics")
RULES = (FOLDER / "rules.yml").read_text("utf-8")
DASHBOARD = (FOLDER / "dashboard.json").read_text("utf-8")
NAME = re.compile(r"\bwsgiauth_\w+")


@pytest.fixture
def site(settings, tmp_path):
    """Return a site with metrics, and with each queue."""
    keys = str(write_key(tmp_path / "key"))
    apps = {"SERVICE_KEYS": keys, "SERVICES": REPORTS.split(), "OAUTH_SERVER": True}
    made = AuthMiddleware(
        echo, replace(with_mail(settings), METRICS=True, **apps), send_mail=Post()
    )
    yield made
    storage.discard_connection(made.database)


def test_the_section_has_each_metric_with_its_label(site):
    listed = re.findall(r"`(wsgiauth_\w+)(?:\{(\w+)\})?`", METRICS)
    assert listed == [(each.name, each.label) for each in in_the_order_of(listed, site)]


def in_the_order_of(listed, site):
    order = [name for name, _label in listed]
    return sorted(
        declared_metrics(site.site),
        key=lambda each: order.index(each.name) if each.name in order else -1,
    )


@pytest.mark.parametrize("text", [RULES, DASHBOARD], ids=["rules", "dashboard"])
def test_the_rules_and_the_dashboard_name_only_metrics_that_exist(site, text):
    known = {each.name: each.label for each in declared_metrics(site.site)}
    assert set(NAME.findall(text)) <= known.keys()
    for name, label in re.findall(r"(wsgiauth_\w+)\{(\w+)", text):
        assert known[name] == label
    events = {each.name for each in event_kinds_of(FEATURES)}
    for names in re.findall(r'event\\?"?[=!]~?\\?"([\w|]+)', text):
        assert set(names.split("|")) - {"webhook_failed"} <= events


def test_the_dashboard_shows_every_metric_in_panels_that_do_not_overlap(site):
    panels = json.loads(DASHBOARD)["panels"]
    queries = [target["expr"] for each in panels for target in each["targets"]]
    shown = {name for each in queries for name in NAME.findall(each)}
    assert shown == {each.name for each in declared_metrics(site.site)}
    assert len({each["id"] for each in panels}) == len(panels)
    places = [
        (x, y)
        for each in panels
        for x in range(each["gridPos"]["x"], each["gridPos"]["x"] + each["gridPos"]["w"])
        for y in range(each["gridPos"]["y"], each["gridPos"]["y"] + each["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _y in places) < 24  # columns


def test_the_section_links_to_every_file():
    assert set(re.findall(r"\(prometheus/([\w.]+)\)", METRICS)) == {
        each.name for each in FOLDER.iterdir()
    }
