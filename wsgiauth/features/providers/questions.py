"""The questions of `check` about providers, and its requests to each of them."""

from collections.abc import Iterator

from wsgiauth.accounts.models import User
from wsgiauth.feature import Finding, Question
from wsgiauth.features.factors import passkeys
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.site import Site
from wsgiauth.storage.models import NO_PASSWORD


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
        can_be_used = f"Users can log in with these providers: {', '.join(usable)}."
        yield Finding(can_be_used, is_risk=False)


def _unverified_links(site: Site) -> Iterator[Finding]:
    """Yield a note if entries depend on verified addresses, but few addresses can be verified."""
    entries = parse_entries(site.settings.OIDC_PROVIDERS)
    names = [each.name for each in entries if each.link == "verified"]
    if names and site.settings.MAIL_URL is None:
        yield Finding(
            f"link=verified ({', '.join(names)}) needs users with a verified address, but without"
            " MAIL_URL only the logins of other providers and operators verify one (`python -m"
            " wsgiauth set NAME --verified`).",
            is_risk=False,
        )


def _stranded_users(site: Site) -> Iterator[Finding]:
    """Yield a warning if users can log in only with providers without an entry."""
    number = count_stranded(site.settings)
    if number:
        remedy = ", or print links to choose a password by `python -m wsgiauth resetlink`"
        yield Finding(
            f"{counted(number, 'active user')} cannot log in: no password, and only accounts of"
            " providers without an entry in OIDC_PROVIDERS. Add the entry again, with exactly the"
            f" same issuer{remedy if site.settings.PASSWORD_LOGIN else ''}."
        )


def count_stranded(settings: Settings) -> int:
    """Return how many active users have accounts of providers, but no way to log in."""
    issuers = [each.issuer for each in parse_entries(settings.OIDC_PROVIDERS)]
    usable = Identity.select(Identity.user).where(Identity.issuer.in_(issuers))
    stranded = (
        User.select(User.id)
        .join(Identity)
        .where(User.is_active, User.hashed_password == NO_PASSWORD, User.id.not_in(usable))
    )
    if settings.PASSKEYS:
        usable_keys = Passkey.select(Passkey.user).where(
            Passkey.relying_party == passkeys.host_of(settings)
        )
        stranded = stranded.where(User.id.not_in(usable_keys))
    return int(stranded.distinct().count())


QUESTIONS = (Question(_unusable_providers, needs_database=False), Question(_stranded_users))
