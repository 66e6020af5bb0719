"""PASSWORD_LOGIN=off: what people see on a site where all else is on speaks of no password."""

import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.declared import LETTER_SAMPLES
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import connected, logged_in_at_provider
from tests.support.identities import ENTRY, ISSUER
from tests.support.logins import make_stale
from tests.support.mails import MAIL, Post
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from tests.web.pages import REQUEST, SAMPLES
from wsgiauth import AuthMiddleware, storage
from wsgiauth.app import ROUTES
from wsgiauth.endpoints.confirm import NextStep
from wsgiauth.features.factors import recovery_codes
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of
from wsgiauth.storage import context
from wsgiauth.testing import logged_in, make_user
from wsgiauth.web.pages import Pages

EVERYTHING = {
    "PASSWORD_LOGIN": False,
    "OIDC_PROVIDERS": (ENTRY,),
    "PASSKEYS": True,
    "FACTOR_KEY": FACTOR_KEY,
    "TRUSTED_BROWSER_DAYS": 30,
    "VERIFICATION": True,
    "LOGIN_CODES": True,
    "LOGIN_NOTICES": True,
    "BASIC_AUTH": "keys",
    "FORWARD_AUTH": True,
    **MAIL,
}
# Such a site neither shows nor sends these, but for a notice after an operator set a password.
OF_PASSWORDS = {
    *("register.html", "password.html", "forgot.html", "forgot_sent.html", "reset.html"),
    *("mail/reset.txt", "mail/notice_password.txt"),
}
# What a page of a site with passwords has in its example.
OF_EXAMPLES = {
    "message": "",
    "notice": "",
    "errors": {},
    "has_password": False,
    "is_password": False,
    "forgot_url": None,
    "next_step": NextStep(),
}
ARGUED = (
    # Git and pip ask for a password, and take an API key.
    "tools that ask for a name and a password, such as git and pip, take your username and the key"
    " as the password.",
    # The answer to a form of before the setting, or to a program that sends a password.
    "this site has no logins with a password.",
    # Facts from before the setting: how a session began, what failed in the last day, the trail.
    "<dt>logged in with</dt> <dd>password</dd>",
    "<strong>wrong password</strong>",
    '<option value="password_changed">password changed</option>',
    '<span class="reason">password',
    # Only in the example: such a site has no such action.
    "send a password reset link",
)


def of_no_passwords(samples):
    return [each for each in samples if each.template not in OF_PASSWORDS]


def words_of(page):
    """Return what people see of a page, and its links; not its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def around_the_word(text):
    """Return what is around "password" in a text; empty without it."""
    text = " ".join(text.split()).lower()
    for each in ARGUED:
        text = text.replace(each, "")
    place = text.find("password")
    return "" if place < 0 else text[max(0, place - 100) : place + 100]


def test_no_page_speaks_of_passwords():
    pages = Pages("/auth", password_login=False)
    for page in of_no_passwords(SAMPLES):
        shown = page.replaced(**{k: v for k, v in OF_EXAMPLES.items() if hasattr(page, k)})
        html = pages.render(REQUEST, shown).body.decode()
        assert (page.template, around_the_word(words_of(html))) == (page.template, "")


def test_no_email_speaks_of_passwords(settings):
    letters = Letters(replace(settings, **EVERYTHING))
    for letter in of_no_passwords(LETTER_SAMPLES):
        for url in ("https://example.org/auth/sessions", ""):
            sent = letter.replaced(forgot_url=url) if hasattr(letter, "forgot_url") else letter
            message = letters.message(Addressed(sent, "ada@example.org", None))
            words = f"{message['Subject']} {plain_text_of(message)}"
            assert (letter.template, around_the_word(words)) == (letter.template, "")


@pytest.fixture
def site(settings):
    app = AuthMiddleware(echo, replace(settings, **EVERYTHING), send_mail=Post())
    yield app
    storage.discard_connection(app.database)


def visitors(site):
    """Yield browsers of a stranger, of users with few ways in, and of a member of the staff."""
    yield TestApp(site)
    yield logged_in(site, make_user(site, "ada"))
    yield logged_in(site, make_user(site, "grace", is_verified=True))
    root = make_user(site, "root", password=PASSWORD, is_staff=True, is_superuser=True)
    with context.using(site.database):
        row = connected(site, root, issuer=ISSUER)
    browser = logged_in_at_provider(site, root, row)
    yield browser
    make_stale()
    yield browser
    add_app(site, root)
    with context.using(site.database):
        recovery_codes.replace(root, rounds=4)
    yield logged_in_at_provider(site, root, row)


def urls(user_id=1):
    for path in sorted(ROUTES):
        filled = re.sub("{(id|client)}", str(user_id), path).replace("{provider}", "example")
        for action in ("remove-factors", "verify-email", "disconnect"):
            yield "/auth" + filled.replace("{action}", action)


def test_no_answer_speaks_of_passwords(site):
    for browser in visitors(site):
        for url in dict.fromkeys(urls()):
            for answer in (
                browser.get(url, headers=BROWSER, status="*"),
                browser.post(url, {"x": ""}, headers=SAME_ORIGIN | BROWSER, status="*"),
            ):
                if answer.content_type == "text/html":
                    assert (url, around_the_word(words_of(answer.text))) == (url, "")
            refused = browser.post_json(url, {}, headers=SAME_ORIGIN, status="*")
            if refused.content_type == "application/problem+json":
                words = f"{refused.json['detail']} {list(refused.json.get('errors', {}).values())}"
                assert (url, around_the_word(words)) == (url, "")
