"""The apps that a user can open, and those that the user has allowed or that have tokens."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import pages_of
from wsgiauth.accounts.tables import Membership
from wsgiauth.authentication.lasting_access import LastingAccess
from wsgiauth.authentication.scopes import ScopeInWords, in_words
from wsgiauth.features.oauth_server.clients import shown_name
from wsgiauth.features.oauth_server.document_urls import host_in
from wsgiauth.features.oauth_server.grants import list_grants, list_offline_clients
from wsgiauth.features.oauth_server.redirect_uris import host_of, is_of_this_computer, uris_of
from wsgiauth.features.oauth_server.scopes import granted_in, unbound
from wsgiauth.features.oauth_server.tables import Client, Consent, Grant
from wsgiauth.settings import Settings
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given

MOST_LISTED = 100  # apps: anyone can register any number of them

_MOST = given(Consent.created_at, "most")
_NEWEST = ModelStatement(
    lambda: (
        Consent.select(Consent, Client)
        .join(Client)
        .where(is_given(Consent.user))
        .order_by(Consent.created_at.desc(), Consent.client)
        .limit(_MOST)
    )
)
_IS_MEMBER = peewee.fn.EXISTS(
    Membership.select(peewee.SQL("1")).where(
        Membership.group == Client.group_id, is_given(Membership.user)
    )
)
_LAUNCHABLE = Statement(
    lambda: (
        Client.select(Client.name, Client.launch_url)
        .where(
            Client.expires_at.is_null(),
            Client.document_url.is_null(),
            Client.launch_url.is_null(False),
            Client.launch_url != "",
            ~Client.is_service,
            Client.group_id.is_null() | _IS_MEMBER,
        )
        .order_by(Client.name_key, Client.id)
        .limit(_MOST)
    )
)


class App(NamedTuple):
    """An app in the list of a user; times are in UTC."""

    id: str  # the `client_id`
    key: str  # the id of the row: names it in paths and on pages
    name: str
    hosts: tuple[str, ...]  # where it is, or the schemes of an app on a device
    sites: tuple[str, ...]  # the hosts without the user's own devices; for pages
    title: str  # of the app on pages: the host of one that registered itself
    scopes: tuple[str, ...]
    allowed_at: datetime
    last_used_at: datetime | None  # when it last got tokens that are still valid

    @property
    def in_words(self) -> tuple[ScopeInWords, ...]:
        """The scopes as sentences."""
        return in_words(self.scopes)

    def document(self) -> dict[str, object]:
        """Return the app, ready for JSON."""
        fields = self._asdict()
        del fields["key"], fields["sites"], fields["title"]
        return json_fields(fields)


class LaunchableApp(NamedTuple):
    """An app that a user can open."""

    name: str
    url: str


class OfflineApps(LastingAccess):
    """The apps that keep their access without a session (`offline_access`)."""

    path = "apps"

    def names(self, user: User, now: float) -> list[str]:
        """Return the names of the apps."""
        return [shown_name(each) for each in list_offline_clients(user, now, MOST_LISTED)]


def list_apps(user: User, now: float) -> list[App]:
    """Return the apps that a user has allowed or uses, the last used first.

    Of those that the user has allowed, only the newest `MOST_LISTED` are listed.
    """
    found: dict[str, App] = {}
    for each in _NEWEST.all(user=user.id, most=MOST_LISTED):
        found[each.client_id] = _app(each.client, unbound(each.scopes.split()), each.created_at)
    for grant in list_grants(user, now):
        if grant.client_id not in found and not grant.client.is_trusted:
            continue
        app = found.get(grant.client_id) or _app(
            grant.client, granted_in(grant.scopes), grant.created_at
        )
        used = max(filter(None, (app.last_used_at, from_timestamp(grant.refreshed_at))))
        scopes = tuple(dict.fromkeys((*app.scopes, *granted_in(grant.scopes))))
        found[grant.client_id] = app._replace(last_used_at=used, scopes=scopes)
    return sorted(found.values(), key=lambda app: app.last_used_at or app.allowed_at, reverse=True)


def list_launchable(user: User) -> list[LaunchableApp]:
    """Return the apps that operators offer to a user, by name.

    An app that registered itself is never among them: its URL would be a link of a stranger.
    """
    rows = _LAUNCHABLE.fetchall(user=user.id, most=MOST_LISTED)
    return [LaunchableApp(*each) for each in rows]


def own_consents(user: User, settings: Settings) -> Iterator[object]:
    """Yield what a user has allowed which app."""
    of_user = Consent.select(Consent, Client).join(Client).where(Consent.user == user.id)
    for page in pages_of(of_user, Consent.client):
        for row in page:
            yield json_fields(
                {
                    "app": row.client.name,
                    "scopes": unbound(row.scopes.split()),
                    "allowed_at": from_timestamp(row.created_at),
                }
            )


def own_grants(user: User, settings: Settings) -> Iterator[object]:
    """Yield what apps got from a user, also what has ended and is not deleted yet."""
    of_user = Grant.select(Grant, Client).join(Client).where(Grant.user == user.id)
    for page in pages_of(of_user, Grant.id):
        for row in page:
            yield json_fields(
                {
                    "app": row.client.name,
                    "scopes": granted_in(row.scopes),
                    "service": row.resource or None,
                    "began_at": from_timestamp(row.created_at),
                    "last_used_at": from_timestamp(row.refreshed_at),
                    "expires_at": from_timestamp(row.expires_at),
                }
            )


def _app(client: Client, scopes: list[str], since: int) -> App:
    uris = uris_of(client.redirect_uris)
    own = [] if client.document_url is None else [host_in(client.document_url)]
    hosts = list(map(host_of, uris))
    sites = [host_of(each) for each in uris if not is_of_this_computer(each)]
    if not client.is_public:  # it is on a server, even if that is this computer
        sites = sites or hosts
    return App(
        client.client_id,
        client.id,
        client.name,
        tuple(dict.fromkeys([*own, *hosts])),
        tuple(dict.fromkeys([*own, *sites])),
        shown_name(client),
        tuple(scopes),
        from_timestamp(since),
        None,
    )
