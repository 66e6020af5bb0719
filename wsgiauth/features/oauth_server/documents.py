"""Client ID metadata documents: unregistered apps, whose `client_id` is a URL.

draft-ietf-oauth-client-id-metadata-document, as the authorization of the Model Context Protocol
asks. A stranger chooses the URL, so a request to it is guarded: see promise 93 in docs/promises.md.
It is sent only for a user who is logged in. What a document says is kept for all processes, and
asked for again as its headers say. A client of the table begins when a user allows the app.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import rows_of
from wsgiauth.authentication.lifetimes import DAY, MINUTE
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.exceptions import RequestError, RetryLaterError
from wsgiauth.features.oauth_server import clients, limits
from wsgiauth.features.oauth_server.document_urls import can_name_document, host_in, id_of
from wsgiauth.features.oauth_server.oauth_errors import OAuthError
from wsgiauth.features.oauth_server.registration import NEW_DAYS, Described, described
from wsgiauth.features.oauth_server.tables import Client, Document
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_proxy
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, given, is_given
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.throttling.counts import Networks
from wsgiauth.web.request import JSON, read_json_text

if TYPE_CHECKING:
    from email.message import Message

    from wsgiauth.outgoing import Reply

DEADLINE = 5.0  # seconds for a request, from the name look-up to the last byte
MAX_SIZE = 10 * 1024  # bytes of a document
AT_ONCE = 2  # requests, of a process
LEAST_FRESH, MOST_FRESH = 5 * MINUTE, DAY  # within which the headers of a document decide
FAILURE_KEPT = MINUTE
STALE = DAY  # for which a document is used that cannot be asked for again because of a limit
DECIDING = 15 * MINUTE  # for which it is used while its user decides
MOST_DOCUMENTS = 1000
MOST_OF_USER = 20

_FIND = ModelStatement(
    lambda: Document.select().where(
        is_given(Document.id), Document.expires_at > given(Document.expires_at, "now")
    )
)

_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json", re.ASCII | re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,9})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[,\s])no-(?:cache|store)", re.IGNORECASE)


class Asker(NamedTuple):
    """Whose request causes a fetch: a user who is logged in, and meets the demands of the site."""

    site: Site
    user: User
    networks: Networks


class _UnusableError(Exception):
    """A document cannot be used; the message says why, in words of this module."""


def require_possible(url: str, settings: Settings) -> None:
    """Raise RequestError (400) for a URL that no app can have as its `client_id`."""
    if not can_name_document(url, settings):
        raise unusable("its URL has another form than this site accepts")


def unusable(reason: str) -> RequestError:
    """Return the error for an app whose document cannot be used."""
    detail = _(
        "The document of the app that sent you here cannot be used: %(reason)s.", reason=reason
    )
    return RequestError(HTTPStatus.BAD_REQUEST, "invalid_client", detail)


class Documents:
    """The apps of documents.

    Attributes:
        fetch: Returns the reply at a URL, or raises OutgoingError.
    """

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        proxy = settings.OIDC_PROXY
        self._proxy = None if proxy is None else parse_proxy(proxy)
        self._settings, self._tokens = settings, tokens
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self.fetch: Callable[[str], Reply] = self._fetch

    def find(self, url: str) -> Client | None:
        """Return the app with a URL, if its document was fetched a short time ago."""
        row = self._stored(url)
        is_recent = row is not None and row.fresh_until > int(self._tokens.now()) - DECIDING
        return self._client(row) if row is not None and is_recent and not row.problem else None

    def ask(self, url: str, asker: Asker) -> Client:
        """Return the app with a URL, whose document is fetched if it is not fresh.

        Raises:
            RequestError: 400: the document cannot be used, or no app can have the URL.
            RetryLaterError: There were too many requests.
        """
        require_possible(url, self._settings)
        row, now = self._stored(url), int(self._tokens.now())
        if row is None or row.fresh_until <= now:
            try:
                row = self._fetched(url, asker, row)
            except RetryLaterError:
                if row is None or row.problem or row.fetched_at <= now - STALE:
                    raise
        if row.problem:
            raise unusable(row.problem)
        return self._client(row)

    def _stored(self, url: str) -> Document | None:
        row = _FIND.first(id=id_of(url), now=int(self._tokens.now()))
        return row if row is not None and row.url == url else None

    def _fetched(self, url: str, asker: Asker, former: Document | None) -> Document:
        """Fetch a document, and store what it says."""
        attempt = limits.document(asker.site, asker.user, asker.networks)
        of_host = limits.documents_of_host(asker.site, host_in(url))
        attempt.begin()
        of_host.begin()
        if not self._slots.acquire(blocking=False):  # before anything is sent
            attempt.withdraw()
            of_host.withdraw()
            detail = _("Too many apps are being looked up. Try again in a few seconds.")
            raise RetryLaterError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, seconds=1)
        now = int(self._tokens.now())
        content, problem, fresh = None, "", FAILURE_KEPT
        try:
            reply = self._reply(url)
            app = self._read(url, reply)
            content, fresh = json.dumps(app), freshness(reply.headers, now)
        except _UnusableError as error:
            problem = str(error)
        if former is not None and not problem:
            of_host.withdraw()  # an app that many use, so its document is fetched again and again
        columns = {
            "url": url,
            "content": content,
            "problem": problem,
            "user": asker.user.id,
            "fetched_at": now,
            "fresh_until": now + fresh,
            "expires_at": now + (FAILURE_KEPT if problem else STALE),
        }
        _store(id_of(url), columns)
        return Document(id=id_of(url), **columns)

    def _reply(self, url: str) -> "Reply":
        from wsgiauth.outgoing import OutgoingError

        try:
            return self.fetch(url)
        except OutgoingError as error:
            raise _UnusableError(_REASONS.get(str(error), str(error))) from None
        finally:
            # Also if the look-up of the name goes on: it must not keep other users waiting.
            self._slots.release()

    def _fetch(self, url: str) -> "Reply":
        from wsgiauth.outgoing import Request, Rules, send

        rules = Rules(DEADLINE, MAX_SIZE, is_public=True)
        return send(Request(url, {"Accept": JSON}), rules, self._proxy)

    def _read(self, url: str, reply: "Reply") -> Described:
        """Return what a document says, or raise _UnusableError."""
        if reply.status != HTTPStatus.OK:
            raise _UnusableError(f"its status is {reply.status}, not 200")
        if not _TYPE.fullmatch(reply.headers.get_content_type()):
            raise _UnusableError(f"its Content-Type is not {JSON}")
        if reply.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _UnusableError("it is compressed")
        try:
            metadata = read_json_text(reply.body)
        except ValueError:
            raise _UnusableError("it is not JSON in UTF-8") from None
        if not isinstance(metadata, dict):
            raise _UnusableError("it is not a JSON object")
        if metadata.get("client_id") != url:
            raise _UnusableError("its client_id is not its URL")
        if metadata.get("token_endpoint_auth_method", "none") not in ("none", None):
            raise _UnusableError("its token_endpoint_auth_method is not none")
        if metadata.get("client_secret") is not None:
            raise _UnusableError("it has a client_secret")
        settings = self._settings
        try:
            return described(
                metadata,
                settings.OAUTH_SCHEMES,
                site_name=settings.SITE_NAME or "",
                host=host_in(url),
            )
        except OAuthError as error:
            raise _UnusableError(error.description) from None

    def _client(self, row: Document) -> Client:
        """Return the client as the document describes it, which can lack a row."""
        now, url = int(self._tokens.now()), row.url
        app = Described(*json.loads(row.content or "[]"))
        client = clients.find(url, now) or Client(
            id=row.id, document_url=url, created_at=now, expires_at=now + NEW_DAYS * DAY
        )
        for name, value in app.columns().items():
            setattr(client, name, value)
        return client


def freshness(headers: "Message", now: int) -> int:
    """Return for how many seconds a reply is fresh (RFC 9111 section 4.2.1), within our bounds."""
    control = ",".join(headers.get_all("Cache-Control", []))
    max_age = _MAX_AGE.search(control)
    if _NOT_KEPT.search(control):
        seconds = 0
    elif max_age is not None:
        seconds = int(max_age[1]) - _whole(headers.get("Age", ""))
    else:
        seconds = _seconds(headers.get("Expires", "")) - (_seconds(headers.get("Date", "")) or now)
    return min(max(seconds, LEAST_FRESH), MOST_FRESH)


def _whole(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _seconds(date: str) -> int:
    """Return a date of HTTP in seconds since the epoch; 0 if it is none."""
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, OverflowError):
        return 0


def _store(document_id: str, columns: Mapping[str, Any]) -> None:
    """Keep what a document says, instead of the oldest one of the user, or of all, if too many."""
    with database.atomic():
        if not Document.update(columns).where(Document.id == document_id).execute():
            Document.insert(id=document_id, **columns).on_conflict_ignore().execute()
    purge_some(Document, columns["fetched_at"])
    newest = Document.select(Document.id).order_by(Document.fetched_at.desc())
    of_user = newest.where(Document.user == columns["user"])
    for query, most in ((of_user, MOST_OF_USER), (newest, MOST_DOCUMENTS)):
        ids = [each.id for each in query.offset(most).limit(10)]
        if ids:
            Document.delete().where(Document.id.in_(ids)).execute()


def own_documents(user: User, settings: Settings) -> Iterator[object]:
    """Yield the documents of apps that a user has caused to be fetched lately."""
    for row in rows_of(Document.select().where(Document.user == user.id), Document.id):
        yield json_fields({"url": row.url, "fetched_at": from_timestamp(row.fetched_at)})


_REASONS = {
    "address": "its host has no public address",
    "connection": "its host does not answer",
    "proxy": "the proxy of this site refuses the connection",
    "timeout": "its host does not answer in time",
    "too large": f"it has more than {MAX_SIZE} bytes",
    "certificate": "the certificate of its host is not valid",
    "unknown authority, see SSL_CERT_FILE": "the certificate of its host is not valid",
}
