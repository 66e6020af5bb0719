"""What happens with existing accounts: the cases of docs/providers.md, and `FURTHER` ones.

Takeovers of existing accounts that have been published, each by what no case here relies on:

- CVE-2023-3128, Grafana: users of Azure AD were found by the claim `email`, which anyone can change
  in a tenant of their own (`taken-unverified`, `link-provider-unverified`).
- CVE-2025-65431, django-allauth before 65.13.0: accounts of Okta and NetIQ were identified by
  `preferred_username`, which their users can change (`taken-name`, `known-renamed`).
- CVE-2026-49757, ash_authentication: users were found by the address alone, also by an unverified
  one and one that had belonged to another person (`taken`, `other-subject`, `other-issuer`).
- CVE-2019-19844, Django: addresses that look alike were the same after a change of the letter case,
  for a query but not for the mail server (`link-look-alike`).
"""

import re
from functools import partial
from types import SimpleNamespace

import pytest
from webtest import TestApp

from tests.conftest import insert_rows
from tests.docs.pages import PAGES
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.hostile_provider import Provider
from tests.support.mails import MAIL
from tests.support.provider_logins import come_back, connect, errand, log_in, path_of
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_OPERATOR, User
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc.errands import CONNECT
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in

SECTION = re.search(
    r"^## What happens with existing accounts$(.*?)^## ",
    PAGES["docs/providers.md"],
    re.MULTILINE | re.DOTALL,
)[1]
LISTED = re.findall(r"^- `([a-z-]+)`: ", SECTION, re.MULTILINE)

# The rarer cases: what the provider says, and what happens.
FURTHER = {
    "known-unverified": "A connected account, whose address is no longer verified, logs its user"
    " in.",
    "known-inactive": "The account of a deactivated user is refused, with a page that says so.",
    "known-demanded": "A user without the second factor that SECOND_FACTOR demands sets it up"
    " first.",
    "known-other": "Where another user is logged in, that session ends, and the user of the account"
    " is logged in.",
    "other-subject": "Another subject with the verified address of a connected account: as"
    " `taken`.",
    "other-issuer": "The same subject and address at another provider: as `taken`.",
    "new-unverified": "An unknown account, whose address is not verified, on a site without mail:"
    " the user enters an address, and the account has it unverified.",
    "new-opened": "An unknown account with `create=on`, although REGISTRATION is off: as `new`.",
    "taken-unverified-mail": "As `taken-unverified` on a site with mail: the owner of the address"
    " gets an email without a link.",
    "taken-closed": "As `taken-unverified` where new accounts are off: as `new-closed`.",
    "taken-name": "An unknown account with the name of a user: as `new`; the answer to the form"
    " says that the name is taken.",
    "link-provider-unverified": "`link=verified`, not verified by the provider: as"
    " `taken-unverified`.",
    "link-site-unverified": "`link=verified`, not verified by this site: as `taken`.",
    "link-vouched-trusted": "`link=verified`, verified by another provider, whose entry has"
    " `link=verified`, too: as `link`.",
    "link-operator": "`link=verified`, verified by an operator, as with `set --verified`: as"
    " `link`.",
    "link-unknown": "`link=verified`, verified in an unknown way, as after an import without"
    " `email_verified_by`: as `taken`.",
    "link-look-alike": "`link=verified`, an address that looks like a user's but has other"
    " characters: as `taken`; upper and lower case of A to Z do not matter.",
    "link-inactive": "`link=verified`, the address of a deactivated user: refused, and nothing is"
    " connected.",
    "link-factor": "`link=verified`, the address of a user with a second factor: both are"
    " connected, and the second factor is asked for.",
    "connect-taken": "A logged-in user connects an account that another user has: refused; it stays"
    " with the other user.",
}

LINK = {"link": "verified"}
UNVERIFIED = {"email_verified": False}
CLOSED = {"REGISTRATION": False}
ADDRESS = "ada@example.org"


@pytest.fixture
def scene(make_provider_site, provider, letters):
    """Return a function that makes a site with Ada, whose address is verified, and Grace."""

    def make(entry=None, claims=None, email_verified=True, proof="link", **changes):
        site = make_provider_site(entry, FACTOR_KEY=FACTOR_KEY, **changes)
        ada = {"username": USERNAME, "email": ADDRESS}
        if email_verified:
            ada |= {"email_verified_at": utc_now(), "email_verified_by": proof}
        insert_rows([ada, {"username": "Grace", "email": "grace@example.org"}])
        provider.people["eve"] = {"email": ADDRESS, **(claims or {})}
        return SimpleNamespace(
            site=site,
            ada=User.get(username=USERNAME),
            grace=User.get(username="Grace"),
            provider=provider,
            client=TestApp(site),
            letters=letters,
        )

    return make


def who(client):
    return client.get("/").json["user"]


def owners():
    """Return the usernames that have an account of a provider, by subject."""
    return {row.subject: User.get_by_id(row.user_id).username for row in Identity.select()}


def arrive(scene, subject="eve"):
    """Log in with an account that no user has, and return the page of what is offered."""
    assert path_of(log_in(scene.client, scene.provider, subject, status=303)) == "/auth/complete"
    assert who(scene.client) is None
    return scene.client.get("/auth/complete", headers=BROWSER)


def submitted(page, **fields):
    for name, value in fields.items():
        page.form[name] = value
    return page.form.submit(headers=SAME_ORIGIN, status="*")


# What happens.


def logs_in(scene, user=USERNAME, subject="ada"):
    assert path_of(log_in(scene.client, scene.provider, subject, status=303)) == "/"
    assert who(scene.client) == user


def says_taken(scene, subject="eve", email=ADDRESS):
    before = owners()
    page = arrive(scene, subject)
    assert "Log in to your account" in page
    assert email in page.html.main.text
    assert page.html.find("a", string="Log in to connect both")
    scene.client.post("/auth/complete", {"username": "x"}, headers=SAME_ORIGIN, status=409)
    assert (owners(), User.select().count()) == (before, 2)


def creates_with_another_name(scene):
    refused = submitted(arrive(scene))
    assert refused.status_int == 409
    assert "taken" in refused.html.select_one("#username-error").text
    creates(scene, proposal=USERNAME)


def creates(scene, is_verified=True, email=None, proposal="eve"):
    page = arrive(scene)
    assert page.form["username"].value == proposal
    assert ("email" in page.form.fields) is not is_verified
    answer = submitted(page, username="Evelyn", **({} if email is None else {"email": email}))
    assert (answer.status_int, who(scene.client)) == (303, "Evelyn")
    created = User.get(User.username == "Evelyn")
    assert (created.email_verified_at is not None) is is_verified
    assert created.email == (email or "eve@example.org")
    assert (created.is_staff, created.is_superuser) == (False, False)
    assert owners() == {"eve": "Evelyn"}


def creates_at_once(scene):
    assert path_of(log_in(scene.client, scene.provider, "eve", status=303)) == "/auth/account"
    assert who(scene.client) == "eve"
    created = User.get(User.username == "eve")
    assert (created.email, created.email_verified_at is not None) == ("eve@example.org", True)
    assert owners() == {"eve": "eve"}


def offers_only_the_login(scene):
    page = arrive(scene)
    assert "There is no account for you here" in page
    assert "has the email address" not in page
    fields = {"username": "x", "email": "x@a.example"}
    scene.client.post("/auth/complete", fields, headers=SAME_ORIGIN, status=403)
    assert (owners(), User.select().count()) == ({}, 2)


def sends_link(scene, email, recipients, has_link):
    page = arrive(scene)
    assert submitted(page, email=email).status_int == 202
    scene.site.site.outbox.stop()
    scene.site.site.outbox.deliver()
    assert scene.letters.recipients == recipients
    assert any("/verify?" in link for link in scene.letters.links) is has_link
    assert (owners(), User.select().count()) == ({}, 2)


def reveals_nothing(scene):
    """The page is that of an address that no user has; a form that wants it is refused."""
    page = arrive(scene)
    scene.provider.people["ivy"] = {"email": "ivy@example.org", **UNVERIFIED}
    other = SimpleNamespace(**{**vars(scene), "client": TestApp(scene.site)})
    other_page = arrive(other, "ivy")
    plain = other_page.html.main.text.replace("ivy@example.org", ADDRESS)
    assert page.html.main.text == plain
    assert page.form.fields.keys() == other_page.form.fields.keys()
    assert submitted(page).status_int == 409
    assert (owners(), who(scene.client)) == ({}, None)


def is_refused(scene, subject):
    before = owners()
    page = log_in(scene.client, scene.provider, subject, status=403)
    assert "deactivated" in page.html.main.text
    assert (owners(), who(scene.client)) == (before, None)


def asks_for(path, scene, subject):
    assert path_of(log_in(scene.client, scene.provider, subject, status=303)) == path
    assert (who(scene.client), owners()) == (None, {subject: USERNAME})


def known(then, make, *, claims=None, **changes):
    scene = make(**changes)
    connect(scene.ada, scene.provider)
    scene.provider.people["ada"] = claims or {}
    then(scene)


def known_inactive(make):
    scene = make()
    connect(scene.ada, scene.provider)
    update_user(scene.ada, is_active=False)
    is_refused(scene, "ada")


def known_factor(make):
    scene = make()
    connect(scene.ada, scene.provider)
    add_app(scene.site, scene.ada)
    asks_for("/auth/second", scene, "ada")


def known_renamed(make):
    scene = make()
    connect(scene.ada, scene.provider)
    scene.provider.people["ada"] = {"email": scene.grace.email, "preferred_username": "Grace"}
    logs_in(scene)
    assert owners() == {"ada": USERNAME}
    assert User.get_by_id(scene.ada.id).email == ADDRESS


def known_other(make):
    scene = make()
    connect(scene.ada, scene.provider)
    scene.client = logged_in(scene.site, scene.grace)
    logs_in(scene)


def other_subject(make):
    scene = make()
    connect(scene.ada, scene.provider)
    says_taken(scene)


def other_issuer(make):
    with Provider() as other:
        scene = make()
        connect(scene.ada, other, "eve")
        says_taken(scene)


def link(make):
    scene = make(LINK, {"email": ADDRESS.upper()})
    logs_in(scene, subject="eve")
    assert owners() == {"eve": USERNAME}


def link_vouched(then, make, *, link):
    """Another provider has verified the address for whoever created the account there."""
    with Provider() as other:
        scene = make(LINK, further=(other.entry("other", link=link),))
        scene.ada.delete_instance()
        other.people["mallory"] = {"email": ADDRESS}
        log_in(scene.client, other, "mallory", name="other", status=303)
        page = scene.client.get("/auth/complete", headers=BROWSER)
        submitted(page, username=USERNAME).follow()
        assert who(scene.client) == USERNAME
        assert User.get(User.username == USERNAME).email_verified_at is not None
        scene.client = TestApp(scene.site)
        then(scene)


def link_operator(make):
    scene = make(LINK, proof=PROVEN_BY_OPERATOR)
    logs_in(scene, subject="eve")
    assert owners() == {"eve": USERNAME}


def link_unknown(make):
    scene = make(LINK, proof="")
    says_taken(scene)


def link_look_alike(make):
    scene = make(LINK, {"email": "ada@example.ºrg"})
    says_taken(scene, email="ada@example.ºrg")


def link_inactive(make):
    scene = make(LINK)
    update_user(scene.ada, is_active=False)
    is_refused(scene, "eve")


def link_factor(make):
    scene = make(LINK)
    add_app(scene.site, scene.ada)
    asks_for("/auth/second", scene, "eve")


def member(make):
    scene = make(claims={"email": "eve@example.org"})
    scene.client = logged_in(scene.site, scene.grace)
    assert path_of(log_in(scene.client, scene.provider, "eve")) == "/auth/complete"
    page = scene.client.get("/auth/complete", headers=BROWSER)
    assert owners() == {}
    page.form.submit("connect", headers=SAME_ORIGIN, status=303)
    assert owners() == {"eve": "Grace"}


def connect_taken(make):
    scene = make()
    connect(scene.ada, scene.provider)
    client = logged_in(scene.site, scene.grace)
    url = errand(client, scene.site, CONNECT, user_id=scene.grace.id)
    page = come_back(client, scene.provider.authorize(url, "ada"), status=409)
    assert "another account of this site" in page.html.main.text
    assert owners() == {"ada": USERNAME}


def unknown(then, make, entry=None, claims=None, **changes):
    then(make(entry, claims, **changes))


NEW = {"email": "eve@example.org"}
NEW_UNVERIFIED = {**NEW, **UNVERIFIED}
TO_EVE = partial(sends_link, email="eve@example.org", recipients=["eve@example.org"], has_link=True)
TO_ADA = partial(sends_link, email=ADDRESS, recipients=[ADDRESS], has_link=False)

CASES = {
    "known": partial(known, logs_in),
    "known-renamed": known_renamed,
    "known-unverified": partial(known, logs_in, claims=UNVERIFIED),
    "known-inactive": known_inactive,
    "known-factor": known_factor,
    "known-demanded": partial(
        known, partial(asks_for, "/auth/totp", subject="ada"), SECOND_FACTOR="all"
    ),
    "known-other": known_other,
    "other-subject": other_subject,
    "other-issuer": other_issuer,
    "new": partial(unknown, creates, claims=NEW),
    "new-at-once": partial(unknown, creates_at_once, entry={"register": "at_once"}, claims=NEW),
    "new-unverified": partial(
        unknown, partial(creates, is_verified=False, email="e@a.example"), claims=NEW_UNVERIFIED
    ),
    "new-unverified-mail": partial(unknown, TO_EVE, claims=NEW_UNVERIFIED, **MAIL),
    "new-closed": partial(unknown, offers_only_the_login, entry={"create": "off"}, claims=NEW),
    "new-opened": partial(unknown, creates, entry={"create": "on"}, claims=NEW, **CLOSED),
    "taken": partial(unknown, says_taken),
    "taken-unverified": partial(unknown, reveals_nothing, claims=UNVERIFIED),
    "taken-unverified-mail": partial(unknown, TO_ADA, claims=UNVERIFIED, **MAIL),
    "taken-closed": partial(unknown, offers_only_the_login, claims=UNVERIFIED, **CLOSED),
    "taken-name": partial(
        unknown,
        creates_with_another_name,
        claims={**NEW, "preferred_username": USERNAME},
    ),
    "link": link,
    "link-provider-unverified": partial(unknown, reveals_nothing, entry=LINK, claims=UNVERIFIED),
    "link-site-unverified": partial(unknown, says_taken, entry=LINK, email_verified=False),
    "link-vouched": partial(link_vouched, says_taken, link="ask"),
    "link-vouched-trusted": partial(link_vouched, partial(logs_in, subject="eve"), link="verified"),
    "link-operator": link_operator,
    "link-unknown": link_unknown,
    "link-look-alike": link_look_alike,
    "link-inactive": link_inactive,
    "link-factor": link_factor,
    "member": member,
    "connect-taken": connect_taken,
}


def test_the_page_lists_the_most_common_cases():
    assert len(LISTED) == 12
    assert [each for each in CASES if each not in FURTHER] == LISTED
    assert FURTHER.keys() < CASES.keys()


@pytest.mark.slow
@pytest.mark.promise(68)
@pytest.mark.promise(72)
@pytest.mark.parametrize("case", CASES)
def test_what_happens_is_as_the_case_says(case, scene):
    CASES[case](scene)


@pytest.mark.promise(68)
def test_only_true_is_verified(scene):
    """As a string, other languages read this as true."""
    reveals_nothing(scene(LINK, {"email_verified": "true"}))
