"""What the command `check` says about other providers."""

import pytest

from tests.support.hostile_provider import Provider
from tests.support.identities import account
from tests.support.sites import SECRET_KEY, free_port
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.providers import identities
from wsgiauth.storage import context

PUBLIC = "https://example.org"


@pytest.fixture
def check(wsgiauth, person, monkeypatch, database):
    """Return a function that runs `check` with settings, and returns the lines."""

    def run(*entries, strict=False, **settings):
        values = {"SECRET_KEY": SECRET_KEY, "PUBLIC_URL": PUBLIC, **settings}
        if entries:
            values["OIDC_PROVIDERS"] = " ".join(entries)
        with monkeypatch.context() as patch:
            for name, value in values.items():
                patch.setenv(name, value)
            status, output, errors = wsgiauth("check", *(["--strict"] if strict else []))
        storage.discard_connection(storage.current())
        context.use(database)  # the command opened it once more
        assert status == int(strict), errors
        return output.splitlines()

    return run


def about(lines, word):
    return [each for each in lines if word in each]


def test_each_provider_is_asked_and_named(check):
    with Provider() as google, Provider("/") as auth0, Provider() as gitlab:
        auth0.discovery["issuer"] = auth0.issuer.rstrip("/")
        entries = [google.entry("google"), auth0.entry("auth0"), gitlab.entry("gitlab")]
        lines = check(*entries)
        strict = check(*entries, strict=True)
    assert about(lines, "log in with these") == [
        "note: Users can log in with these providers: google, gitlab."
    ]
    assert about(lines, "warning: The provider") == [
        "warning: The provider auth0 cannot be used (discovery: issuer). Its discovery document"
        " names another issuer; compare them to the last slash."
    ]
    assert about(strict, "warning: The provider")


def test_a_provider_that_is_down_is_a_warning(check):
    with Provider() as provider, provider.down():
        lines = check(provider.entry("google"))
    assert about(lines, "provider google cannot be used (discovery: connection).")
    assert not about(lines, "log in with these")
    assert lines[-1] == "The settings are valid and the database is ready."


def test_a_proxy_that_is_down_is_a_warning_that_names_its_setting(check):
    proxy = f"http://127.0.0.1:{free_port()}"
    lines = check("google:https://client:secret@id.example.org", OIDC_PROXY=proxy)
    assert about(lines, "warning: The provider") == [
        "warning: The provider google cannot be used (discovery: proxy). Check that OIDC_PROXY can"
        " be reached, that its user and password are right, and that it lets connections through."
    ]


def test_link_verified_needs_verified_addresses(check, tmp_path):
    mail = {"MAIL_URL": f"file://{tmp_path}", "MAIL_FROM": "site@example.org"}
    with Provider() as provider:
        verified, asked = provider.entry(link="verified"), provider.entry()
        assert about(check(verified), "note: link=verified (google) needs users")
        assert not about(check(verified, **mail), "link=verified")
        assert not about(check(asked), "link=verified")


@pytest.mark.every_database
def test_users_who_cannot_log_in_any_more_are_counted(check, person):
    identities.connect(person, account(), 0)
    stranded = "warning: 1 active user cannot log in: no password"
    assert not about(check(), stranded)
    User.update(hashed_password="").execute()
    assert about(check(), stranded)
    passkey = {"id": "p", "user": person, "relying_party": "example.org", "sign_count": 0}
    texts = dict.fromkeys(("name", "credential_id", "public_key", "user_handle"), "x")
    Passkey.create(**passkey, **texts, created_at=0)
    assert about(check(), stranded)
    assert not about(check(PASSKEYS="on"), stranded)
    Passkey.delete().execute()
    with Provider() as provider:
        assert about(check(provider.entry()), stranded)
        identities.connect(User.get(), account("s-2", issuer=provider.issuer), 0)
        assert not about(check(provider.entry()), stranded)
    User.update(is_active=False).execute()
    assert not about(check(), stranded)
