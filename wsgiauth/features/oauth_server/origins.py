"""The origins whose pages can read the answers for apps: those of redirect URIs of public clients.

An app that registered itself names its own, so the list keeps no page out: it tells browsers for
which pages the answers are. What is secret in them opens with a code or a token, never by a cookie.
"""

from wsgiauth.accounts.tables import insert_new
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.features.oauth_server.redirect_uris import is_loopback, uris_of
from wsgiauth.features.oauth_server.tables import ORIGIN_MAX_LENGTH, Client, Origin
from wsgiauth.site import Site
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import report_failure
from wsgiauth.storage.statements import Statement, given, is_given
from wsgiauth.web.cors import CrossOrigin
from wsgiauth.web.uris import web_origin

MOST_KNOWN = 1000  # in the memory of a process

_IS_PUBLIC = Client.is_public & (
    Client.expires_at.is_null() | (Client.expires_at > given(Client.expires_at, "now"))
)
_FIND = Statement(
    lambda: Origin.select(1).join(Client).where(is_given(Origin.origin), _IS_PUBLIC).limit(1)
)
_OF_CLIENT = Statement(lambda: Origin.select(Origin.origin).where(is_given(Origin.client)))


class Origins:
    """Finds origins of public clients, and remembers for a minute what it found."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bool, float]] = {}  # and until when

    def has(self, origin: str, now: float) -> bool:
        """Return whether a public client has a redirect URI of this origin.

        If the database fails, return what was found last; the request itself gets the 503.
        """
        is_known, until = self._known.get(origin, (False, now))
        if now < until:
            return is_known
        try:
            is_known = _FIND.fetchone(origin=origin, now=now) is not None
        except DATABASE_ERRORS as error:
            report_failure(error)
            return is_known
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[origin] = is_known, now + MINUTE
        return is_known


def record(client: Client) -> None:
    """Record the origins of a client as its row is now. The caller has a transaction."""
    found = set(map(web_origin, uris_of(client.redirect_uris))) if client.is_public else set()
    origins = {each for each in found if 0 < len(each) <= ORIGIN_MAX_LENGTH}
    stored = {each for (each,) in _OF_CLIENT.fetchall(client=client.id)}
    if stored - origins:
        gone = Origin.origin.in_(stored - origins)
        Origin.delete().where(Origin.client == client.id, gone).execute()
    for each in sorted(origins - stored):
        insert_new(Origin, origin=each, client=client.id)


def _is_of_app(origin: str, site: Site) -> bool:
    return site.require(Origins).has(origin, site.tokens.now())


OF_APPS = CrossOrigin(_is_of_app)
OF_THIS_COMPUTER = CrossOrigin(lambda origin, _site: is_loopback(origin))
