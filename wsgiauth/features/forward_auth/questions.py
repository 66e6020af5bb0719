"""The question of `check` about hosts that get no cookie."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from wsgiauth.feature import Finding, Question
from wsgiauth.settings.checks import is_at_or_below
from wsgiauth.site import Site


def _hosts_without_cookie(site: Site) -> Iterator[Finding]:
    settings = site.settings
    domain, own = settings.COOKIE_DOMAIN, urlsplit(settings.PUBLIC_URL or "").hostname
    names = {each: each.removeprefix("*.").partition(":")[0] for each in settings.NEXT_HOSTS}
    outside = [
        each
        for each, name in names.items()
        if name != own and not is_at_or_below(name, domain or "")
    ]
    if settings.FORWARD_AUTH and outside:
        cause = f"COOKIE_DOMAIN is {domain}" if domain else "COOKIE_DOMAIN is not set"
        yield Finding(
            f"NEXT_HOSTS has {', '.join(outside)}, but {cause}: browsers do not send the login"
            " cookie there, so /auth/check refuses users who have logged in."
        )


QUESTIONS = (Question(_hosts_without_cookie, needs_database=False),)
