"""What `python -m wsgiauth check` says about codes in emails."""

from collections.abc import Iterator

from wsgiauth.accounts.models import PROVEN_HERE, User
from wsgiauth.feature import Finding, Question
from wsgiauth.messages import counted
from wsgiauth.site import Site


def _limits(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.LOGIN_CODES and not settings.MAILS_PER_ACCOUNT:
        yield Finding(
            "LOGIN_CODES is on, but MAILS_PER_ACCOUNT sets no limit: nothing limits how many codes"
            " of one account can be guessed."
        )


def _unproven(site: Site) -> Iterator[Finding]:
    if not site.settings.LOGIN_CODES:
        return
    is_proven = User.email_verified_at.is_null(False) & User.email_verified_by.in_(PROVEN_HERE)
    number = User.select().where(User.is_active, ~is_proven).count()
    if number:
        link = "for a new password" if site.settings.PASSWORD_LOGIN else "that verifies the address"
        yield Finding(
            f"{counted(number, 'active user')} with an address that was never proven by a link or"
            f" an operator: a user who asks for a code gets the link {link} instead of a code. If"
            " you know that an address is the user's own, run `python -m wsgiauth set NAME"
            " --verified`.",
            is_risk=False,
        )


QUESTIONS = (Question(_limits, needs_database=False, is_for_panel=True), Question(_unproven))
