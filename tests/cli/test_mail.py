"""The commands about email, and `AuthMiddleware.invite`."""

import json

import pytest
from webtest import TestApp

from tests.support.mail_servers import mail_server
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo, free_port
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import INVITATION, OneTimeSecret
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, TakenError
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import make_group, make_settings

IN = ["groups", "invited", "by", "until"]
ROOT = MAIL["PUBLIC_URL"]


@pytest.fixture
def invite(settings, database, monkeypatch, capsys, tmp_path):
    """Return a function that runs the command; mails go to a folder."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    for name, value in {**MAIL, "MAIL_URL": f"file://{tmp_path}"}.items():
        monkeypatch.setenv(name, value)

    def run(*argv):
        status = main(["invite", *argv])
        storage.discard_connection(storage.current())
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def command(settings, database, monkeypatch, capsys):
    """Return a function that runs a command."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)

    def run(*argv):
        status = main(argv)
        storage.discard_connection(storage.current())
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def client(settings):
    """Return a client of a site that is closed to others."""
    closed = with_mail(settings, MAIL_URL=None, MAIL_FROM=None, REGISTRATION=False)
    site = AuthMiddleware(echo, closed)
    yield TestApp(site)
    storage.discard_connection(site.database)


def accept(client, link, **fields):
    token = link.strip().partition("token=")[2]
    body = {"token": token, "password": PASSWORD, **fields}
    return client.post_json("/auth/verify", body, status=201).json


@pytest.mark.every_database
def test_a_mail_is_sent_whose_link_creates_the_account(invite, client, tmp_path):
    status, output, errors = invite(
        EMAIL, "--username", USERNAME, "--staff", "--grant", "reports.publish", "reports.x"
    )
    assert (status, output) == (
        0,
        f"Invited {EMAIL}; the link in the email works for 72 hours.\n",
    ), errors
    (mail,) = tmp_path.glob("*.eml")
    (link,) = (word for word in mail.read_text().split() if word.startswith(ROOT))
    created = accept(client, link)
    assert (created["username"], created["email"]) == (USERNAME, EMAIL)
    assert (created["is_staff"], created["is_superuser"]) == (True, False)
    assert created["permissions"] == ["reports.publish", "reports.x"]
    client.get("/auth/register", status=404)


@pytest.mark.every_database
def test_the_user_joins_the_groups_of_the_invitation(invite, client, monkeypatch):
    for name in ("Blog editors", "Writers"):
        Group.objects.create(name=name)
    monkeypatch.delenv("MAIL_URL")
    _, link, _ = invite(EMAIL, "--username", USERNAME, "--join", "blog EDITORS", "Writers")
    assert accept(client, link)["groups"] == ["Blog editors", "Writers"]
    reasons = [each.reason for each in RecordedEvent.select().order_by(RecordedEvent.id)]
    assert "invitation, group Blog editors, group Writers, printed" in reasons
    assert reasons[-2:] == ["joined Blog editors", "joined Writers"]


def test_a_group_that_is_gone_when_the_account_is_created_is_left_out(settings):
    heard = []
    without_mail = with_mail(settings, MAIL_URL=None, MAIL_FROM=None)
    site = AuthMiddleware(echo, without_mail, on_event=heard.append)
    editors = Group.objects.create(name="Editors")
    Group.objects.create(name="Writers")
    link = site.invite(EMAIL, username=USERNAME, groups=[editors, "writers"])
    editors.delete_instance()
    heard.clear()
    assert accept(TestApp(site), link)["groups"] == ["Writers"]
    (refused,) = (event for event in heard if event.name == "refused")
    user = User.objects.get(username=USERNAME)
    reason = "invited to the group Editors, now gone"
    assert (refused.user_id, refused.reason) == (user.id, reason)
    storage.discard_connection(site.database)


@pytest.mark.every_database
def test_another_group_that_gets_the_name_meanwhile_is_not_joined(client):
    invited = Group.objects.create(name="Writers")
    link = client.app.invite(EMAIL, username=USERNAME, groups=["writers"])
    invited.name = "Authors"
    invited.save()
    Group.objects.create(name="Writers").grant("reports.publish")
    created = accept(client, link)
    assert (created["groups"], created["permissions"]) == (["Authors"], [])


def test_open_invitations_are_listed_and_revoked(client, command):
    client.app.invite(EMAIL, username=USERNAME, is_staff=True, permissions=["a.b"])
    status, output, _ = command("invitations")
    assert (status, output.split()[:8]) == (0, ["email", "username", "staff", "permissions", *IN])
    assert output.splitlines()[1].split()[:5] == [EMAIL, USERNAME, "yes", "a.b", "code"]
    (listed,) = json.loads(command("invitations", "--json")[1])
    assert (listed["email"], listed["groups"]) == (EMAIL, [])
    revoked = (0, f"Revoked the invitation of {EMAIL}.\n", "")
    assert command("endinvitation", f" {EMAIL}") == revoked
    missing = (1, "", f"wsgiauth: {EMAIL} has no open invitation\n")
    assert command("endinvitation", EMAIL) == missing
    assert json.loads(command("invitations", "--json")[1]) == []
    assert RecordedEvent.get(RecordedEvent.name == "invitation_ended").actor == "command line"


def test_an_unknown_group_is_refused(invite, client):
    reason = "wsgiauth: there is no group 'editors'; `groups` lists them\n"
    assert invite(EMAIL, "--join", "editors") == (1, "", reason)
    with pytest.raises(Group.DoesNotExist):
        client.app.invite(EMAIL, groups=["editors"])
    assert OneTimeSecret.select().count() == 0


def test_a_group_of_another_application_is_refused(site):
    other = AuthMiddleware(echo, make_settings())
    with pytest.raises(ValueError, match="a group of another application"):
        site.invite(EMAIL, groups=[make_group(other, "Strangers")])
    storage.discard_connection(other.database)


def test_without_mail_the_link_is_printed(invite, client, monkeypatch):
    monkeypatch.delenv("MAIL_URL")
    status, link, _ = invite(EMAIL, "--mount", "/accounts")
    assert status == 0
    assert link.startswith(f"{ROOT}/accounts/verify?token=")
    assert link.count("\n") == 1
    created = accept(client, link, username=USERNAME)
    assert (created["is_staff"], created["permissions"]) == (False, [])


def test_without_a_public_url_there_is_no_link(invite, monkeypatch):
    monkeypatch.delenv("MAIL_URL")
    monkeypatch.delenv("PUBLIC_URL")
    status, _, errors = invite(EMAIL)
    assert (status, "PUBLIC_URL must be set" in errors) == (1, True)


def test_an_address_with_an_account_is_refused(invite, settings):
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    assert invite(EMAIL.upper()) == (1, "", "wsgiauth: This email address is taken.\n")
    refused = invite("grace@example.org", "--username", USERNAME)
    assert refused == (1, "", "wsgiauth: This username is taken.\n")
    assert Mail.select().count() == 0


def test_a_malformed_permission_is_wrong_usage(invite, capsys):
    with pytest.raises(SystemExit):
        invite(EMAIL, "--grant", "publish")
    assert "<app>.<action>" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        invite(EMAIL, "--superuser")


def test_a_mail_that_cannot_be_sent_stays_in_the_outbox(invite, monkeypatch):
    monkeypatch.setenv("MAIL_URL", f"smtp://localhost:{free_port()}")
    status, output, errors = invite(EMAIL)
    assert (status, output) == (1, "")
    assert "was not sent yet" in errors
    assert Mail.select().count() == 1


def test_a_mail_that_is_refused_is_reported(invite, monkeypatch):
    with mail_server() as (port, received):
        received.answers["RCPT"].append("550 no such user")
        monkeypatch.setenv("MAIL_URL", f"smtp://localhost:{port}")
        status, output, errors = invite(EMAIL)
    assert (status, output) == (1, "")
    assert "the email was refused: invitation" in errors
    assert Mail.select().count() == 0


# In code


def test_code_invites_by_mail(settings):
    post = Post()
    site = AuthMiddleware(echo, with_mail(settings, REGISTRATION=False), send_mail=post)
    invited = site.invite(EMAIL, username=USERNAME, is_staff=True, permissions=["reports.x"])
    assert invited is None
    site.site.outbox.stop()
    site.site.outbox.deliver()
    assert post.recipients == [EMAIL]
    created = accept(TestApp(site), post.links[0])
    assert (created["is_staff"], created["permissions"]) == (True, ["reports.x"])
    with pytest.raises(TakenError):
        site.invite(EMAIL)
    storage.discard_connection(site.database)


def test_code_gets_the_link_of_a_site_without_mail(settings):
    changed = with_mail(settings, MAIL_URL=None, MAIL_FROM=None)
    site = AuthMiddleware(echo, changed, mount="/accounts")
    link = site.invite(EMAIL)
    assert link.startswith(f"{ROOT}/accounts/verify?token=")
    with pytest.raises(ValueError, match="a permission must have the form"):
        site.invite(EMAIL, permissions="reports.x")
    with pytest.raises(ConfigurationError, match="PUBLIC_URL"):
        AuthMiddleware(echo, settings).invite(EMAIL)
    storage.discard_connection(site.database)


def test_each_site_invites_to_its_own_accounts(settings, tmp_path):
    changed = with_mail(settings, MAIL_URL=None, MAIL_FROM=None)
    site = AuthMiddleware(echo, changed)
    other = f"sqlite:///{tmp_path}/other.db"
    last = AuthMiddleware(echo, with_mail(settings, DATABASE_URL=other), send_mail=Post())
    site.invite(EMAIL)
    assert OneTimeSecret.select().count() == 0  # of the last site
    with storage.context.using(site.database):
        assert OneTimeSecret.get().purpose == INVITATION
        assert User.select().count() == 0
    for each in (site, last):
        storage.discard_connection(each.database)


def test_a_mount_that_is_no_path_would_break_the_link(capsys):
    wrong = ("account", ".evil.example", "/", "/account/", "/a?b", "")
    commands = ("preview", "resetlink ada", "invite a@example.org")
    for command, mount in [("preview", each) for each in wrong] + [(c, "/") for c in commands]:
        with pytest.raises(SystemExit) as refused:
            main([*command.split(), "--mount", mount])
        assert refused.value.code == 2
        expected = f"argument --mount: {mount!r} is not a path such as /auth"
        assert expected in capsys.readouterr().err, command
