"""What `check` finds about other providers: it asks each of them."""

from collections.abc import Iterable

from wsgiauth.authentication import ways_in
from wsgiauth.authentication.oidc import Provider
from wsgiauth.cli.output import counted
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries


def check_providers(
    providers: Iterable[Provider], settings: Settings
) -> tuple[list[str], list[str]]:
    """Return the warnings and the notes about providers, each of which is asked now."""
    problems = {each.entry.name: each.problem() for each in providers}
    risks = [problem for problem in problems.values() if problem is not None]
    usable = [name for name, problem in problems.items() if problem is None]
    notes = _unverified_links(settings)
    if usable:
        notes.append(f"These providers publish what a login needs: {', '.join(usable)}.")
    return risks, notes


def _unverified_links(settings: Settings) -> list[str]:
    """Return a note if few addresses can be verified, on which entries depend."""
    entries = parse_entries(settings.OIDC_PROVIDERS)
    names = [each.name for each in entries if each.link == "verified"]
    if not names or settings.MAIL_URL is not None:
        return []
    return [
        f"link=verified ({', '.join(names)}) needs users with a verified address, but without"
        " MAIL_URL only the logins of other providers verify one."
    ]


def stranded_users(settings: Settings) -> list[str]:
    """Return a warning if users can log in only with providers that have no entry."""
    number = ways_in.count_stranded(settings)
    if not number:
        return []
    return [
        f"{counted(number, 'active user')} cannot log in: no password, and only accounts of"
        " providers without an entry in OIDC_PROVIDERS. Add the entry again, with exactly the same"
        " issuer, or print links to choose a password by `python -m wsgiauth resetlink`."
    ]
