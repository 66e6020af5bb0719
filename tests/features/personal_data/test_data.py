"""GET /auth/data: the file, who gets it, and what the application adds."""

import json
import time
from dataclasses import replace

import pytest
from webob import Request
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.accounts import create_user
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.personal_data import data
from wsgiauth.testing import api_key, bearer, logged_in, make_user


@pytest.fixture
def make_client(settings):
    """Return a function that makes a browser of a user, of a site with these arguments."""
    made = []

    def make(username="ada", *, changes=None, **arguments):
        made.append(AuthMiddleware(echo, replace(settings, **(changes or {})), **arguments))
        site = made[-1]
        found = User.get_or_none(User.username == username)
        return logged_in(site, found or make_user(site, username, email=f"{username}@example.org"))

    yield make
    for each in made:
        storage.discard_connection(each.database)


def exports():
    return RecordedEvent.select().where(RecordedEvent.name == "data_exported").count()


def test_the_file_begins_with_the_account_in_the_names_of_openid_connect(make_client):
    answer = make_client().get("/auth/data", headers=BROWSER)
    user = User.get()
    assert answer.json["sub"] == str(user.id)
    assert answer.json["preferred_username"] == "ada"
    assert (answer.json["email"], answer.json["email_verified"]) == ("ada@example.org", False)
    assert answer.json["created_at"].endswith("Z")
    assert "application" not in answer.json
    assert answer.content_type == "application/json"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="personal-data.json"'
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_file_is_readable_in_any_script(site, settings):
    user = create_user("Łukasz", "l@example.org", PASSWORD, settings=settings)
    assert "Łukasz" in logged_in(site, user).get("/auth/data").text


def test_the_account_page_leads_to_the_file(make_client):
    page = make_client().get("/auth/account", headers=BROWSER).html
    section = page.find("h2", string="Leaving").find_parent("section")
    assert [each["href"] for each in section.find_all("a")] == ["/auth/data", "/auth/close"]


@pytest.mark.promise(86)
def test_the_file_needs_a_recent_proof(make_client):
    browser = make_client()
    make_stale()
    refused = browser.get("/auth/data", status=401)
    assert refused.json["code"] == "insufficient_user_authentication"
    asked = browser.get("/auth/data", headers=BROWSER, status=302)
    assert asked.location.endswith("/auth/confirm?next=%2Fauth%2Faccount")
    assert asked.follow(headers=BROWSER).status_int == 200
    assert exports() == 0


def test_a_page_that_any_user_wrote_uses_up_no_download(make_client):
    browser = make_client()

    def ask(status, **headers):
        headers = {"Sec-Fetch-Site": "same-origin"} | headers
        return browser.get("/auth/data", headers=headers, status=status).json

    assert ask(403, **{"Sec-Fetch-Dest": "image"})["code"] == "embedded"
    assert ask(403, **{"Sec-Fetch-Dest": "iframe"})["code"] == "embedded"
    assert ask(403, **{"Sec-Purpose": "prefetch"})["code"] == "prefetch"
    assert exports() == 0
    for destination in ("document", "empty"):  # a person, and a script of the site
        ask(200, **{"Sec-Fetch-Dest": destination})


@pytest.mark.promise(86)
def test_an_anonymous_client_and_an_api_key_get_no_file(site, client):
    assert client.get("/auth/data", status=401).json["code"] == "unauthenticated"
    key = api_key(site, make_user(site, "ada"), [])
    refused = client.get("/auth/data", headers=key, status=403)
    assert refused.json["code"] == "insufficient_scope"


@pytest.mark.promise(86)
def test_a_session_without_the_demanded_second_factor_gets_no_file(make_client):
    site = make_client(changes={"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}).app
    make_user(site, "grace", password=PASSWORD)
    login = {"username": "grace", "password": PASSWORD}
    browser = TestApp(site)
    browser.post("/auth/login", login, headers=SAME_ORIGIN, status=303)
    refused = browser.get("/auth/data", status=401)
    assert refused.json["code"] == "second_factor_setup_required"
    assert "grace" not in refused.text


def test_each_download_is_an_event_and_a_question_for_the_headers_is_none(make_client):
    asked = []
    browser = make_client(personal_data=lambda user: asked.append(user) or {})
    assert browser.head("/auth/data").headers["Content-Disposition"].startswith("attachment")
    assert (exports(), asked) == (0, [])
    browser.get("/auth/data")
    events = browser.get("/auth/data").json["events"]
    assert [each["event"] for each in events].count("data_exported") == 1
    assert exports() == 2


@pytest.mark.promise(86)
def test_a_link_of_another_site_is_no_download(make_client):
    browser = make_client()
    for site in ("cross-site", "same-site"):
        link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        refused = browser.get("/auth/data", headers=link, status=403)
        assert (refused.json["code"], exports()) == ("cross_origin", 0), site
    browser.get("/auth/data", headers={"Sec-Fetch-Site": "none"}, status=200)


def test_a_user_has_ten_files_in_an_hour(make_client):
    browser = make_client()
    for _ in range(10):
        browser.get("/auth/data")
    refused = browser.get("/auth/data", status=429)
    assert refused.json["code"] == "throttled"
    assert int(refused.headers["Retry-After"]) > 3500
    make_client("grace").get("/auth/data", status=200)


def test_the_application_adds_its_own_and_is_the_actor_of_its_changes(make_client):
    asked = []
    orders = [{"title": "Notes", "at": "2026-11-02T09:30:00Z"}]

    def personal_data(user):
        asked.append(user)
        user.grant("a.b")
        return {"orders": orders}

    found = make_client(personal_data=personal_data).get("/auth/data").json
    assert found["application"] == {"orders": orders}
    assert [each.username for each in asked] == ["ada"]
    assert RecordedEvent.get(RecordedEvent.reason == "granted a.b").actor == "code"


def test_an_error_of_the_application_is_no_file(make_client):
    browser = make_client(personal_data=lambda user: {"orders": object()})
    failed = browser.get("/auth/data", status=500)
    assert failed.json["code"] == "application_error"
    assert "object" not in failed.text
    assert exports() == 0


def test_a_user_who_is_deleted_meanwhile_gets_no_file(make_client, monkeypatch):
    browser = make_client()
    found = data.require_fresh

    def require_fresh(environ, site, **options):
        member = found(environ, site, **options)
        User.delete().where(User.id == member.user.id).execute()
        return member

    monkeypatch.setattr(data, "require_fresh", require_fresh)
    assert browser.get("/auth/data", status=401).json["code"] == "invalid_token"


def test_a_long_file_is_sent_in_blocks(site, settings, ada):
    now = int(time.time())
    many = [
        {"time": now + each, "name": "confirmed", "user_id": ada.id, "actor": f"user {ada.id}"}
        for each in range(2_000)
    ]
    for first in range(0, len(many), 500):
        RecordedEvent.insert_many(many[first : first + 500]).execute()
    request = Request.blank("/auth/data", headers=bearer(site, ada))
    _, _, app_iter = request.call_application(site)
    blocks = list(app_iter)
    app_iter.close()
    assert len(blocks) > 3
    assert max(map(len, blocks)) < 70_000
    assert len(json.loads(b"".join(blocks))["events"]) > 2_000


def test_the_function_must_be_callable(settings):
    with pytest.raises(Exception, match="personal_data must be a function"):
        AuthMiddleware(echo, settings, personal_data={"orders": []})
