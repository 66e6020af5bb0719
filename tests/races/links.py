"""Races of one-time secrets: links, pending logins, forms and emails."""

from types import SimpleNamespace

from tests.conftest import insert_user
from tests.races.accounts import insert_superuser
from tests.races.race import NOW, OTHER_PASSWORD, SETTINGS, TOKENS, Race, race
from tests.support.declared import COMPOSERS
from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password
from wsgiauth.accounts import NewAccount, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import CODE, INVITATION, Key, OneTimeSecret
from wsgiauth.authentication import authenticate, one_time, pending, sessions
from wsgiauth.authentication.password import make_reset_link, reset_password
from wsgiauth.authentication.restoring import (
    FormerAddress,
    find_restoration,
    make_restore_link,
    mark_change,
    restore_address,
)
from wsgiauth.feature import at_first_proof_of
from wsgiauth.features.keys import api_keys
from wsgiauth.features.links.address_links import (
    make_address_link,
    prove_address,
    read_address_proof,
)
from wsgiauth.features.links.invitations import Invitation, accept_invitation, make_invitation_link
from wsgiauth.features.links.open_invitations import end_invitations
from wsgiauth.features.registry import FEATURES
from wsgiauth.forms.repeated import only_once
from wsgiauth.mail.outbox import Mail, Outbox, enqueue

NEW_EMAIL = "countess@example.org"
FORMER_EMAIL = "ada@former.example"
ADDRESS = "address"


def secret_of(link):
    return link.partition("token=")[2]


def invite(**changes):
    """Return an invitation and its stored secret."""
    invitation = Invitation(email=EMAIL, **changes)
    link = make_invitation_link(invitation, SETTINGS, mount="/auth", now=NOW)
    return invitation, one_time.find(secret_of(link), INVITATION, now=NOW)


def accept(username, invitation, secret):
    account = NewAccount(username, EMAIL, PASSWORD, settings=SETTINGS)
    user = accept_invitation(invitation, secret, account, account.hash_password())
    return user is not None


def reset_link(user):
    return secret_of(make_reset_link(user, SETTINGS, mount="/auth", now=NOW))


def reset(user, secret):
    return reset_password(
        user,
        secret,
        OTHER_PASSWORD,
        settings=SETTINGS,
        now=NOW,
        at_first_proof=at_first_proof_of(FEATURES),
    )


def prove(user, secret):
    return prove_address(read_address_proof(secret), secret)


def pending_login(user):
    cookie = pending.start(user, destination="/", remember=False, now=NOW)
    return pending.find(cookie, NOW)


@race(
    "An invitation is accepted twice",
    "One account exists.",
    "compare and set: wsgiauth_one_time.id",
)
class OneInvitation(Race):
    def prepare(self):
        return invite()

    def one(self, *invited):
        return accept("one", *invited)

    def other(self, *invited):
        return accept("other", *invited)

    def check(self, outcome, *invited):
        assert outcome.is_once(False)
        assert User.objects.count() == 1


@race(
    "An invitation is accepted, and a code opens its page",
    "One of them succeeds.",
    "compare and set: wsgiauth_one_time.id",
)
class InvitationAndCode(OneInvitation):
    def other(self, invitation, secret):
        return one_time.exchange(secret, secret.data) is not None

    def check(self, outcome, *invited):
        assert outcome.is_once(False)
        assert User.objects.count() == (outcome.one is True)
        left = OneTimeSecret.select().where(OneTimeSecret.purpose == INVITATION)
        assert left.count() == (outcome.other is True)


@race(
    "Two invitations of one address are accepted",
    "One account exists.",
    "unique key: wsgiauth_user.email_key",
)
class TwoInvitations(Race):
    def prepare(self):
        return invite(is_requested=True), invite(is_requested=True)

    def one(self, invited, _):
        return accept("one", *invited)

    def other(self, _, invited):
        return accept("other", *invited)

    def check(self, outcome, *invited):
        # The second finds the address taken, or its link ended by the first.
        assert outcome.is_once("TakenError") or outcome.is_once(False)
        assert User.objects.count() == 1


@race(
    "An invitation is accepted, and who sent it loses the right to",
    "After the loss, no account is created.",
    "one writer",
    "lock of the users",
)
class RevokedInvitation(Race):
    def prepare(self):
        insert_superuser("root")
        toor = insert_superuser("toor")
        return toor, *invite(actor=f"user {toor.id}", is_of_staff=True)

    def one(self, toor, *invited):
        return update_user(toor, is_active=False)

    def other(self, toor, *invited):
        return accept("invited", *invited)

    def check(self, outcome, toor, *invited):
        assert (outcome.one, outcome.other) == (True, outcome.first == "other")
        assert User.objects.count() == 2 + outcome.other


@race(
    "An invitation is accepted, and revoked",
    "After the revocation, no account is created.",
    "compare and set: wsgiauth_one_time.id",
)
class EndedInvitation(Race):
    def prepare(self):
        return invite()

    def one(self, *invited):
        return accept("invited", *invited)

    def other(self, *invited):
        return end_invitations(EMAIL)

    def check(self, outcome, *invited):
        assert (outcome.one, outcome.other) == (outcome.first == "one", None)
        assert User.objects.count() == outcome.one


@race(
    "An invitation is revoked, and its email sent",
    "After the revocation, no link works.",
    "one writer",
    "lock of the row: wsgiauth_mail",
)
class EndedEmail(Race):
    def prepare(self):
        enqueue(None, INVITATION, name=EMAIL, data={**Invitation(EMAIL)._asdict(), "mount": "/"})
        Mail.update(due_at=NOW, expires_at=NOW + 60).execute()
        return ()

    def one(self):
        return end_invitations(EMAIL)

    def other(self):
        return Outbox(with_mail(SETTINGS), print, COMPOSERS, clock=lambda: NOW).deliver()

    def check(self, outcome):
        assert (outcome.one, outcome.other) == (None, None)
        assert OneTimeSecret.select().count() == Mail.select().count() == 0


@race(
    "A link to choose a password is used twice", "It works once.", "one writer", "lock of the users"
)
class TwoResets(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, reset_link(ada)

    def one(self, ada, secret):
        return reset(ada, secret)

    def check(self, outcome, ada, secret):
        assert outcome.is_once(False)
        assert User.get_by_id(ada.id).security_stamp == 1


@race(
    "A link to choose a password is used, and the password changed",
    "The link does not work after the change.",
    "one writer",
    "lock of the users",
)
class ResetAndChange(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, reset_link(ada)

    def one(self, ada, secret):
        return reset(ada, secret)

    def other(self, ada, secret):
        change_password(ada, "still other words", settings=SETTINGS)

    def check(self, outcome, ada, secret):
        assert outcome.one is (outcome.first == "one")
        assert authenticate(USERNAME, "still other words", rounds=4) == ada


@race(
    "A link that proves an address is used twice",
    "It works once.",
    "one writer",
    "lock of the users",
)
class TwoProofs(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        link = make_address_link(ada, NEW_EMAIL, SETTINGS, mount="/auth", now=NOW)
        return ada, one_time.find(secret_of(link), ADDRESS, now=NOW)

    def one(self, ada, secret):
        return prove(ada, secret)

    def check(self, outcome, ada, secret):
        assert outcome.is_once(False)
        assert User.get_by_id(ada.id).email == NEW_EMAIL


@race(
    "An address changes, and a link that the former one got is used",
    "One of them succeeds.",
    "one writer",
    "lock of the users",
)
class ProofAndReset(TwoProofs):
    def prepare(self):
        ada, secret = super().prepare()
        return ada, secret, reset_link(ada)

    def one(self, ada, secret, _):
        return prove(ada, secret)

    def other(self, ada, _, secret):
        return reset(ada, secret)

    def check(self, outcome, ada, *_):
        assert outcome.is_once(False)


@race(
    "A link that restores an address is used twice",
    "It works once.",
    "one writer",
    "lock of the users",
)
class TwoRestorations(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        former = FormerAddress(FORMER_EMAIL, "2026-01-01T00:00:00+00:00", "link")
        mark = mark_change(ada.id, NOW + 60)
        link = make_restore_link(ada.id, former, mark, SETTINGS, mount="/auth", now=NOW)
        return ada, find_restoration(secret_of(link), now=NOW)

    def one(self, ada, found):
        return restore_address(found)

    def check(self, outcome, ada, *_):
        assert outcome.is_once(False)
        assert User.get_by_id(ada.id).email == FORMER_EMAIL


@race(
    "A former address is restored, and a new one proven",
    "The former address stays.",
    "one writer",
    "lock of the users",
)
class RestorationAndProof(TwoRestorations):
    def prepare(self):
        ada, found = super().prepare()
        link = make_address_link(ada, NEW_EMAIL, SETTINGS, mount="/auth", now=NOW)
        return ada, found, one_time.find(secret_of(link), ADDRESS, now=NOW)

    def one(self, ada, found, _):
        return restore_address(found)

    def other(self, ada, _, secret):
        return prove(ada, secret)

    def check(self, outcome, ada, *_):
        assert (outcome.one, outcome.other) == (True, outcome.first == "other")
        assert User.get_by_id(ada.id).email == FORMER_EMAIL


@race(
    "A former address is restored, and a session starts",
    "No session from before the restoration is valid.",
    "stamp",
)
class RestorationAndSession(TwoRestorations):
    def other(self, ada, found):
        sessions.start(ada, TOKENS, methods="pwd")

    def check(self, outcome, ada, *_):
        assert outcome.one is True
        assert User.get_by_id(ada.id).sessions.count() == 0


@race(
    "A code from an email is entered twice",
    "One login starts.",
    "compare and set: wsgiauth_one_time.id",
)
class OneCode(Race):
    def prepare(self):
        secret = one_time.issue(CODE, insert_user(USERNAME, EMAIL), now=NOW, lifetime=60)
        return (one_time.find(secret, CODE, now=NOW),)

    def one(self, row):
        return one_time.use(row)

    def check(self, outcome, row):
        assert outcome.is_once(False)


@race(
    "A pending login is finished twice",
    "One session starts.",
    "compare and set: wsgiauth_one_time.id",
)
class OnePending(Race):
    def prepare(self):
        return (pending_login(insert_user(USERNAME, EMAIL)),)

    def one(self, waiting):
        return pending.finish(waiting, NOW)

    def check(self, outcome, waiting):
        assert outcome.is_once(False)


@race(
    "Two pending logins of a user are finished",
    "One session starts; the other login, which is in another browser, has ended.",
    "one writer",
    "lock of the users",
)
class TwoPending(Race):
    stops_early = True  # each deletes its own secret, then those of the other

    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return pending_login(ada), pending_login(ada)

    def one(self, waiting, _):
        return pending.finish(waiting, NOW)

    def other(self, _, waiting):
        return pending.finish(waiting, NOW)

    def check(self, outcome, *waiting):
        assert outcome.is_once(False)


def send_form(user, once):
    submission = SimpleNamespace(
        member=SimpleNamespace(user=user),
        site=SimpleNamespace(tokens=TOKENS),
        environ={"PATH_INFO": "/auth/keys"},
        once=once,
    )
    with only_once(submission, "done"):
        return api_keys.create(user, "Key", (), now=NOW) is not None


@race("Two forms of a user are sent", "Both are carried out.", "one writer", "lock of the users")
class TwoForms(Race):
    stops_early = True  # each inserts a row of the user, then changes the user

    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return send_form(ada, "one")

    def other(self, ada):
        return send_form(ada, "other")

    def check(self, outcome, ada):
        assert (outcome.one, outcome.other) == (True, True)


@race("A form is sent twice", "It is carried out once.", "unique key: wsgiauth_one_time.id")
class SentTwice(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return send_form(ada, "the same")

    def check(self, outcome, ada):
        assert outcome.is_once("RequestError")
        assert Key.select().count() == 1


@race(
    "Two processes send the emails that are due",
    "Each is sent by one.",
    "compare and set: wsgiauth_mail.due_at, attempts",
)
class TwoSenders(Race):
    def prepare(self):
        data = {"mount": "/auth"}
        enqueue(None, "reset", user=insert_user(USERNAME, EMAIL), data=data)
        Mail.update(due_at=NOW, expires_at=NOW + 60).execute()
        return ()

    def one(self):
        sent = []
        Outbox(with_mail(SETTINGS), sent.append, COMPOSERS, clock=lambda: NOW).deliver()
        return len(sent)

    def check(self, outcome):
        assert outcome.one + outcome.other == 1
