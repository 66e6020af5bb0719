"""What a feature declares. The kernel reads it, and imports no feature."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.authentication.identity import Reader
from wsgiauth.authentication.second_factors import FactorKind
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.authentication.ways_in import WayIn
from wsgiauth.events import Recorder
from wsgiauth.mail.letters import Letter
from wsgiauth.mail.outbox import Composer, Outbox
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response

if TYPE_CHECKING:
    from wsgiauth.forms import MemberSubmission
    from wsgiauth.forms.endpoint import Endpoint
    from wsgiauth.site import Site


WellKnown = Callable[[WSGIEnvironment], Response]
ConfirmationWay = Callable[["MemberSubmission"], Response]


class Finding(NamedTuple):
    """A sentence of `python -m wsgiauth check`."""

    sentence: str
    is_risk: bool = True  # a warning; otherwise a note


class Question(NamedTuple):
    """A question that `python -m wsgiauth check` asks."""

    ask: Callable[["Site"], Iterable[Finding]]
    needs_database: bool = True  # whether it is asked only if the schema is up to date


class Inviter(ABC):
    """The part of a site that invites people; see `AuthMiddleware.invite`."""

    @abstractmethod
    def invite(
        self,
        site: "Site",
        email: str,
        *,
        username: str,
        is_staff: bool,
        permissions: Iterable[str],
        groups: Iterable[Group | str],
    ) -> str | None:
        """Send an invitation; return its link if the site sends no emails."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One feature, as `wsgiauth.features` lists it.

    Attributes:
        name: Of the feature, in one word.
        urls: Its endpoints, by path below the mount, perhaps instead of those of the kernel.
        well_known: Returns what answers at its paths above the mount (RFC 8615).
        permissions: Returns the permissions that it asks for, of a site with these settings.
        parts: Makes what the feature adds to a site with these settings: no object of a class that
            another part has, and nothing where the feature is off. See `Site.part`.
        readers: Returns the readers of its credentials on a site with these settings.
        at_first_proof: Removes what it has of a user, in the transaction in which an emailed link
            proves the address for the first time: a stranger may have created the account.
        way_in: Returns whether a user can log in by what it adds, on a site with these settings.
        factor_kinds: The kinds of second factors that it adds.
        pages: Returns an example of each of its pages, for the check of a host's templates.
        composers: The functions that write its emails, by the kind of the email. See `Outbox`.
        letter_samples: An example of each of its emails, for `python -m wsgiauth preview`, and for
            the check of a host's templates.
        recorder: Makes what is called in the transaction of each change of an account, with the
            settings, the outbox, and the mount of the site; a command has neither of the latter.
        confirmations: What confirms a user without a second factor at /auth/confirm instead of the
            password, by the field of its button.
        questions: What `python -m wsgiauth check` asks about it.
    """

    name: str
    urls: Mapping[str, "Endpoint"] = field(default_factory=dict)
    well_known: Callable[["Site"], Mapping[str, WellKnown]] = lambda site: {}
    permissions: Callable[[Settings], Iterable[str]] = lambda settings: ()
    parts: Callable[[Settings, Tokens], Iterable[object]] = lambda settings, tokens: ()
    readers: Callable[[Settings], Iterable[Reader]] = lambda settings: ()
    at_first_proof: Callable[[User], object] | None = None
    way_in: WayIn | None = None
    factor_kinds: tuple[FactorKind, ...] = ()
    pages: Callable[[], Iterable[Page]] = lambda: ()
    composers: Mapping[str, Composer] = field(default_factory=dict)
    letter_samples: tuple[Letter, ...] = ()
    recorder: Callable[[Settings, Outbox | None, str], Recorder] | None = None
    confirmations: Mapping[str, ConfirmationWay] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()


def composers_of(features: Iterable[Feature]) -> dict[str, Composer]:
    """Return the composers of all features, by the kind of the email."""
    return {kind: compose for each in features for kind, compose in each.composers.items()}


def letter_samples_of(features: Iterable[Feature]) -> list[Letter]:
    """Return the examples of the emails of all features."""
    return [sample for each in features for sample in each.letter_samples]


def ways_in_of(features: Iterable[Feature]) -> list[WayIn]:
    """Return the ways into accounts that features add."""
    return [each.way_in for each in features if each.way_in is not None]


def at_first_proof_of(features: Iterable[Feature]) -> list[Callable[[User], object]]:
    """Return what features do at the first proof of an address."""
    return [each.at_first_proof for each in features if each.at_first_proof is not None]
