"""USERNAMES=off: people see no username, and nothing speaks of one."""

import json
import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from urllib.parse import urlsplit

import jwt
import pytest
from bs4 import BeautifulSoup
from webtest import TestApp

from tests.features.factors.samples import give_passkey
from tests.features.panel.samples import PAGES as LISTS
from tests.features.personal_data.samples import fail
from tests.features.terms.sites import VERSION
from tests.support import features
from tests.support.authenticators import options_of
from tests.support.crawling import crawl
from tests.support.declared import LETTER_SAMPLES
from tests.support.driving import changed, make_site
from tests.support.factors import add_app
from tests.support.mails import MAIL
from tests.support.oauth_apps import USERINFO, App
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from tests.web.pages import REQUEST, SAMPLES
from wsgiauth import Group, User, storage
from wsgiauth.accounts import names, update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.app import ROUTES
from wsgiauth.events import emit
from wsgiauth.features.notices.notices import TEMPLATES
from wsgiauth.features.panel.groups import GROUP_ACTIONS
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of
from wsgiauth.storage import context
from wsgiauth.testing import logged_in, mailbox, make_user, provider_account
from wsgiauth.web.pages import Pages

HANDLE = re.compile(r"\bu[a-z2-7]{15}\b")
SEEN = ("alt", "aria-label", "placeholder", "title")  # attributes that people read or hear
FOR_PROGRAMS = {"username", "preferred_username"}  # members of JSON
# Values of the examples, which such a site does not make.
OF_EXAMPLES = (
    "See your username and your language",
    "username and language",
    "Choose Username",  # the head of a column
    "users, by username",
)
ENDS_ACCOUNTS = ("/close", "/delete", "/deactivate")
ANN = "ann@example.org"
ACCEPTED = {"accept_terms": VERSION}
LOGIN = {"username": "mary@example.org", "password": PASSWORD}
OTPAUTH = re.compile("^otpauth:")
MONTH_AGO = datetime.now(UTC) - timedelta(days=30)
UNSEEN = {
    "unchecked.html": "it shows no account",
    "username.html": "the site has no such page",
}
PHRASE = "another unrelated phrase"
SCRIPT = {**SAME_ORIGIN, "Accept": "application/json"}


def faults_in(text):
    """Return what is around a username, or the word, in a text; empty without them."""
    text = " ".join(text.split())
    found = HANDLE.search(text) or re.search("username", text, re.IGNORECASE)
    return "" if found is None else text[max(0, found.start() - 80) : found.end() + 80]


def seen_in(html):
    """Return what people see or hear of a page; quickly empty if nothing else can be wrong."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    if not faults_in(
        re.sub("(autocomplete|data-rules|for|id|name)=(\"[^\"]*\"|'[^']*')", "", text)
    ):
        return ""
    page = BeautifulSoup(html, "html.parser")
    for each in page(["script", "style"]):
        each.decompose()
    texts = [page.get_text(" ")]
    for tag in page.find_all(True):
        is_typed = (
            tag.name == "input" and tag.get("type") != "hidden" and not tag.has_attr("hidden")
        )
        seen = (*SEEN, "value") if is_typed or tag.name == "option" else SEEN
        spoken = {name for name in tag.attrs if name.startswith("data-")} - {"data-rules"}
        texts += [str(value) for name, value in tag.attrs.items() if name in {*seen, *spoken}]
    return "\n".join(texts)


def values_in(document, name=""):
    """Yield the strings of JSON, but for those that are for programs."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from values_in(value, key)
    elif isinstance(document, list):
        for each in document:
            yield from values_in(each, name)
    elif isinstance(document, str) and name not in FOR_PROGRAMS and document != "username":
        yield document


# The examples of all templates.


def test_no_page_speaks_of_usernames():
    pages = Pages("/auth", usernames=False)
    blank = {"message": "", "errors": {}, "username": "", "asks_username": False}
    faults = {}
    for sample in SAMPLES:
        page = sample.replaced(**{k: v for k, v in blank.items() if hasattr(sample, k)})
        html = pages.render(REQUEST, page).body.decode()
        text = " ".join(seen_in(html).split())
        for each in OF_EXAMPLES:
            text = text.replace(each, "")
        if sample.template not in UNSEEN and (found := faults_in(text)):
            faults[sample.template] = found
    assert faults == {}


def test_no_email_speaks_of_usernames(settings):
    letters = Letters(replace(settings, USERNAMES=False, **MAIL))
    for letter in LETTER_SAMPLES:
        message = letters.message(Addressed(letter, "ada@example.org", None))
        words = f"{message['Subject']} {plain_text_of(message)}"
        assert (letter.template, faults_in(words)) == (letter.template, "")


# A site with everything, and people who do all that they can.


class Reader:
    """Reads all answers, and all pages and emails by their templates."""

    def __init__(self, patch):
        self.faults, self.templates = [], set()
        do_request, render, message = TestApp.do_request, Pages.render, Letters.message

        def answered(client, request, *arguments, **options):
            answer = do_request(client, request, *arguments, **options)
            if request.path.startswith("/auth/") and not request.path.endswith("openapi.json"):
                self.read(f"{request.method} {request.path_qs}", answer)
            return answer

        def rendered(pages, environ, page, **options):
            self.templates.add(page.template)
            return render(pages, environ, page, **options)

        def written(letters, addressed):
            self.templates.add(addressed.letter.template)
            made = message(letters, addressed)
            html = made.get_body(("html",)).get_content()
            text = f"{made['Subject']}\n{plain_text_of(made)}\n{seen_in(html)}"
            self.note(addressed.letter.template, text)
            return made

        patch.setattr(TestApp, "do_request", answered)
        patch.setattr(Pages, "render", rendered)
        patch.setattr(Letters, "message", written)

    def read(self, where, answer):
        kind = answer.content_type or ""
        if kind == "text/html":
            self.note(where, seen_in(answer.text))
        elif kind.endswith("json"):
            self.note(where, "\n".join(values_in(answer.json)))
        elif kind.startswith("text/"):
            self.note(where, answer.text)

    def note(self, where, text):
        found = faults_in(text)
        if found:
            self.faults.append((where, found))


@pytest.fixture
def site(database_url, tmp_path, unsent, provider):
    """Return a site with everything, where users had usernames before."""
    given = {"VERIFICATION": "on", "LOGIN_NOTICES": "on", "LANGUAGES": "en"}
    before = make_site(database_url, tmp_path, provider, has_demands=True, **given)
    for name in ("root", "ann"):
        is_staff = name == "root"
        flags = {"is_staff": is_staff, "is_superuser": is_staff, "is_verified": True}
        user = make_user(before, name, password=PASSWORD, **flags)
        with context.using(before.database):
            features.fill(before, user)
    with context.using(before.database):
        for user in User.select():
            handle = names.make_username()
            changes = {"username": handle, "username_key": handle}
            User.update(changes).where(User.id == user.id).execute()
    with changed(before, USERNAMES=False) as made:
        yield made
        made.site.outbox.stop()
    storage.discard_connection(before.database)


@pytest.fixture
def reader(monkeypatch):
    return Reader(monkeypatch)


def user_of(site, name):
    with context.using(site.database):
        return User.get(User.email == f"{name}@example.org")


def decode(token):
    """Return the claims of a token."""
    return jwt.decode(token, options={"verify_signature": False})


def link_in(site, path, recipient):
    """Return the last emailed link of a kind to an address, without the host."""
    *_, link = (
        word.removeprefix(MAIL["PUBLIC_URL"])
        for each in mailbox(site)
        if each["To"] == recipient
        for word in plain_text_of(each).split()
        if path in word
    )
    return link


def addresses(site, user):
    """Yield every URL, with values for its parts, and the addresses of further pages."""
    values = features.path_values(site, user)
    for path in sorted(ROUTES):
        action = (*ACTIONS, *GROUP_ACTIONS) if "{action}" in path else ("",)
        for each in action:
            yield f"/auth{path.format(**{**values, 'action': each})}"
    yield from features.pages(site, user)
    yield from (f"/auth/admin/users?{query}" for query in LISTS.values())


@pytest.mark.slow
def test_people_see_no_username(site, reader, caplog):
    caplog.set_level(logging.INFO, "wsgiauth")
    begin_without_an_account(site)
    forget_a_password(site)
    log_in_in_two_steps(site)
    move_to_another_address(site)
    use_apps(site)
    invite(site)
    come_from_a_provider(site)
    get_every_notice(site)
    open_everything(site)
    mailbox(site)
    assert "\n".join(f"{where}: {found}" for where, found in dict(reader.faults).items()) == ""
    assert {each.template for each in (*SAMPLES, *LETTER_SAMPLES)} - reader.templates == {*UNSEEN}
    assert not [each for each in caplog.messages if "@" in each]


def begin_without_an_account(site):
    """Register with an email, by a link, and without one."""
    browser = TestApp(site)
    browser.get("/auth/register", headers=BROWSER)
    browser.post("/auth/register", {"email": "x"}, headers=SAME_ORIGIN, status=422)
    form = {"email": "mary@example.org"}
    browser.post("/auth/register", form, headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    link = link_in(site, "/verify?", "mary@example.org")
    browser.get(link, headers=BROWSER).mustcontain("mary@example.org")
    form = {"token": link.partition("=")[2], **ACCEPTED, "password": "mary"}
    browser.post("/auth/verify", form, headers=SAME_ORIGIN, status=422)
    form["password"] = PASSWORD
    browser.post("/auth/verify", form, headers=SAME_ORIGIN, status=303)
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    browser.post("/auth/register", {"email": "pia@example.org"}, headers=SAME_ORIGIN, status=303)
    code = {"code": mailbox(site).codes[-1]}
    answer = browser.post("/auth/code/enter", code, headers=SAME_ORIGIN, status=303)
    answer.follow(headers=BROWSER).mustcontain("pia@example.org")
    with changed(site, LOGIN_CODES=False) as other:
        form = {"email": "pat@example.org"}
        TestApp(other).post("/auth/register", form, headers=SAME_ORIGIN, status=202)
    with changed(site, VERIFICATION=False) as other:
        form = {"email": "tim@example.org", "password": PASSWORD, **ACCEPTED}
        for status in (201, 409):
            answer = TestApp(other).post_json("/auth/register", form, status=status)
        assert answer.json["errors"] == {"email": ["This email address is taken."]}
        TestApp(other).get("/auth/register", headers=BROWSER)
        TestApp(other).post("/auth/register", form, headers=SAME_ORIGIN, status=409)


def forget_a_password(site):
    """Type wrong names, and get a link and a code."""
    browser = TestApp(site)
    for path in ("forgot", "code", "login"):
        browser.get(f"/auth/{path}", headers=BROWSER)
        for name in ("", "nobody@example.org", ANN):
            browser.post(f"/auth/{path}", {"username": name}, headers=SAME_ORIGIN, status="*")
    browser.get("/auth/code/enter", headers=BROWSER)
    browser.post("/auth/code/enter", {"code": "x"}, headers=SAME_ORIGIN, status="*")
    code = {"code": mailbox(site).codes[-1]}
    browser.post("/auth/code/enter", code, headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    link = link_in(site, "/reset?", ANN)
    browser = TestApp(site)
    browser.get(link, headers=BROWSER).mustcontain(ANN)
    form = {"token": link.partition("=")[2], "password": "ann"}
    browser.post("/auth/reset", form, headers=SAME_ORIGIN, status=422)
    form["password"] = PHRASE
    page = browser.post("/auth/reset", form, headers=SAME_ORIGIN, status=303).follow(
        headers=BROWSER
    )
    assert page.forms[0]["username"].value == ANN


def log_in_in_two_steps(site):
    """Add second factors, and use them."""
    mary = user_of(site, "mary")
    browser = logged_in(site, mary)
    browser.post("/auth/totp", {"name": "Tablet"}, headers=SAME_ORIGIN, status=303)
    page = browser.get("/auth/totp", headers=BROWSER)
    assert ":mary%40example.org?" in str(page.html.find(href=OTPAUTH))
    options = json.loads(options_of(browser.get("/auth/passkeys", headers=BROWSER)))
    assert options["user"]["name"] == options["user"]["displayName"] == "mary@example.org"
    app, key = add_app(site, mary), give_passkey(site, mary, "Laptop")
    browser = TestApp(site)
    page = browser.post("/auth/login", LOGIN, headers=SAME_ORIGIN, status=303).follow()
    page.mustcontain("Logging in as", "mary@example.org")
    browser.post("/auth/second", {"code": "x"}, headers=SAME_ORIGIN, status=401)
    form = {"code": app.code(), "trust": "on"}
    browser.post("/auth/second", form, headers=SAME_ORIGIN, status=303)
    browser.get("/auth/login", headers=BROWSER).mustcontain("mary@example.org")
    made = browser.post("/auth/recovery-codes", {"x": ""}, headers=SAME_ORIGIN)
    made.mustcontain("mary@example.org")
    browser = TestApp(site)
    passkey = key.get(options_of(browser.get("/auth/login", headers=BROWSER)))
    browser.post("/auth/login", {"credential": passkey}, headers=SAME_ORIGIN, status=303)


def move_to_another_address(site):
    """Change an address, which the reader of the former mailbox undoes."""
    ann = user_of(site, "ann")
    with context.using(site.database):
        update_user(ann, email_verified_at=MONTH_AGO, email_verified_by=PROVEN_BY_LINK)
    browser = logged_in(site, ann)
    browser.get("/auth/email", headers=BROWSER)
    for each in ("tim@example.org", "zebra@example.net"):
        browser.post("/auth/email", {"email": each}, headers=SAME_ORIGIN, status=202)
    link = link_in(site, "/verify?", "zebra@example.net")
    browser.get(link, headers=BROWSER).mustcontain(ANN, "zebra@example.net")
    form = {"token": link.partition("=")[2]}
    browser.post("/auth/verify", form, headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    link, stranger = link_in(site, "/restore?", ANN), TestApp(site)
    stranger.get(link, headers=BROWSER).mustcontain(ANN)
    form = {"token": link.partition("=")[2]}
    stranger.post("/auth/restore", form, headers=SAME_ORIGIN, status=200).mustcontain(ANN)


def use_apps(site):
    """Allow apps, refuse one, and log out of the site there."""
    ann = user_of(site, "ann")
    with context.using(site.database):
        group = Group.objects.create(name="Closed")
    app, browser = App(site), logged_in(site, ann)
    browser.get(app.url(), headers=BROWSER).follow(headers=BROWSER).mustcontain(ANN)
    tokens = app.log_in(browser)
    browser.get(app.url(response_mode="form_post"), headers=BROWSER)
    bearing = {"Authorization": f"Bearer {tokens['access_token']}"}
    for each in (decode(tokens["id_token"]), app.program.get(USERINFO, headers=bearing).json):
        assert HANDLE.fullmatch(each["preferred_username"])
        assert "name" not in each
    browser.get(App(site, group=group).url(), headers=BROWSER, status=403).mustcontain(ANN)
    codes = app.program.post("/auth/oauth/device", {"scope": "openid profile"}).json
    device = {"user_code": codes["user_code"]}
    browser.post("/auth/device", device, headers=SAME_ORIGIN, status=200).mustcontain(ANN)
    browser.get("/auth/apps", headers=BROWSER)
    browser.get("/auth/oauth/logout", headers=BROWSER).mustcontain(ANN)


def invite(site):
    """Invite people; the email does not say who did."""
    root = logged_in(site, user_of(site, "root"))
    for email in ("", "eve@example.org", "eva@example.org"):
        root.post("/auth/admin/invite", {"email": email}, headers=SAME_ORIGIN, status="*")
    root.get("/auth/admin/invitations", headers=BROWSER).mustcontain("eve@example.org")
    assert "root" not in plain_text_of(mailbox(site)[-1])
    browser = TestApp(site)
    link = link_in(site, "/verify?", "eve@example.org")
    browser.get(link, headers=BROWSER).mustcontain("eve@example.org")
    form = {"token": link.partition("=")[2], "password": PASSWORD, **ACCEPTED}
    browser.post("/auth/verify", form, headers=SAME_ORIGIN, status=303)
    root.post("/auth/admin/invite", {"email": ANN}, headers=SAME_ORIGIN, status=409)


def come_from_a_provider(site):
    """Create accounts with a provider, and connect one."""
    for subject, email, is_verified in (
        ("1", "zoe@example.org", True),
        ("2", ANN, True),
        ("3", "zara@example.org", False),
    ):
        seen = {"email": email, "email_verified": is_verified, "username": "zed"}
        provider_account(site, "google", subject=subject, **seen)
        browser = TestApp(site)
        answer = browser.post("/auth/oidc/google", {"next": ""}, headers=SAME_ORIGIN).follow()
        page = answer.follow(headers=BROWSER)
        assert is_verified or page.forms[0]["email"].value == email
        form = {"email": email, **ACCEPTED}
        browser.post(
            urlsplit(answer.location)._replace(netloc="", scheme="").geturl(),
            form,
            headers=SAME_ORIGIN,
            status="*",
        )
    link = link_in(site, "/verify?", "zara@example.org")
    browser.get(link, headers=BROWSER).mustcontain("zara@example.org")
    provider_account(site, "google", subject="4", email="tim@example.net")
    login = {"username": "tim@example.org", "password": PASSWORD}
    for number in range(2):  # the second browser is at a new place
        browser = TestApp(site, extra_environ={"REMOTE_ADDR": f"192.0.{number}.1"})
        answer = browser.post("/auth/oidc/google", {"next": ""}, headers=SAME_ORIGIN).follow()
        browser.post("/auth/login", login, headers=SAME_ORIGIN, status=303)
    browser.get(answer.location, headers=BROWSER).mustcontain("tim@example.org")


def get_every_notice(site):
    """Get each notice, also to an address that has never been proven."""
    mary = user_of(site, "mary")
    details = {
        "email": mary.email,
        "old_email": mary.email,
        "username": mary.username,
        "language": "",
        "verified_at": "",
        "verified_by": "",
        "agent": "Mozilla/5.0",
        "factor": "Phone",
        "client": "Wiki",
        "scopes": "openid profile",
    }
    with context.using(site.database):
        for name, unproven in product(TEMPLATES, ("", mary.email)):
            if name != "names_changed":
                emit(
                    site.site.changes[name],
                    user_id=mary.id,
                    details={**details, "unproven": unproven},
                )


def open_everything(site):
    """Open every page, and send every form with nothing in it."""
    ann, root = user_of(site, "ann"), user_of(site, "root")
    with context.using(site.database):
        urls = [*dict.fromkeys(addresses(site, ann))]
        fail(site, ann.username)
        fail(site, ann.email)
    for page in crawl(logged_in(site, root)):
        assert page.status_int == 200
    for url in urls:
        member = logged_in(site, root if "/admin" in url else ann)
        for browser, accept in product((TestApp(site), member), (BROWSER, SCRIPT)):
            browser.get(url, headers=accept, status="*")
        if not url.endswith(ENDS_ACCOUNTS):
            TestApp(site).post_json(url, {}, headers=SAME_ORIGIN, status="*")
            member.post_json(url, {}, headers=SAME_ORIGIN, status="*")
            member.post(url, {"x": ""}, headers=SAME_ORIGIN, status="*")
