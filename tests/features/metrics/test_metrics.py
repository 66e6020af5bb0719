"""GET /auth/metrics: who can read it, in which format, and what it says."""

import re
import sys
import time
from dataclasses import replace

import peewee
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.sites import BROWSER, EMAIL, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import known_permissions
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.links.letters import request_reset
from wsgiauth.features.metrics.accepting import accepted_format
from wsgiauth.features.metrics.exposition import declared_metrics
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.features.metrics.questions import QUESTIONS
from wsgiauth.features.registry import FEATURES
from wsgiauth.figures import OF_PROCESS, Figures, Reading
from wsgiauth.testing import add_authenticator, api_key, bearer, logged_in, make_user

PATH = "/auth/metrics"
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@pytest.mark.promise(102)
def test_anonymous_clients_are_refused_before_a_figure_is_counted(client, site, monkeypatch):
    monkeypatch.setattr(Figures, "read", lambda figures: pytest.fail("counted"))
    for headers in ({}, {"Authorization": "Bearer x"}):
        refused = client.get(PATH, headers=headers, status=401)
        assert "wsgiauth_" not in refused.text
    assert "location" in client.get(PATH, headers=BROWSER, status=302).headers


def test_a_caller_without_the_permission_is_refused(client, site):
    user = make_user(site, "eve", permissions=[PERMISSION])
    by_key = client.get(PATH, headers=api_key(site, user, []), status=403)
    assert by_key.json["code"] == "insufficient_scope"
    by_session = client.get(PATH, headers=bearer(site, make_user(site, "mallory")), status=403)
    assert by_session.json["code"] == "forbidden"


def test_a_key_and_a_session_with_the_permission_are_admitted(client, site, key):
    user = make_user(site, "eve", permissions=[PERMISSION])
    superuser = make_user(site, "root", is_superuser=True)
    for headers in (key, bearer(site, user), bearer(site, superuser)):
        assert "wsgiauth_users{" in client.get(PATH, headers=headers).text
    assert "wsgiauth_users{" in logged_in(site, user).get(PATH, headers=BROWSER).text


def test_a_session_that_lacks_a_second_factor_is_refused(settings):
    demanding = replace(settings, METRICS=True, SECOND_FACTOR="all", FACTOR_KEY=FACTOR_KEY)
    site = AuthMiddleware(echo, demanding)
    user = make_user(site, "eve", permissions=[PERMISSION])
    refused = TestApp(site).get(PATH, headers=bearer(site, user, second_factor=False), status=401)
    assert refused.json["code"] == "second_factor_setup_required"


def test_head_is_answered_without_a_body(client, key):
    assert client.head(PATH, headers=key).body == b""


def test_without_the_setting_there_is_no_such_page(settings):
    TestApp(AuthMiddleware(echo, settings)).get(PATH, status=404)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "text/plain"),
        ("*/*", "text/plain"),
        ("text/html, image/png;q=0", "text/plain"),
        ("text/plain;version=99;escaping=x", "text/plain"),
        ("application/openmetrics-text;q=0, text/plain", "text/plain"),
        ("application/openmetrics-text", "application/openmetrics-text; version=1.0.0"),
        ("text/plain, Application/OpenMetrics-Text; version=x", "application/openmetrics-text"),
        (PROMETHEUS, "application/openmetrics-text; version=1.0.0"),
        (",;=,;;", "text/plain"),
    ],
)
def test_the_format_follows_the_header_accept(accept, expected):
    assert accepted_format(accept).startswith(expected.partition(";")[0])


def test_both_formats_end_as_their_standards_say(client, key):
    openmetrics = client.get(PATH, headers={**key, "Accept": PROMETHEUS})
    assert openmetrics.headers["Content-Type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")
    plain = client.get(PATH, headers=key)
    assert plain.headers["Content-Type"].startswith("text/plain; version=0.0.4; charset=utf-8")
    assert "EOF" not in plain.text
    for answer in (openmetrics, plain):
        assert answer.headers["Vary"] == "Accept"
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.every_database
def test_every_declared_metric_has_a_sample(site, scrape, ada):
    request_reset(site.site.outbox, USERNAME, mount="/auth")
    names = {each.partition("{")[0] for each in scrape()}
    assert names == {each.name for each in declared_metrics(site.site)}


def test_the_names_that_no_feature_can_have_are_those_of_metrics_without_a_table(site):
    declared = {each.name.removeprefix("wsgiauth_") for each in declared_metrics(site.site)}
    of_tables = {each.name for each in site.site.require(Figures).declared}
    assert declared - of_tables == {*OF_PROCESS} - {"requests"}


@pytest.mark.every_database
def test_the_figures_are_those_of_the_site(site, scrape, ada, grace):
    grace.is_active = False
    grace.save()
    add_authenticator(site, make_user(site, "lin"))
    request_reset(site.site.outbox, USERNAME, mount="/auth")
    site.invite("new@example.org", username="new")
    TestApp(site).get("/missing", status="*")
    found = scrape()
    assert found['wsgiauth_users{state="active"}'] == 3
    assert found['wsgiauth_users{state="inactive"}'] == 1
    assert found["wsgiauth_users_with_second_factor"] == 1
    assert found['wsgiauth_waiting{queue="emails"}'] >= 1
    assert found["wsgiauth_open_invitations"] == 1
    assert found["wsgiauth_hash_slots_free"] == site.site.settings.HASHING_THREADS
    assert found["wsgiauth_figures_age_seconds"] >= 0
    assert 0 < found["wsgiauth_process_start_time_seconds"] <= time.time()
    version = next(each for each in found if each.startswith("wsgiauth_schema_info"))
    assert re.fullmatch(r'wsgiauth_schema_info\{version="\d{4}_[a-z_]+"\}', version)


def test_every_event_has_a_number_also_one_that_did_not_happen(site, scrape):
    events = {each.name for feature in FEATURES for each in feature.events} | {"login_failed"}
    found = scrape()
    assert {f'wsgiauth_events_5m{{event="{name}"}}' for name in events} <= found.keys()


@pytest.mark.promise(102)
def test_metrics_reveal_no_person_no_setting_and_no_host(site, scrape, ada, client, key):
    site.invite("secret.person@example.org", username="secretperson")
    login = {"username": "typed-password", "password": "wrong"}
    client.post_json("/auth/login", login, status=401)
    client.get("/wp-admin/secret-path?token=secret", status="*")
    page = client.get(PATH, headers=key).text
    labels = set(re.findall(r'(\w+)="', page))
    assert labels == {"state", "queue", "event", "version", "status"}
    values = set(re.findall(r'="([^"]*)"', page))
    assert all(re.fullmatch(r"[a-z_0-9]+", value) for value in values)
    for private in (USERNAME, EMAIL, "secret", "typed", "127.0.0.1", "localhost", "example"):
        assert private.lower() not in page.lower()


def test_a_database_that_fails_is_503_and_not_a_wrong_number(client, key, monkeypatch):
    def fail(figures):
        raise peewee.OperationalError("disk I/O error")

    monkeypatch.setattr(Figures, "read", fail)
    assert client.get(PATH, headers=key, status=503).json["code"] == "unavailable"


def test_without_the_package_the_start_says_what_to_install(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigurationError, match=r"^METRICS needs the package prometheus-client"):
        AuthMiddleware(echo, replace(settings, METRICS=True))


def test_check_says_that_no_key_has_the_permission(site, settings):
    (question,) = QUESTIONS
    off = AuthMiddleware(echo, settings)
    assert [*question.ask(off.site)] == []
    user = make_user(site, "eve", permissions=[PERMISSION, f"{PERMISSION}x"])
    api_key(site, user, [f"{PERMISSION}x"])
    (finding,) = question.ask(site.site)
    assert not finding.is_risk
    assert PERMISSION in finding.sentence
    api_key(site, user, [PERMISSION])
    assert [*question.ask(site.site)] == []


def test_the_permission_is_listed(site):
    with storage.context.using(site.database):
        listed = [each.name for each in known_permissions.known_permissions()]
    assert PERMISSION in listed


def test_a_figure_that_was_not_counted_in_time_is_missing(scrape, monkeypatch):
    monkeypatch.setattr(Figures, "read", lambda figures: Reading({"sessions": 3}, 7))
    found = scrape()
    assert found["wsgiauth_sessions"] == 3
    assert found["wsgiauth_figures_age_seconds"] == 7
    assert not [name for name in found if name.startswith("wsgiauth_users")]
