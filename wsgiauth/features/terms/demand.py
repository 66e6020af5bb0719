"""The demand of TERMS_VERSION, and the field in which a new user accepts the terms."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth.extend import (
    Demand,
    FeatureField,
    Problem,
    RequestError,
    Session,
    Settings,
    UnmetDemandError,
    User,
    _,
    is_day,
    obj,
    text,
    url_for_client,
)
from wsgiauth.features.terms import acceptances
from wsgiauth.features.terms.tables import Acceptance

TERMS_REQUIRED = "terms_required"
OTHER_VERSION = "other_version"

PATH = "/terms"  # of the page, below the mount

TERMS_VERSION = obj(
    "TermsVersion",
    terms_url=text("Where the terms can be read.", format="uri-reference", examples=["/terms"]),
    terms_version=text("The day of the version.", format="date", examples=["2026-11-28"]),
)
OTHER_VERSION_SENT = Problem(
    "OtherVersion",
    409,
    {OTHER_VERSION: "The site has another version of the terms: let the user read it first."},
    members=TERMS_VERSION,
)


class Terms:
    """The terms of a site.

    Attributes:
        version: TERMS_VERSION.
        url, privacy_url: TERMS_URL and PRIVACY_URL, or "".
    """

    def __init__(self, settings: Settings) -> None:
        self.version: str = settings.TERMS_VERSION or ""
        self.url: str = settings.TERMS_URL or ""
        self.privacy_url: str = settings.PRIVACY_URL or ""
        self._home = urlsplit(settings.PUBLIC_URL or "")

    @property
    def since(self) -> datetime:
        """The day of the version."""
        return datetime.fromisoformat(self.version)

    @property
    def own_paths(self) -> Iterator[str]:
        """The paths of `url` and `privacy_url` that are of this site; see `Demand.open_paths`."""
        for each in map(urlsplit, (self.url, self.privacy_url)):
            is_here = each[:2] in (("", ""), self._home[:2])
            if is_here and each.path:
                yield unquote(each.path, "latin-1")

    def members(self, environ: WSGIEnvironment) -> dict[str, object]:
        """Return the members of JSON that name the version and its text."""
        url = url_for_client(environ, self.url)
        return {"terms_url": url, "terms_version": self.version}

    def require_same(self, version: str, members: Mapping[str, object]) -> None:
        """Raise `RequestError` (409) for another version that can exist; ignore anything else."""
        if version != self.version and is_day(version):
            detail = _("This site has another version of the terms by now. Read it first.")
            error = RequestError(HTTPStatus.CONFLICT, OTHER_VERSION, detail)
            error.members = members
            raise error


class TermsDemand(Demand):
    """The demand that a user has accepted the version of TERMS_VERSION, or a later one."""

    error = TERMS_REQUIRED
    keyword = "terms"
    page = PATH
    problem = Problem(
        "TermsRequired",
        403,
        {TERMS_REQUIRED: "The user must first accept the terms at `/terms`."},
        members=TERMS_VERSION,
    )

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self.open_paths = frozenset(terms.own_paths)

    def columns(self, proof: Any) -> tuple[Any]:
        """Return the latest version that the user has accepted."""
        latest = Acceptance.select(peewee.fn.MAX(Acceptance.version))
        return (latest.where(Acceptance.user == User.id),)

    def is_met(self, user: User, values: Sequence[Any]) -> bool:
        """Compare the versions as text."""
        (latest,) = values
        return latest is not None and latest >= self._terms.version

    def refusal(self, user: User, environ: WSGIEnvironment) -> UnmetDemandError:
        """Return the error, which leads to the page of the terms."""
        return UnmetDemandError(
            HTTPStatus.FORBIDDEN,
            TERMS_REQUIRED,
            _("Accept the terms of use of this site, then try again."),
            page=PATH,
            says_unsent=True,
            reachable=(PATH, "/logout", "/language", "/data", "/close", "/me", "/confirm"),
            members=self._terms.members(environ),
        )

    def arrange(self, user: User, session: Session | None, *, is_met: bool) -> None:
        """Let a user have accepted the version, or not."""
        if is_met:
            acceptances.insert(user, self._terms.version)
        else:
            acceptances.withdraw(user, self._terms.version)


class TermsField(FeatureField):
    """The checkbox of a registration, whose value is the version that the page named.

    So the form of a page that was shown before TERMS_VERSION changed accepts nothing.
    """

    refusals = (OTHER_VERSION_SENT,)

    def __init__(self, terms: Terms) -> None:
        super().__init__(
            "accept_terms", _("I accept the terms of use."), required=True, kind="checkbox"
        )
        self._terms = terms

    @property
    def ticked(self) -> str:
        """The version."""
        return self._terms.version

    @property
    def links(self) -> Mapping[str, str]:
        """The terms, and the privacy policy if there is one."""
        named = {_("Terms of use"): self._terms.url, _("Privacy policy"): self._terms.privacy_url}
        return {text: url for text, url in named.items() if url}

    def from_json(self, value: object) -> str:
        """Return the version for `true`."""
        return self._terms.version if value is True else super().from_json(value)

    def problem(self, value: str) -> str | None:
        """Return why a value is refused, for people, or None.

        Raises:
            RequestError: 409 `other_version`.
        """
        members = {"terms_url": self._terms.url, "terms_version": self._terms.version}
        self._terms.require_same(value, members)
        return None if value == self._terms.version else _("Accept the terms of use to continue.")

    def given(self, value: str) -> str:
        """Return the version."""
        return value

    def record(self, user: User, value: str) -> None:
        """Record the acceptance, beside the event of the registration."""
        acceptances.accept(user, value)

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of a value."""
        return {
            "description": "The version of the terms that the user accepts, or `true`.",
            "enum": [self._terms.version, True],
        }
