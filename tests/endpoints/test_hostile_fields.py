"""Whatever the fields of a form hold, it is answered, on every database."""

import re
from dataclasses import replace

import pytest

from tests.support.authenticators import PASSKEYS
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import Post, with_mail
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.app import ROUTES
from wsgiauth.features.panel.groups import GROUP_ACTIONS
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.forms import Form
from wsgiauth.forms.fields import Text, Texts, named
from wsgiauth.testing import logged_in, make_group, make_user


@pytest.fixture
def site(settings, unsent):
    """Return a site that offers every URL, and lets no attempt wait."""
    limits = dict.fromkeys(
        [
            *("LOGIN_FAILURES_PER_ACCOUNT", "LOGIN_FAILURES_PER_ADDRESS", "LOGINS_PER_ACCOUNT"),
            *("REGISTRATIONS_PER_ADDRESS", "MAILS_PER_ACCOUNT", "MAILS_PER_ADDRESS"),
        ],
        0,
    )
    changed = with_mail(replace(settings, **limits), FACTOR_KEY=FACTOR_KEY, **PASSKEYS)
    made = AuthMiddleware(echo, changed, send_mail=Post())
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def boss(site):
    """Return a superuser who has a handle of every kind."""
    made = make_user(site, "boss", is_staff=True, is_superuser=True)
    add_app(site, made)
    return made


@pytest.fixture
def forms(site):
    """Return the path of each form, and an empty value of each field that holds strings."""
    numbers = {"users": make_user(site, "grace").id, "groups": make_group(site, "readers").id}
    found = []
    for path, endpoint in ROUTES.items():
        if not isinstance(endpoint, Form):
            continue
        strings = dict.fromkeys(named(endpoint.fields, Text), "")
        strings |= {name: [] for name in named(endpoint.fields, Texts)}
        kind = "groups" if path.startswith("/admin/groups") else "users"
        actions = {"users": ACTIONS, "groups": GROUP_ACTIONS}[kind] if "{action}" in path else [""]
        filled = re.sub("{(id|client)}", str(numbers[kind]), path)
        found += [
            (f"/auth{filled}".replace("{action}", each), strings)
            for each in sorted(actions, key=lambda action: action == "delete")  # at the end
        ]
    return found


def value_like(empty, text):
    return [text] if isinstance(empty, list) else text


@pytest.mark.every_database
@pytest.mark.slow
@pytest.mark.uncounted
def test_a_field_with_nul_does_not_fail_the_database(site, boss, forms):
    """PostgreSQL refuses a string with NUL, which is an error of the query, not of the database."""
    client, failed = logged_in(site, boss), set()
    for path, strings in forms:
        for name in strings:
            for others in ("", "ab"):
                fields = {each: value_like(empty, others) for each, empty in strings.items()}
                fields |= {"end": "", "remove": "", name: value_like(strings[name], "a\0b")}
                answer = client.post_json(path, fields, status="*")
                if answer.status_int >= 500:
                    failed.add((path, name))
                if answer.status_int == 401:
                    client = logged_in(site, boss)
    assert failed == set()


@pytest.mark.every_database
def test_a_malformed_handle_is_answered_like_an_unknown_one(site, boss):
    client, of_grace = logged_in(site, boss), f"/auth/admin/users/{make_user(site, 'grace').id}"
    for path, field, status in (
        ("/auth/keys", "end", 404),
        ("/auth/totp", "remove", 422),
        ("/auth/passkeys", "remove", 422),
        ("/auth/sessions", "end", 404),
        (f"{of_grace}/end-key", "key", 404),
        (f"{of_grace}/end-login", "login", 404),
    ):
        unknown = client.post_json(path, {field: "x" * 12}, status=status).json
        for malformed in ("\0", "a\0b", "x" * 5000, "a-b", "\u0661"):
            assert client.post_json(path, {field: malformed}, status=status).json == unknown
