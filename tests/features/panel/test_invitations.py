"""GET, POST /auth/admin/invitations."""

import dataclasses

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.sites import SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.links import invitations_page
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation

URL, INVITE = "/auth/admin/invitations", "/auth/admin/invite"
GRACE = {"email": "grace@example.net"}
STAFF = {"is_staff": True}


@pytest.fixture(autouse=True)
def quiet(unsent):
    """Let no thread send emails."""


def rows(page):
    """Return the texts of the cells of each row, without monograms."""
    for monogram in page.html.select("tbody .monogram"):
        monogram.decompose()
    return [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
        for row in page.html.find("tbody").find_all("tr")
    ]


def buttons(page):
    return [form["action"] for form in page.html.find_all("form") if form.get("action") == URL]


def test_the_list_says_who_is_invited_by_whom(browser, program, site):
    program(INVITE, {**GRACE, "username": "grace", "is_staff": True, "permissions": ["a.b"]})
    site.site.outbox.deliver()
    issue_invitation(
        Invitation(email="joan@example.net"),
        site.site.outbox,
        site.site.settings,
        mount="/auth",
        now=site.site.tokens.now(),
    )
    page = browser.get("/auth/admin/users").click("Open invitations")
    waiting, sent = rows(page)
    button = "Revoke"
    by = ["the person chooses one", "\N{EN DASH}", "application code", "not sent yet", button]
    assert waiting == ["joan@example.net", *by]
    assert sent[:4] == ["grace@example.net", "grace", "Staff a.b", "Boss"]
    assert page.html.find("time")["datetime"].endswith("Z")


def test_programs_get_the_list_as_json(program, boss):
    program(INVITE, GRACE)
    assert program(URL).json == {
        "invitations": [
            {
                **GRACE,
                "username": "",
                "is_staff": False,
                "permissions": [],
                "groups": [],
                "actor": f"user {boss.id}",
                "until": None,
            }
        ]
    }


def test_a_browser_revokes_an_invitation(browser, program):
    program(INVITE, GRACE)
    page = browser.get(URL)
    form = next(each for each in page.forms.values() if each.action == URL)
    done = form.submit(headers=SAME_ORIGIN, status=303).follow()
    done.mustcontain("The invitation has been revoked", "No invitation is open.")
    assert RecordedEvent.get(RecordedEvent.name == "invitation_ended").user_id is None


def test_an_invitation_that_is_open_no_more_is_named(browser, program):
    missing = program(URL, GRACE, status=404)
    assert missing.json["code"] == "no_such_invitation"
    browser.post(URL, GRACE, headers=SAME_ORIGIN, status=404).mustcontain(
        "This address has no open invitation", "No invitation is open."
    )


@pytest.mark.parametrize("actor", ["staff", "manager", "superuser"])
def test_whoever_could_send_an_invitation_can_revoke_it(
    client, browser_of, program, make, bearer, actor
):
    ann = make("Ann", actor)
    for rights in ({}, STAFF):
        program(INVITE, {**GRACE, **rights})
        is_permitted = actor == "superuser" or (actor == "manager" and not rights)
        assert len(buttons(browser_of(ann).get(URL))) == is_permitted
        status = 200 if is_permitted else 403
        answer = client.post_json(URL, GRACE, headers=bearer(ann), status=status)
        assert "detail" in answer.json
        assert len(program(URL).json["invitations"]) == (not is_permitted)


def test_an_invitation_with_rights_is_replaced_only_by_those_who_can_give_them(
    client, program, make, bearer
):
    program(INVITE, {**GRACE, **STAFF})
    ann = make("Ann", "manager")
    client.post_json(INVITE, GRACE, headers=bearer(ann), status=403)
    (invited,) = program(URL).json["invitations"]
    assert invited["is_staff"]
    program(INVITE, GRACE)


def test_only_the_end_needs_a_recent_proof(program):
    program(INVITE, GRACE)
    make_stale()
    assert len(program(URL).json["invitations"]) == 1
    assert program(URL, GRACE, status=401).json["code"] == "insufficient_user_authentication"


def test_a_long_list_says_that_it_is_not_whole(browser, program, monkeypatch):
    monkeypatch.setattr(invitations_page, "LISTED", 1)
    monkeypatch.setattr(invitations_page.InvitationsPage, "limit", 1)
    for email in ("grace@example.net", "joan@example.net"):
        program(INVITE, {"email": email})
    page = browser.get(URL)
    page.mustcontain("Older invitations are not shown.")
    assert len(rows(page)) == 1


def test_a_site_without_links_has_no_invitations(settings, site, boss, bearer):
    changed = dataclasses.replace(settings, MAIL_URL=None, PUBLIC_URL=None)
    app = TestApp(AuthMiddleware(echo, changed))
    app.get(URL, headers=bearer(boss), status=404)
    users = app.get("/auth/admin/users", headers={**bearer(boss), "Accept": "text/html"})
    users.mustcontain(no="Open invitations")
    storage.discard_connection(app.app.database)
