"""The declaration of a feature, which the kernel reads without importing the feature."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import OF_ACCOUNT, Records
from wsgiauth.accounts.registration import FeatureField
from wsgiauth.authentication import claims
from wsgiauth.authentication.claims import FeatureClaim
from wsgiauth.authentication.demands import Demand
from wsgiauth.authentication.id_claims import OF_THIS_SITE, OAuthClient
from wsgiauth.authentication.identity import CredentialKind
from wsgiauth.authentication.second_factors import FactorKind, SecondFactors
from wsgiauth.authentication.ways_in import WayIn
from wsgiauth.events import Recorder, kinds
from wsgiauth.events.kinds import Change, EventKind, Reasons
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.figures import OF_PROCESS, Figure, Waiting, WaitingCount, figures_of_waiting
from wsgiauth.mail.letters import Letter
from wsgiauth.mail.outbox import Composer, FeatureComposer
from wsgiauth.parts import KERNEL, PartFactories, conflict
from wsgiauth.personal_data import TABLES
from wsgiauth.settings import Settings
from wsgiauth.settings.features import Declaration
from wsgiauth.storage.models import Model
from wsgiauth.web.cors import ALL_ORIGINS, CrossOrigin, is_preflight
from wsgiauth.web.failures import HEADLINES
from wsgiauth.web.pages import Page, StaffSection
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import overlap

if TYPE_CHECKING:
    from wsgiauth.forms import MemberSubmission
    from wsgiauth.forms.endpoint import Endpoint
    from wsgiauth.openapi.answers import Problem
    from wsgiauth.site import Site


WELL_KNOWN_METHODS = ("GET", "HEAD")

_Declared = TypeVar("_Declared")

FactorsOf = Callable[[Settings], SecondFactors]  # of a site with these settings


class WellKnown(NamedTuple):
    """What answers GET and HEAD at a path above the mount (RFC 8615).

    Example:
        well_known = {"/.well-known/badges": WellKnown.document(json_response({"badges": []}))}
    """

    answer: Callable[[WSGIEnvironment], Response]
    cross_origin: CrossOrigin | None = None  # see `Endpoint`

    @classmethod
    def document(cls, response: Response) -> "WellKnown":
        """Return what always answers the same, which the pages of all origins can read."""
        return cls(lambda _environ: response, ALL_ORIGINS)

    def respond(self, environ: WSGIEnvironment) -> Response | None:
        """Return the response; None for a request that the application answers."""
        if environ["REQUEST_METHOD"] not in WELL_KNOWN_METHODS:
            is_asked = self.cross_origin is not None and is_preflight(environ)
            if not is_asked:
                return None
        if self.cross_origin is None:
            return self.answer(environ)
        site = environ["wsgiauth.site"]
        return self.cross_origin.respond(environ, site, WELL_KNOWN_METHODS, self.answer)


class ConfirmationWay(NamedTuple):
    """An alternative to the password at /auth/confirm.

    Example:
        def confirm_by_card(submission: MemberSubmission) -> Response:
            raise ForbiddenError(_("Hold your card to the reader."))

        confirmations = {"card": ConfirmationWay(confirm_by_card)}
    """

    act: Callable[["MemberSubmission"], Response]
    refusals: "tuple[Problem, ...]" = ()  # of `act`, for the OpenAPI document


class Finding(NamedTuple):
    """A sentence of `python -m wsgiauth check`: a warning or a note.

    Example:
        finding = Finding("BADGES_COLOURS is 1: all badges look the same.")
    """

    sentence: str
    is_risk: bool = True


class Question(NamedTuple):
    """A question of `python -m wsgiauth check`.

    Attributes:
        needs_database: Whether it needs a database with an up-to-date schema.
        is_for_panel: Whether the staff panel shows its warnings to superusers: it asks no other
            server, reads no whole table, and no warning has the value of a setting, a path or a
            host.
        feature: The name of its feature, which wsgiauth knows.

    Example:
        def ask(site: Site) -> Iterator[Finding]:
            if BadgeSettings.of(site.settings).BADGES_COLOURS == 1:
                yield Finding("BADGES_COLOURS is 1: all badges look the same.")

        question = Question(ask, needs_database=False)
    """

    ask: Callable[["Site"], Iterable[Finding]]
    needs_database: bool = True
    is_for_panel: bool = False
    feature: str = KERNEL


class Command(NamedTuple):
    """A command of `python -m wsgiauth`.

    Example:
        badges = Command("badges.commands", "list the users who have a badge")
    """

    module: str  # has a function `add_commands`, and is imported for its commands alone
    help: str  # a sentence without a full stop


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Feature(Declaration):
    """One feature, as `features.registry` lists it, or as FEATURES names it.

    The order of the list is only the order in which things are shown: links on the account page,
    sections of the staff panel, lists on the page of a user, factors, and answers of `check`. It is
    also the order of demands: a session that lacks several is led to the first. What two features
    declare for the same purpose is an error at start. The functions that wsgiauth
    calls for every feature do not depend on each other.

    If a function of a feature raises an exception, what would only be shown is left out, and the
    log names the feature. What decides or changes something, such as a demand, a claim, or a
    function in a transaction, fails: the response is 500, the transaction is rolled back, and no
    session begins. An email is tried again. If the database does not answer, the response is 503.

    Attributes:
        name: Its name, of lower-case letters, digits and underscores.
        settings: The class of its settings.
        folder: The folder of its package; see `settings.features.Declaration`.
        urls: Its endpoints, by path below the mount.
        well_known: Returns what answers at its paths above the mount.
        replaces: Internal: those of these paths where the kernel or another feature also answers.
        permissions: Returns the permissions that it asks for.
        parts: Returns the functions that make the objects that it adds to a site, by their
            classes; none if the feature is off. See `Parts`. A `Queue` among them sends in a
            thread of its own.
        credential_kinds: Internal: returns the kinds of credentials that it adds.
        demands: Returns what it demands of sessions, beside a login; see `demands.Demand`.
        claims: What returns the values of its claims in access tokens, by their names: JSON, or
            None to leave the claim out. It is called for each new token, outside transactions. If
            it raises, there is no token, as for the application's function.
        id_claims: The same in ID tokens and at /auth/userinfo, which end at 8,192 characters; also
            gets the app and its scopes.
        registration_fields: Returns the fields that it adds to the creation of an account.
        at_first_proof: Removes its data of a user, in the transaction in which an emailed link
            proves the address for the first time: a stranger may have created the account. If it
            raises, the address is not proven.
        way_in: Internal: returns whether a user can log in by this feature. If it raises, the
            user cannot, so that the last other way in stays.
        is_way_in: Internal: returns whether a site with these settings offers logins by it.
        factor_kinds: Internal: the kinds of second factors that it adds.
        staff_sections: Returns its sections of the staff panel; see `staff.frame` for their URLs.
        pages: Returns an example of each of its pages, for the check of a site's templates.
        headlines: The headlines of error pages with its codes, by code.
        events: The kinds of its events.
        event_reasons: The words of reasons that it gives to events of the kernel.
        composers: Returns the functions that write its emails, by the kind of the email. See
            `Letter`. They can ask for the second factors of users.
        letter_samples: An example of each of its emails, for `python -m wsgiauth preview`, and for
            the check of a site's templates.
        recorder: Makes a function that wsgiauth calls in the transaction of each change of an
            account; None if the settings need none. It gets the settings and the site; a command
            has only settings. If the function raises, the change fails.
        confirmations: The alternatives to the password at /auth/confirm for a user without a second
            factor, by the field of the button.
        personal_data: By the name of each of its tables, how the file of a person's own data lists
            the rows of a user. See `Records`.
        expiring: Its models whose rows have an `expires_at`, by what a row is: `python -m wsgiauth
            purge` deletes the expired ones.
        at_restore: Its models with what it has issued, by what a row is: `python -m wsgiauth
            restored` deletes all rows.
        figures: Returns its figures; see `figures.Figures`.
        waiting: Returns the functions that count what it has to send, by the name of the queue.
        commands: Its commands of `python -m wsgiauth`, by name.
        questions: The questions of `python -m wsgiauth check` about it.
        openapi: The name of the module that describes its endpoints for the OpenAPI document, in
            `OPERATIONS`, by class and method, and the members that it adds to objects of others,
            in `MEMBERS`. It is imported when the document is first asked for.

    Example:
        FEATURE = Feature(name="badges", settings=BadgeSettings, urls={"/badges": Badges()})
    """

    urls: Mapping[str, "Endpoint"] = field(default_factory=dict)
    well_known: Callable[["Site"], Mapping[str, WellKnown]] = lambda site: {}
    replaces: frozenset[str] = frozenset()
    permissions: Callable[[Settings], Iterable[str]] = lambda settings: ()
    parts: Callable[[Settings], PartFactories] = lambda settings: {}
    credential_kinds: Callable[[Settings], Iterable[CredentialKind]] = lambda settings: ()
    demands: Callable[[Settings], Iterable[Demand]] = lambda settings: ()
    claims: Mapping[str, Callable[[User], object]] = field(default_factory=dict)
    id_claims: Mapping[str, Callable[[User, OAuthClient, frozenset[str]], object]] = field(
        default_factory=dict
    )
    registration_fields: Callable[[Settings], Iterable[FeatureField]] = lambda settings: ()
    at_first_proof: Callable[[User], object] | None = None
    way_in: WayIn | None = None
    is_way_in: Callable[[Settings], bool] = lambda settings: False
    factor_kinds: tuple[FactorKind, ...] = ()
    staff_sections: Callable[[Settings], Iterable[StaffSection]] = lambda settings: ()
    pages: Callable[[], Iterable[Page]] = lambda: ()
    headlines: Mapping[str, str] = field(default_factory=dict)
    events: tuple[EventKind, ...] = ()
    event_reasons: Mapping[Change, Reasons] = field(default_factory=dict)
    composers: Callable[[FactorsOf], Mapping[str, Composer]] = lambda factors: {}
    letter_samples: tuple[Letter, ...] = ()
    recorder: Callable[[Settings, "Site | None"], Recorder | None] = lambda settings, site: None
    confirmations: Mapping[str, ConfirmationWay] = field(default_factory=dict)
    personal_data: Mapping[str, Records] = field(default_factory=dict)
    expiring: Mapping[str, type[Model]] = field(default_factory=dict)
    at_restore: Mapping[str, type[Model]] = field(default_factory=dict)
    figures: Callable[[Settings], Iterable[Figure]] = lambda settings: ()
    waiting: Callable[[Settings], Mapping[str, Callable[[], Waiting]]] = lambda settings: {}
    commands: Mapping[str, Command] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    openapi: str = ""

    def __post_init__(self) -> None:
        """Refuse what would fail later, without a word about the feature.

        Raises:
            ConfigurationError: An attribute has the wrong type, or a URL is not a path.
        """
        for name in _FUNCTIONS:
            if not callable(getattr(self, name)):
                raise self._wrong(name, "be a function")
        for name, kind in _TUPLES.items():
            found = getattr(self, name)
            if not (isinstance(found, tuple) and all(isinstance(each, kind) for each in found)):
                raise self._wrong(name, f"be a tuple of {kind.__name__}, such as (one,) for one")
        for name, kind in _MAPPINGS.items():
            found = getattr(self, name)
            if not isinstance(found, Mapping):
                raise self._wrong(name, "be a dict")
            if not all(isinstance(each, kind) for each in found.values()):
                raise self._wrong(name, f"have objects of {kind.__name__} as its values")
        if not (self.folder is None or isinstance(self.folder, Path)):
            raise self._wrong("folder", "be a Path, such as Path(__file__).parent")
        if not (self.settings is None or isinstance(self.settings, type)):
            raise self._wrong("settings", "be a class")
        for path, endpoint in self.urls.items():
            if not path.startswith("/") or path.startswith(_MOUNT):
                raise self._wrong(f"urls, {path!r}", 'be a path below the mount, such as "/badges"')
            if isinstance(endpoint, type):
                raise self._wrong(f"urls, {path!r}", f"be an object: {endpoint.__name__}()")

    def _wrong(self, what: str, expected: str) -> ConfigurationError:
        return ConfigurationError(f"The feature {self.name}: {what} must {expected}.")


_FUNCTIONS = (
    "well_known",
    "permissions",
    "parts",
    "credential_kinds",
    "demands",
    "registration_fields",
    "is_way_in",
    "staff_sections",
    "pages",
    "composers",
    "recorder",
    "figures",
    "waiting",
)
_TUPLES: Mapping[str, type] = {
    "factor_kinds": FactorKind,
    "events": EventKind,
    "letter_samples": Letter,
    "questions": Question,
}
_MAPPINGS: Mapping[str, type] = {
    "urls": object,
    "claims": object,
    "id_claims": object,
    "headlines": str,
    "event_reasons": Mapping,
    "confirmations": ConfirmationWay,
    "personal_data": Records,
    "expiring": type,
    "at_restore": type,
    "commands": Command,
}
_MOUNT = "/auth/"  # the usual one, which a path of `urls` does not repeat


def own_tables(feature: Feature) -> set[str]:
    """Return the tables that a feature of others declares."""
    models = (*feature.expiring.values(), *feature.at_restore.values())
    tables = {*feature.personal_data, *(each._meta.table_name for each in models)}
    return {each for each in tables if each.startswith(f"{feature.name}_")}


def joined(
    features: Iterable[Feature],
    what: str,
    declared: Callable[[Feature], Mapping[str, _Declared]],
    *,
    kernel: Mapping[str, _Declared] | None = None,
    reserved: Iterable[str] = (),
) -> dict[str, _Declared]:
    """Return what the kernel and the features declare under names.

    Args:
        what: What is declared, in words, for the error.
        declared: Returns the declarations of a feature, by name.
        kernel: Those of the kernel, which `Feature.replaces` can replace.
        reserved: Further names of the kernel, which nothing can replace.

    Raises:
        ConfigurationError: Two of them have the same name, and none or both of them replace it.
    """
    found: dict[str, _Declared] = dict(kernel or {})
    replacing: dict[str, _Declared] = {}
    owners = {(name, False): KERNEL for name in found}
    owners |= {(name, replaces): KERNEL for name in reserved for replaces in (False, True)}
    for feature in features:
        for name, each in declared(feature).items():
            replaces = name in feature.replaces
            if (name, replaces) in owners:
                raise conflict(f"{what} {name}", owners[name, replaces], feature.name)
            owners[name, replaces] = feature.name
            (replacing if replaces else found)[name] = each
    return found | replacing


def named(features: Iterable[Feature]) -> dict[str, Feature]:
    """Return the features by their names, or raise ConfigurationError if two have the same."""
    return joined(features, "the name", lambda each: {each.name: each})


def endpoints_of(
    features: Iterable[Feature], kernel: Mapping[str, "Endpoint"], *, reserved: Iterable[str]
) -> dict[str, "Endpoint"]:
    """Return the endpoints by path; see `joined`.

    Raises:
        ConfigurationError: Two features have the same path, patterns that a path may fit both, or a
            path and a pattern that it fits.
    """
    features = tuple(features)
    paths = [(path, of.name) for of in features for path in of.urls]
    for (one, name), (other, other_name) in combinations(paths, 2):
        has_pattern = "{" in one or "{" in other
        if name != other_name and has_pattern and overlap(one, other):
            raise conflict(f"the URL {other}", name, other_name)
    return joined(features, "the URL", lambda of: of.urls, kernel=kernel, reserved=reserved)


def event_kinds_of(features: Iterable[Feature]) -> list[EventKind]:
    """Return the kinds of events of the kernel and of the features."""
    own = {each.name: each for each in kinds.KINDS}
    declared = joined(
        features, "the event", lambda of: {each.name: each for each in of.events}, kernel=own
    )
    return [*declared.values()]


def changes_of(features: Collection[Feature]) -> dict[str, Change]:
    """Return the kinds of changes by name, with the words of all reasons."""
    changes = {each.name: each for each in event_kinds_of(features) if isinstance(each, Change)}
    owners = {(each.name, reason): KERNEL for each in changes.values() for reason in each.reasons}
    for feature in features:
        for kind, reasons in feature.event_reasons.items():
            known = changes[kind.name]
            for reason in reasons:
                owner = owners.setdefault((kind.name, reason), feature.name)
                if owner != feature.name:
                    raise conflict(f"the reason {reason} of {kind.name}", owner, feature.name)
            changes[kind.name] = replace(known, reasons={**known.reasons, **reasons})
    return changes


def headlines_of(features: Iterable[Feature]) -> dict[str, str]:
    """Return the headlines of error pages, by code."""
    return joined(features, "the headline", lambda each: each.headlines, reserved=HEADLINES)


def composers_of(features: Iterable[Feature]) -> dict[str, FeatureComposer]:
    """Return the composers by the kind of the email."""
    features = tuple(features)
    factors = partial(SecondFactors, [kind for each in features for kind in each.factor_kinds])
    return joined(
        features,
        "the email",
        lambda of: {
            kind: FeatureComposer(of.name, each) for kind, each in of.composers(factors).items()
        },
    )


def personal_data_of(features: Iterable[Feature]) -> dict[str, Records]:
    """Return how a person's own data is read, by table."""
    features = tuple(features)
    lists = {each.name: each for each in TABLES.values()}
    joined(
        features,
        "the list",
        lambda of: {each.name: each for each in of.personal_data.values()},
        kernel=lists,
        reserved=OF_ACCOUNT,
    )
    return joined(
        features,
        "the table",
        lambda of: {
            table: each._replace(feature=of.name) for table, each in of.personal_data.items()
        },
        kernel=TABLES,
    )


def expiring_of(features: Iterable[Feature]) -> dict[str, type[Model]]:
    """Return the models whose rows expire, by what a row is."""
    return joined(features, "the row", lambda each: each.expiring)


def at_restore_of(features: Iterable[Feature]) -> dict[str, type[Model]]:
    """Return the models with what features have issued, by what a row is."""
    return joined(features, "the row", lambda each: each.at_restore)


def figures_of(
    features: Iterable[Feature],
    settings: Settings,
    kernel: Mapping[str, Figure],
    waiting: Iterable[WaitingCount],
) -> list[Figure]:
    """Return all figures, those about `waiting` last."""
    about_waiting = [*figures_of_waiting(waiting)]
    declared = joined(
        features,
        "the figure",
        lambda of: {each.name: each._replace(feature=of.name) for each in of.figures(settings)},
        kernel=kernel,
        reserved={*OF_PROCESS, *(each.name for each in about_waiting)},
    )
    return [*declared.values(), *about_waiting]


def waiting_of(
    features: Iterable[Feature],
    settings: Settings,
    kernel: Mapping[str, Callable[[], Waiting]],
) -> list[WaitingCount]:
    """Return what counts the messages that wait in each queue."""
    counts = joined(
        features,
        "the queue",
        lambda of: _counts_of(of.name, of.waiting(settings)),
        kernel=_counts_of(KERNEL, kernel),
    )
    return [*counts.values()]


def _counts_of(
    feature: str, counts: Mapping[str, Callable[[], Waiting]]
) -> dict[str, WaitingCount]:
    return {name: WaitingCount(name, count, feature) for name, count in counts.items()}


def commands_of(features: Iterable[Feature], kernel: Mapping[str, Command]) -> dict[str, Command]:
    """Return the commands, by name."""
    return joined(features, "the command", lambda each: each.commands, kernel=kernel)


def confirmations_of(
    features: Iterable[Feature], *, reserved: Iterable[str]
) -> dict[str, ConfirmationWay]:
    """Return the alternatives to the password at /auth/confirm, by the field of the button.

    Args:
        reserved: The other fields of the form: a button with such a name would get a password.
    """
    return joined(features, "the field", lambda each: each.confirmations, reserved=reserved)


def credential_kinds_of(features: Iterable[Feature], settings: Settings) -> list[CredentialKind]:
    """Return the kinds of credentials; ConfigurationError: two cannot be told apart."""
    found = [(each, of.name) for of in features for each in of.credential_kinds(settings)]
    for (one, name), (other, other_name) in combinations(found, 2):
        if one.conflicts_with(other):
            raise conflict(
                f"the credentials {other.scheme} {other.prefix}".strip(), name, other_name
            )
    return [each._replace(feature=name) for each, name in found]


def staff_sections_of(features: Iterable[Feature], settings: Settings) -> list[StaffSection]:
    """Return the sections of the staff panel."""
    sections = joined(
        features,
        "the section",
        lambda of: {each.name: each for each in of.staff_sections(settings)},
    )
    return [*sections.values()]


def claims_of(features: Iterable[Feature]) -> dict[str, FeatureClaim]:
    """Return the claims in access tokens, by name."""
    return _claims_of(features, "the claim", lambda of: of.claims, reserved=claims.RESERVED)


def id_claims_of(features: Iterable[Feature]) -> dict[str, FeatureClaim]:
    """Return the claims for apps, by name."""
    return _claims_of(features, "the id_claim", lambda of: of.id_claims, reserved=OF_THIS_SITE)


def _claims_of(
    features: Iterable[Feature],
    what: str,
    declared: Callable[[Feature], Mapping[str, Callable[..., object]]],
    *,
    reserved: Iterable[str],
) -> dict[str, FeatureClaim]:
    found = joined(
        features,
        what,
        lambda of: {name: FeatureClaim(of.name, each) for name, each in declared(of).items()},
        reserved=reserved,
    )
    for name, each in found.items():
        if name.startswith(claims.OUR_PREFIX):
            raise conflict(f"{what} {name}", KERNEL, each.feature)
    return found


def questions_of(features: Iterable[Feature]) -> list[Question]:
    """Return the questions of `check`."""
    return [each._replace(feature=of.name) for of in features for each in of.questions]


def owners_of(features: Iterable[Feature]) -> dict["Endpoint", str]:
    """Return the names of the features by their endpoints."""
    return {endpoint: of.name for of in features for endpoint in of.urls.values()}


def letter_samples_of(features: Iterable[Feature]) -> list[Letter]:
    """Return the examples of emails."""
    return [sample for _feature, sample in letters_by_feature(features)]


def letters_by_feature(features: Iterable[Feature]) -> list[tuple[str, Letter]]:
    """Return the examples of emails, each after the name of its feature."""
    return [(each.name, sample) for each in features for sample in each.letter_samples]


def ways_in_of(features: Iterable[Feature]) -> list[tuple[str, WayIn]]:
    """Return the ways into accounts, each after the name of its feature."""
    return [(each.name, each.way_in) for each in features if each.way_in is not None]


def at_first_proof_of(features: Iterable[Feature]) -> list[Callable[[User], object]]:
    """Return the functions for the first proof of an address."""
    return [each.at_first_proof for each in features if each.at_first_proof is not None]
