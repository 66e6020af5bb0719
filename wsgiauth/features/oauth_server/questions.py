"""The questions of `python -m wsgiauth check` about the provider."""

from collections.abc import Iterator

from wsgiauth.feature import Finding, Question
from wsgiauth.features.oauth_server import app_sessions
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.messages import counted
from wsgiauth.site import Site


def _lacks_rsa(site: Site) -> Iterator[Finding]:
    if site.settings.OAUTH_SERVER and "RS256" not in site.require(SignedTokens).algorithms:
        yield Finding(
            "OAUTH_SERVER: SERVICE_KEYS has no RSA key. OpenID Connect asks every provider for"
            " RS256, and some apps accept nothing else."
        )


def _lacks_clients(site: Site) -> Iterator[Finding]:
    if site.settings.OAUTH_SERVER and not Client.select().exists():
        yield Finding(
            "OAUTH_SERVER is on, but no app is registered: `python -m wsgiauth client add NAME"
            " --redirect URI` registers one.",
            is_risk=False,
        )


def _lacks_algorithms(site: Site) -> Iterator[Finding]:
    if not site.settings.OAUTH_SERVER:
        return
    signed = site.require(SignedTokens)
    usable = ("", *signed.algorithms)
    for each in Client.select().where(Client.algorithm.not_in(usable)).order_by(Client.id):
        yield Finding(
            f"OAUTH_SERVER: SERVICE_KEYS has no key for {each.algorithm}, which the app"
            f" {each.name} ({each.id}) demands, so {signed.default} signs its ID tokens. Add a key,"
            f" or let `python -m wsgiauth client change {each.id} --alg default` end the demand."
        )


def _without_pkce(site: Site) -> Iterator[Finding]:
    if not site.settings.OAUTH_SERVER:
        return
    for each in Client.select().where(Client.is_without_pkce).order_by(Client.id):
        yield Finding(
            f"The app {each.name} ({each.client_id}) can log users in without PKCE: once it sends"
            f" PKCE, end this by `python -m wsgiauth client change {each.client_id} --with-pkce`.",
            is_risk=False,
        )


def _lacks_services(site: Site) -> Iterator[Finding]:
    if not site.settings.OAUTH_SERVER or site.settings.SERVICES:
        return
    for each in Client.select().where(Client.is_service).order_by(Client.id):
        yield Finding(
            f"SERVICES is empty, so the program {each.name} ({each.id}) can get no token: it needs"
            " a service that the token is for."
        )


def _joined_services(site: Site) -> Iterator[Finding]:
    for each in site.settings.SERVICES if site.settings.OAUTH_SERVER else ():
        if "," in each:
            yield Finding(
                f"SERVICES has one service {each}: a comma separates scopes, and a space services."
            )


def _overdue_logouts(site: Site) -> Iterator[Finding]:
    number = app_sessions.count_overdue(site.tokens.now())
    if number:
        yield Finding(
            f"{counted(number, 'logout token')} overdue: a server with OAUTH_SERVER sends them. Its"
            " log says which app does not accept them."
        )


QUESTIONS = (
    Question(_lacks_rsa, needs_database=False, is_for_panel=True),
    Question(_lacks_clients),
    Question(_lacks_algorithms),
    Question(_without_pkce),
    Question(_lacks_services),
    Question(_joined_services, needs_database=False),
    Question(_overdue_logouts, is_for_panel=True),
)
