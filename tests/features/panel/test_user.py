"""GET /auth/admin/users/{id}."""

import dataclasses
import time
from datetime import UTC, datetime, timedelta

import pytest
from bs4 import BeautifulSoup
from webtest import TestApp

from tests.features.panel.conftest import KINDS
from tests.support.factors import add_app
from tests.support.identities import ISSUER, account
from tests.support.keys import make_key
from tests.support.logins import insert_session
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from tests.web.pages import PAGES, REQUEST
from wsgiauth import AuthMiddleware
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import ListedKey
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.providers import identities
from wsgiauth.storage.models import utc_now
from wsgiauth.throttling.failed_logins import FailedLogin, Wait
from wsgiauth.web.pages import Pages

HOME = "192.0.2.1"
NOW = 2_000_000_000
WHEN = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
SUPPORT = ["end-logins", "end-login", "end-key", "reset-link"]
MANAGE = [
    "deactivate",
    "end-logins",
    "end-login",
    "end-key",
    "disconnect",
    "remove-factors",
    "reset-link",
]
OF_AN_ORDINARY_USER = {
    "staff": [],
    "manager": MANAGE,
    "superuser": [
        *MANAGE,
        "change-email",
        "verify-email",
        "grant",
        "revoke",
        "join",
        "leave",
        "make-staff",
        "make-superuser",
        "delete",
    ],
}


def shown(page, term):
    names = page.html.find("dl", class_="facts").find_all("dt")
    (found,) = [each.find_next_sibling("dd") for each in names if each.text == term]
    return " ".join(found.text.split())


def section_of(page, name):
    return " ".join(page.html.find(id=name).find_parent("section").text.split())


def test_the_page_says_what_the_account_is(browser, make):
    tim = make("Tim", "staff")
    tim.email_verified_at = tim.last_login_at = utc_now().replace(year=2026, month=3, day=1)
    tim.email_verified_by = "link"
    tim.save()
    page = browser.get(f"/auth/admin/users/{tim.id}")
    assert shown(page, "Status") == "Staff"
    assert shown(page, "Email address") == "Tim@example.org (verified on 1 March 2026)"
    assert shown(page, "Last login").startswith("1 March 2026")
    una = browser.get(f"/auth/admin/users/{make('Una', 'inactive').id}")
    assert shown(una, "Status") == "Inactive"
    assert shown(una, "Email address") == "Una@example.org (not verified)"
    assert shown(una, "Last login") == "never"
    una.mustcontain("No permissions have been granted.", "not logged in anywhere")


@pytest.mark.promise(68)
def test_the_panel_says_that_a_provider_alone_has_verified_an_address(browser, make):
    for name, proof, words in (
        ("Ann", ISSUER, "(by Example Firm, not proven here)"),
        ("Bea", "https://gone.example/sso", "(by gone.example, not proven here)"),
        ("Cid", "", "(not proven here)"),
        ("Dan", "operator", "(verified on 2 November 2026)"),
    ):
        user = make(name, email_verified_at=WHEN, email_verified_by=proof)
        page = browser.get(f"/auth/admin/users/{user.id}")
        assert shown(page, "Email address") == f"{name}@example.org {words}"
        listed = browser.get(f"/auth/admin/users?q={name}").html.tbody.text
        assert ("(not proven here)" in listed) is (proof != "operator")


@pytest.mark.every_database
def test_the_page_lists_permissions_and_logins(browser, make):
    tim = make("Tim", "privileged")
    insert_session(tim, "his")
    editors = Group.objects.create(name="Editors")
    editors.grant("reports.publish", "reports.read")
    tim.join(editors)
    page = browser.get(f"/auth/admin/users/{tim.id}")
    page.mustcontain("Unknown browser", handle_of("his"), no=["his<"])
    rows = page.html.find(id="permissions").find_parent("section").find_all("li")
    assert [" ".join(row.text.split()) for row in rows] == [
        "reports.publish granted to the user and to Editors Revoke",
        "reports.read granted to Editors",
    ]
    assert page.click("Editors").request.path == f"/auth/admin/groups/{editors.id}"


@pytest.mark.every_database
def test_the_page_lists_second_factors_and_recovery_codes(site, browser, make):
    tim = make("Tim")
    url = f"/auth/admin/users/{tim.id}"
    browser.get(url).mustcontain("The user has not set it up.", no=["Recovery", "Remove apps"])
    add_app(site, tim, "Old phone")
    for code in recovery_codes.replace(tim, rounds=4)[:3]:
        recovery_codes.use(tim, code)
    section = section_of(browser.get(url), "second-factors")
    added = datetime.fromtimestamp(Totp.get().created_at, UTC)
    assert section.startswith("Two-step verification Old phone Authenticator app, added ")
    assert f"{added.day} {added:%B %Y}" in section
    assert section.endswith(" Recovery codes left: 7 Remove apps and passkeys…")


@pytest.mark.every_database
def test_the_page_lists_api_keys_without_their_secrets(site, browser, make):
    tim = make("Tim", "privileged")
    url = f"/auth/admin/users/{tim.id}"
    browser.get(url).mustcontain("The user has no API keys.")
    made = api_keys.create(tim, "Nightly export", ["reports.publish"], now=time.time())
    section = section_of(browser.get(url), "keys")
    shown = f"API keys Nightly export reports.publish ID {made.row.id}, never used, expires "
    assert section.startswith(shown)
    Key.update(last_used_at=made.row.created_at).execute()
    page = browser.get(url)
    assert "last used" in section_of(page, "keys")
    page.mustcontain(no=[made.text, made.text[-20:], made.row.digest])
    Key.update(permissions="").execute()
    assert "Nightly export no permissions ID" in section_of(browser.get(url), "keys")


@pytest.mark.promise(54)
def test_a_program_gets_second_factors_and_keys(site, program, make):
    tim = make("Tim", "privileged")
    assert program(f"/auth/admin/users/{tim.id}").json["second_factors"] == {
        "factors": [],
        "recovery_codes_left": 0,
    }
    add_app(site, tim)
    recovery_codes.replace(tim, rounds=4)
    made = api_keys.create(tim, "Nightly export", ["reports.publish"], now=time.time())
    answer = program(f"/auth/admin/users/{tim.id}")
    (factor,) = answer.json["second_factors"]["factors"]
    assert (factor["method"], factor["name"]) == ("otp", "Phone")
    assert abs(datetime.fromisoformat(factor["added_at"]) - utc_now()) < timedelta(minutes=5)
    assert answer.json["second_factors"]["recovery_codes_left"] == 10
    (key,) = answer.json["keys"]
    assert key == {**ListedKey.of(made.row).document(), "permissions": ["reports.publish"]}
    answer.mustcontain(no=[made.text, made.row.digest, Totp.get().salt])


OTHER = "https://login.example.net/realms/main"


@pytest.mark.every_database
def test_the_page_lists_accounts_of_other_providers(browser, make):
    tim = make("Tim")
    page = browser.get(f"/auth/admin/users/{tim.id}")
    assert section_of(page, "identities") == "Other providers The user has not connected any."
    identities.connect(tim, account("s-<1>", name="<b>tim"), NOW)
    identities.connect(tim, account("s-2", issuer=OTHER, name="t@example.net"), NOW + 86400)
    section = section_of(browser.get(f"/auth/admin/users/{tim.id}"), "identities")
    assert section == (
        "Other providers"
        f" Example Firm: <b>tim Account s-<1> of {ISSUER}"
        " Connected 18 May 2033 at 03:33 UTC, last used 18 May 2033 at 03:33 UTC Disconnect…"
        f" login.example.net: t@example.net Account s-2 of {OTHER}"
        " Connected 19 May 2033 at 03:33 UTC, last used 19 May 2033 at 03:33 UTC Disconnect…"
    )


def test_a_program_gets_accounts_of_other_providers(program, make):
    tim = make("Tim")
    row = identities.connect(tim, account(), NOW)
    answer = program(f"/auth/admin/users/{tim.id}").json
    assert answer["identities"] == [each.document() for each in identities.list_identities(tim)]
    assert answer["identities"][0]["id"] == row.handle
    assert answer["has_password"] is True


def test_the_page_says_whether_there_is_a_password(browser, make):
    tim = make("Tim")
    for hashed, text in ((tim.hashed_password, "set"), ("", "none")):
        User.update(hashed_password=hashed).where(User.id == tim.id).execute()
        assert shown(browser.get(f"/auth/admin/users/{tim.id}"), "Password") == text


def test_without_other_providers_the_section_is_absent(settings, site, make, boss, bearer):
    app = AuthMiddleware(echo, dataclasses.replace(settings, FACTOR_KEY=None))
    client, headers, tim = TestApp(app), bearer(boss), make("Tim")
    identities.connect(tim, account(), NOW)
    url = f"/auth/admin/users/{tim.id}"
    client.post_json(f"{url}/disconnect", {}, headers=headers, status=404)
    answer = client.get(url, headers=headers).json
    assert answer["identities"] == []
    assert "disconnect" not in answer["actions"]
    client.get(url, headers={**headers, **BROWSER}).mustcontain(no="Other providers")


def fail_to_log_in(client, user, number=5):
    """Send wrong passwords; with five, those from new addresses have to wait."""
    for _ in range(number):
        wrong = {"username": user.username, "password": "wrong"}
        client.post_json("/auth/login", wrong, extra_environ={"REMOTE_ADDR": HOME}, status=401)


def test_the_page_says_why_a_user_cannot_log_in(stopped_throttle, browser, client, make):
    tim = make("Tim")
    tim.last_login_at = WHEN
    tim.save()
    url = f"/auth/admin/users/{tim.id}"
    section = section_of(browser.get(url), "failed-logins")
    assert section == "Failed logins No login has failed in the last day."
    fail_to_log_in(client, tim)
    section = section_of(browser.get(url), "failed-logins")
    assert section.startswith(
        "Failed logins Must wait Too many failures with the username. Attempts with it from new"
        " addresses must wait; addresses from which the user has logged in are not affected. The"
        " wait ends 15 January 2027 at 08:00 UTC Of the last day, the newest first"
    )
    assert section.count(f"Wrong password 15 January 2027 at 08:00 UTC, from {HOME}") == 5
    assert section.endswith("Last successful login: 2 November 2026")
    inactive = browser.get(f"/auth/admin/users/{make('Una', 'inactive').id}")
    inactive.mustcontain("The account is inactive: every login is refused.")


def test_a_program_gets_failed_logins_and_waits(stopped_throttle, program, client, make):
    tim = make("Tim")
    fail_to_log_in(client, tim)
    answer = program(f"/auth/admin/users/{tim.id}").json
    failure = {"time": "2027-01-15T08:00:00Z", "reason": "wrong password", "address": HOME}
    assert answer["failed_logins"] == [failure] * 5
    wait = {"reason": "account", "until": "2027-01-15T08:00:01Z", "name": "username"}
    assert answer["waits"] == [{**wait, "address": None}]


def test_a_failure_is_said_in_words():
    words = {
        "wrong password": "Wrong password",
        "inactive": "Right password, but the account was inactive",
        "no such user": "No account had this name",
        "wrong code": "Right password, wrong code",
        "wrong passkey": "Right password, but the passkey was not accepted",
        "provider, wrong code": "Right login with another provider, wrong code",
        "provider, wrong passkey": (
            "Right login with another provider, but the passkey was not accepted"
        ),
    }
    page = page_with(failed_logins=[FailedLogin(WHEN, reason, HOME) for reason in words])
    assert [" ".join(row.text.split()) for row in page.select("#failed-logins ~ ul > li")] == [
        f"{each} 2 November 2026 at 09:05 UTC, from {HOME}" for each in words.values()
    ]


def test_a_wait_is_explained():
    texts = {
        ("account", "username", None): (
            "Too many failures with the username. Attempts with it from"
        ),
        ("account", "email", None): ("Too many failures with the email address. Attempts with it"),
        ("account", None, HOME): f"Too many failures from {HOME}, where the user has logged in",
        ("logins", "username", None): "Too many logins with the username. Attempts with it from",
        ("logins", "email", None): (
            "Too many logins with the email address. Attempts with it from"
        ),
        ("address", None, HOME): (
            f"Too many failures from {HOME}, under all names together. Attempts from there must"
            " wait; other addresses, and those from which the user has logged in, are not"
        ),
        ("second factor", None, HOME): f"Too many wrong codes from {HOME}, where the user has",
        ("second factor", None, None): (
            "Too many wrong codes. Codes from new addresses must wait;"
        ),
    }
    waits = [Wait(reason, WHEN, name, address) for reason, name, address in texts]
    shown = [" ".join(each.text.split()) for each in page_with(waits=waits).select("li")]
    for words, text in zip(shown, texts.values(), strict=True):
        assert words.startswith(f"Must wait {text}")
        assert words.endswith("not affected. The wait ends 2 November 2026 at 09:05 UTC"), text


def page_with(**values):
    """Return the section about failed logins of a page whose account has these values."""
    page = PAGES["admin/user.html"]
    values = {"failed_logins": (), "waits": (), **values}
    answer = Pages("/auth").render(REQUEST, page.replaced(account=page.account.replaced(**values)))
    html = BeautifulSoup(answer.body, "html.parser")
    return html.find(id="failed-logins").find_parent("section")


def test_without_second_factors_the_section_is_absent(settings, site, make, boss, bearer):
    app = AuthMiddleware(echo, dataclasses.replace(settings, FACTOR_KEY=None))
    client, headers, tim = TestApp(app), bearer(boss), make("Tim")
    url = f"/auth/admin/users/{tim.id}"
    client.post_json(f"{url}/remove-factors", {}, headers=headers, status=404)
    client.get(f"{url}/remove-factors", headers=headers, status=404)
    answer = client.get(url, headers=headers).json
    assert answer["second_factors"] is None
    assert "remove-factors" not in answer["actions"]
    client.get(url, headers={**headers, **BROWSER}).mustcontain("API keys", no="econd factor")


def test_of_the_groups_and_the_permissions_of_the_site_one_can_choose(browser, make):
    Group.objects.create(name="Editors").grant("blog.edit")
    page = browser.get(f"/auth/admin/users/{make('Tim').id}")
    choices = {each["id"]: [o["value"] for o in each("option")] for each in page.html("datalist")}
    assert choices["group-choices"] == ["Editors"]
    assert {"blog.edit", "wsgiauth.manage_users"} <= {*choices["permission-choices"]}


def test_of_a_superuser_it_says_that_they_have_every_permission(browser, make):
    tim = make("Tim", "superuser")
    browser.get(f"/auth/admin/users/{tim.id}").mustcontain("has every permission")


@pytest.mark.promise(49)
@pytest.mark.parametrize("kind", OF_AN_ORDINARY_USER)
def test_only_what_one_can_do_is_offered(site, make, browser_of, client, bearer, kind):
    ann, tim = make("Ann", kind), make("Tim", "permitted")
    insert_session(tim, "his")
    make_key(tim)
    identities.connect(tim, account(), NOW)
    add_app(site, tim)
    tim.join(Group.objects.create(name="Editors"))
    answer = client.get(f"/auth/admin/users/{tim.id}", headers=bearer(ann))
    assert answer.json["actions"] == OF_AN_ORDINARY_USER[kind]
    page = browser_of(ann).get(f"/auth/admin/users/{tim.id}")
    urls = {each["action"] for each in page.html.main.find_all("form")}
    links = page.html.main.find_all("a", class_="button")
    urls |= {each["href"].partition("?")[0] for each in links}
    assert urls == {f"/auth/admin/users/{tim.id}/{name}" for name in OF_AN_ORDINARY_USER[kind]}
    if kind == "staff":
        page.mustcontain("You do not have permission to change this account.")


def test_permissions_that_the_application_declares_are_offered(browser, site, make):
    AuthMiddleware(echo, site.site.settings, permissions=["pastes.read"], send_mail=print)
    tim = make("Tim")
    for url in (f"/auth/admin/users/{tim.id}", "/auth/admin/invite"):
        browser.get(url).mustcontain('value="pastes.read"')


def test_of_an_inactive_user_activation_is_offered(program, make):
    answer = program(f"/auth/admin/users/{make('Tim', 'inactive').id}")
    assert answer.json["actions"][:2] == ["activate", "end-login"]


def test_of_oneself_only_logins_keys_and_a_link_are_offered(make, browser_of, client, bearer):
    for kind in ("staff", "manager", "superuser"):
        ann = make(f"A-{kind}", kind)
        answer = client.get(f"/auth/admin/users/{ann.id}", headers=bearer(ann))
        assert answer.json["actions"] == SUPPORT, kind
        page = browser_of(ann).get(f"/auth/admin/users/{ann.id}")
        page.mustcontain("This is your own account")


def test_a_program_gets_the_user_as_json(program, make):
    tim = make("Tim", "privileged")
    insert_session(tim, "his")
    answer = program(f"/auth/admin/users/{tim.id}").json
    assert (answer["id"], answer["username"], answer["last_login_at"]) == (tim.id, "Tim", None)
    assert answer["groups"] == []
    assert answer["permissions"] == [{"name": "reports.publish", "is_own": True, "groups": []}]
    assert [each["handle"] for each in answer["logins"]] == [handle_of("his")]


def test_an_unknown_user_is_not_found(program):
    for number in ("999", "999999999999999999", "0", "x"):
        assert program(f"/auth/admin/users/{number}", status=404).json["code"] == "not_found"


def test_a_notice_says_only_what_was_done(browser, make):
    url = f"/auth/admin/users/{make('Tim').id}"
    for done in ("x", "grant"):
        assert browser.get(f"{url}?done={done}").html.find(role="status") is None
    granted = browser.post(f"{url}/grant", {"permission": "a.b"}, headers=SAME_ORIGIN)
    assert granted.follow().html.find(role="status").text == ACTIONS["grant"].done


def test_every_kind_of_user_can_be_seen_by_staff(make, browser_of):
    browser = browser_of(make("Ann", "staff"))
    for kind in KINDS:
        browser.get(f"/auth/admin/users/{make(kind.replace(' ', '-'), kind).id}")


@pytest.mark.promise(50)
def test_the_page_costs_few_queries(browser, make, queries):
    tim = make("Tim")
    assert len(queries(lambda: browser.get(f"/auth/admin/users/{tim.id}"))) <= 18
