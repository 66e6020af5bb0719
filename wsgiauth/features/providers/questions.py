"""What `check` asks about other providers, and each of them."""

from collections.abc import Iterator

from wsgiauth.authentication import ways_in
from wsgiauth.authentication.oidc import Providers
from wsgiauth.feature import Finding, Question
from wsgiauth.messages import counted
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.site import Site


def _unusable_providers(site: Site) -> Iterator[Finding]:
    """Ask each provider now."""
    usable = []
    for provider in site.part(Providers) or ():
        problem = provider.problem()
        if problem is None:
            usable.append(provider.entry.name)
        else:
            yield Finding(problem)
    yield from _unverified_links(site)
    if usable:
        publishing = f"These providers publish what a login needs: {', '.join(usable)}."
        yield Finding(publishing, is_risk=False)


def _unverified_links(site: Site) -> Iterator[Finding]:
    """Yield a note if few addresses can be verified, on which entries depend."""
    entries = parse_entries(site.settings.OIDC_PROVIDERS)
    names = [each.name for each in entries if each.link == "verified"]
    if names and site.settings.MAIL_URL is None:
        yield Finding(
            f"link=verified ({', '.join(names)}) needs users with a verified address, but without"
            " MAIL_URL only the logins of other providers verify one.",
            is_risk=False,
        )


def _stranded_users(site: Site) -> Iterator[Finding]:
    """Yield a warning if users can log in only with providers that have no entry."""
    number = ways_in.count_stranded(site.settings)
    if number:
        yield Finding(
            f"{counted(number, 'active user')} cannot log in: no password, and only accounts of"
            " providers without an entry in OIDC_PROVIDERS. Add the entry again, with exactly the"
            " same issuer, or print links to choose a password by `python -m wsgiauth resetlink`."
        )


QUESTIONS = (Question(_unusable_providers, needs_database=False), Question(_stranded_users))
