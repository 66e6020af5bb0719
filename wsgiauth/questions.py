"""The kernel's own questions of `python -m wsgiauth check`, of which the staff panel asks some."""

import math
import time
from collections.abc import Iterator
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

from wsgiauth.accounts.listing import user_pages
from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.authentication import lifetimes
from wsgiauth.authentication.second_factors import demands_second_factor
from wsgiauth.feature import Finding, Question
from wsgiauth.mail import outbox
from wsgiauth.messages import counted
from wsgiauth.settings.checks import is_svg
from wsgiauth.site import Site

_LISTED = 10  # names of users
_USUAL_POOL = 20  # connections, of Peewee


def questions_of(site: Site) -> tuple[Question, ...]:
    """Return the questions of the kernel and of the features."""
    return (*_QUESTIONS, *site.questions)


def findings_of(question: Question, site: Site) -> list[Finding]:
    """Return what a question finds; raise TypeError for anything else that it yields."""
    found = [*question.ask(site)]
    for each in found:
        if not isinstance(each, Finding):
            raise TypeError(f"a question must yield objects of Finding, not {each!r}")
    return found


def note(sentence: str) -> Finding:
    """Return a finding that is no warning."""
    return Finding(sentence, is_risk=False)


def _insecure_cookie(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.COOKIE_DOMAIN is not None:
        return
    if settings.COOKIE_SECURE == "auto" and (settings.PUBLIC_URL or "").startswith("https:"):
        yield note(
            "COOKIE_SECURE is auto, and PUBLIC_URL begins with https: the cookie is Secure only if"
            " the server knows of https, which a proxy can hide. Set COOKIE_SECURE to on."
        )


def _former_keys(site: Site) -> Iterator[Finding]:
    if site.settings.SECRET_KEY_FALLBACKS:
        hours = math.ceil(lifetimes.longest(site.settings) / lifetimes.HOUR)
        yield note(
            "SECRET_KEY_FALLBACKS has former keys: remove each one when it has signed nothing for"
            f" {hours} hours, the longest that a session lasts."
        )


def _telling_registration(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.REGISTRATION and not settings.USERNAMES and not settings.VERIFICATION:
        yield note(
            "USERNAMES=off without VERIFICATION: /auth/register tells who has an account. Set"
            " VERIFICATION to on."
        )


def _emails_without_logo(site: Site) -> Iterator[Finding]:
    settings = site.settings
    is_shown = settings.SITE_LOGO_EMAIL or not is_svg(settings.SITE_LOGO or "")
    if settings.MAIL_URL is not None and not is_shown:
        yield note(
            "SITE_LOGO is an SVG image, which few mail programs show: emails have the name of the"
            " site instead. Set SITE_LOGO_EMAIL to a PNG image."
        )


def _small_pool(site: Site) -> Iterator[Finding]:
    url = urlsplit(site.settings.DATABASE_URL)
    most = int(dict(parse_qsl(url.query)).get("max_connections", _USUAL_POOL))
    needed = 2 * site.settings.HASHING_THREADS + 2
    if url.scheme.endswith("+pool") and 0 < most < needed:
        yield note(
            f"The pool of DATABASE_URL has {most} connections: with max_connections={needed}, no"
            " request waits while HASHING_THREADS passwords are hashed."
        )


def _superusers() -> list[User]:
    active = User.objects.filter(is_superuser=True, is_active=True)
    return list(active.order_by(User.id))


def _missing_superuser(site: Site) -> Iterator[Finding]:
    if not _superusers():
        yield note("There is no superuser: `python -m wsgiauth createsuperuser` creates one.")


def _locked_out(site: Site) -> Iterator[Finding]:
    """Warn of users who have only a password, which PASSWORD_LOGIN does not accept."""
    if site.settings.PASSWORD_LOGIN:
        return
    users = (user for page in user_pages() for user, _ in page if user.is_active)
    names = (each.label for each in users if not site.ways_in.can_log_in(each))
    listed = list(islice(names, _LISTED))
    number = len(listed) + sum(1 for _ in names)
    if listed:
        more = ", …" if number > _LISTED else ""
        yield Finding(
            f"PASSWORD_LOGIN is off, and {counted(number, 'active user')} cannot log in:"
            f" {', '.join(listed)}{more}. They need another way first, such as a passkey or an"
            " account of a provider. With link=verified, a provider connects users with a verified"
            " address when they log in there."
        )


def _overdue_mails(site: Site) -> Iterator[Finding]:
    number = outbox.overdue(time.time())
    if number:
        yield Finding(f"{counted(number, 'email')} overdue: `python -m wsgiauth mail` sends them.")


def _missing_factors(site: Site) -> Iterator[Finding]:
    superusers = _superusers() if demands_second_factor(site.settings) else []
    # Also factors that no login asks for: another warning is about them.
    if superusers and not any(map(site.factors.all_of, superusers)):
        yield Finding(
            f"SECOND_FACTOR is {site.settings.SECOND_FACTOR}, but no active superuser has a second"
            f" factor: log in as one and set it up at /auth{site.factors.set_up_path}, where their"
            " next login leads."
        )


def _removable_factors(site: Site) -> Iterator[Finding]:
    """Warn of superusers whose second factors the first emailed link removes."""
    unproven = [each for each in _superusers() if not is_proven_here(each)]
    names = [each.label for each in unproven if site.factors.all_of(each)]
    if names and site.settings.MAIL_URL is not None:
        yield Finding(
            f"Superusers whose address nothing here has proven: {', '.join(names)}. Anyone with"
            " access to their mailbox can remove their second factors, by a link for a forgotten"
            " password. They verify it at /auth/email, or you know that it is right:"
            " `python -m wsgiauth set NAME --verified`."
        )


_QUESTIONS = (
    Question(_insecure_cookie, needs_database=False),
    Question(_former_keys, needs_database=False),
    Question(_telling_registration, needs_database=False),
    Question(_emails_without_logo, needs_database=False),
    Question(_small_pool),
    Question(_missing_superuser),
    Question(_locked_out),
    Question(_overdue_mails, is_for_panel=True),
    Question(lambda site: map(Finding, site.factors.risks()), is_for_panel=True),
    Question(_missing_factors),
    Question(_removable_factors),
)
