"""What `python -m wsgiauth check` says about codes in emails."""

from collections.abc import Iterator

from wsgiauth.accounts.models import PROVEN_HERE, User
from wsgiauth.feature import Finding, Question
from wsgiauth.site import Site


def _limits(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.LOGIN_CODES and not settings.MAILS_PER_ACCOUNT:
        yield Finding(
            "LOGIN_CODES is on and MAILS_PER_ACCOUNT is 0, so nothing limits how many codes of one"
            " account can be guessed."
        )


def _unproven(site: Site) -> Iterator[Finding]:
    if not site.settings.LOGIN_CODES:
        return
    is_proven = User.email_verified_at.is_null(False) & User.email_verified_by.in_(PROVEN_HERE)
    number = User.select().where(User.is_active, ~is_proven).count()
    if number:
        yield Finding(
            f"{number} active user{'' if number == 1 else 's'} with an address that was never"
            " proven by a link or an operator: who asks for a code gets the link for a new password"
            " instead.",
            is_risk=False,
        )


QUESTIONS = (Question(_limits, needs_database=False), Question(_unproven))
