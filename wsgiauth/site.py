"""The objects that the endpoints of a site use, made from its settings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import PersonalData, PersonalDataFunction
from wsgiauth.accounts.registration import Registration
from wsgiauth.authentication.claims import ClaimsFunction
from wsgiauth.authentication.demands import Admission
from wsgiauth.authentication.form_accounts import FormAccounts
from wsgiauth.authentication.freshness import Freshness
from wsgiauth.authentication.id_claims import IdClaims, IdClaimsFunction
from wsgiauth.authentication.identity import Identifier
from wsgiauth.authentication.refresh import RefreshTokens
from wsgiauth.authentication.second_factors import (
    SecondFactorDemand,
    SecondFactors,
    demands_second_factor,
)
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.events.kinds import Change, DeclaredKinds
from wsgiauth.exceptions import NotFoundError
from wsgiauth.feature import (
    Feature,
    Question,
    at_first_proof_of,
    changes_of,
    claims_of,
    commands_of,
    composers_of,
    credential_kinds_of,
    event_kinds_of,
    figures_of,
    headlines_of,
    id_claims_of,
    letters_by_feature,
    named,
    personal_data_of,
    questions_of,
    staff_sections_of,
    waiting_of,
    ways_in_of,
)
from wsgiauth.figures import Figures
from wsgiauth.figures.accounts import figures_of_kernel, waiting_of_kernel
from wsgiauth.figures.event_counts import EventCounts
from wsgiauth.languages import Languages
from wsgiauth.mail.outbox import Outbox
from wsgiauth.mail.site_outbox import make_outbox
from wsgiauth.mail.transports import Transport
from wsgiauth.parts import KERNEL, Parts
from wsgiauth.settings import Settings
from wsgiauth.settings.features import catalogue_folders, template_folders
from wsgiauth.settings.kinds import wrong_setting
from wsgiauth.settings.oidc import local_origins, parse_entries
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Limit, Networks
from wsgiauth.throttling.hash_slots import HashSlots
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import Clients
from wsgiauth.web.pages import OnwardRedirects, Page, Pages, SiteLinks
from wsgiauth.web.readers import Readers
from wsgiauth.web.responses import Header, Response
from wsgiauth.web.urls import Destinations

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Site:
    """A site with accounts; created once, when the process starts.

    Attributes:
        settings: Its settings.
        factors: The second factors of its users.
        outbox: Keeps its emails; None without MAIL_URL.
        personal_data: What it stores about a person.
        changes: The kinds of changes by name, for the words of the audit trail.
        parts: The parts of features.
        questions: The questions of features, for `check`.
        tokens, refresh_tokens, ways_in, freshness, sessions, identifier, form_accounts: Internal.
        pages, clients, throttle, hash_slots, registration, id_claims, destinations: Internal.
        at_first_proof: Internal: see `Feature`.

    Example:
        def is_due(site: Site, expires_at: int) -> bool:
            return expires_at <= site.now()
    """

    settings: Settings
    features: tuple[Feature, ...]
    tokens: Tokens
    refresh_tokens: RefreshTokens
    factors: SecondFactors
    ways_in: WaysIn
    at_first_proof: Sequence[Callable[[User], object]]
    freshness: Freshness
    sessions: Sessions
    identifier: Identifier
    form_accounts: FormAccounts
    pages: Pages
    destinations: Destinations
    clients: Clients
    throttle: Throttle
    hash_slots: HashSlots
    outbox: Outbox | None
    registration: Registration
    personal_data: PersonalData
    id_claims: IdClaims
    changes: Mapping[str, Change]
    parts: Parts
    questions: Sequence[Question]

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        mount: str,
        features: Iterable[Feature],
        send_mail: Transport | None = None,
        claims: ClaimsFunction | None = None,
        registration: Registration | None = None,
        personal_data: PersonalDataFunction | None = None,
        id_claims: IdClaimsFunction | None = None,
    ) -> Self:
        """Return the site of these settings; see `AuthMiddleware` for the others. Internal.

        Raises:
            ConfigurationError: Users have no way to log in; a key, the layout of the pages or a
                catalogue in TRANSLATIONS is missing or invalid; a package that a setting needs is
                not installed; or two features declare the same.
        """
        features = tuple(features)
        if not (settings.PASSWORD_LOGIN or any(each.is_way_in(settings) for each in features)):
            raise wrong_setting(
                "PASSWORD_LOGIN",
                "on, because no other way to log in is set, such as OIDC_PROVIDERS, PASSKEYS or"
                " LOGIN_CODES",
            )
        commands_of(features, {})  # two of the same name are refused at start, too
        tokens = Tokens(settings, claims=claims, of_features=claims_of(features))
        factors = SecondFactors((kind for each in features for kind in each.factor_kinds), settings)
        entries = parse_entries(settings.OIDC_PROVIDERS)
        demands = [(each, of.name) for of in features for each in of.demands(settings)]
        second_factor = SecondFactorDemand(settings, factors)
        asked = [second_factor] if demands_second_factor(settings) else []
        admission = Admission(
            (*asked, *(each for each, _name in demands)),
            {each.error: name for each, name in demands},
        )
        sessions = Sessions(tokens, admission)
        kinds = credential_kinds_of(features, settings)
        identifier = Identifier(settings, tokens, sessions, kinds)
        form_accounts = FormAccounts(settings)
        own_figures = figures_of_kernel([each.name for each in event_kinds_of(features)])
        waiting = waiting_of(features, settings, waiting_of_kernel(settings))
        declared = figures_of(features, settings, own_figures, waiting)
        figures = Figures(declared, clock=tokens.now)
        own: dict[type, Callable[[Parts], object]] = {
            Tokens: lambda _: tokens,
            Sessions: lambda _: sessions,
            Figures: lambda _: figures,
            DeclaredKinds: lambda _: DeclaredKinds(event_kinds_of(features)),
        }
        if settings.ADMIN_PANEL or settings.METRICS:  # which show them
            own[EventCounts] = lambda _: EventCounts(tokens.now)
        parts = Parts(
            {
                KERNEL: own,
                **{name: each.parts(settings) for name, each in named(features).items()},
            }
        )
        readers = Readers(
            Languages(
                settings.LANGUAGES, settings.TRANSLATIONS, catalogue_folders(settings.FEATURES)
            ),
            of_user=identifier.language_of_user,
            of_cookie=identifier.sent_cookie,
            number_of_user=identifier.number_of_user,
            label_of_user=identifier.label_of_user,
            form_account=form_accounts.value,
        )
        return cls(
            settings,
            features,
            tokens,
            RefreshTokens(settings),
            factors,
            WaysIn(ways_in_of(features), settings),
            at_first_proof_of(features),
            Freshness(settings, tokens, factors),
            sessions,
            identifier,
            form_accounts,
            Pages(
                mount,
                settings.TEMPLATES,
                template_folders(settings.FEATURES),
                readers=readers,
                site_name=settings.SITE_NAME,
                logo=settings.SITE_LOGO,
                logo_dark=settings.SITE_LOGO_DARK,
                color=settings.SITE_COLOR,
                sources=settings.PAGE_SOURCES,
                password_min_length=settings.PASSWORD_MIN_LENGTH,
                usernames=settings.USERNAMES,
                password_login=settings.PASSWORD_LOGIN,
                providers_above=settings.PROVIDER_BUTTONS == "above",
                links=SiteLinks(
                    settings.SUPPORT_URL or "", settings.TERMS_URL or "", settings.PRIVACY_URL or ""
                ),
                provider_origins=local_origins(entries),
                is_logout_elsewhere=any(each.logout == "provider" for each in entries),
                onward=parts.all(OnwardRedirects),
                staff_sections=staff_sections_of(features, settings),
                headlines=headlines_of(features),
            ),
            Destinations(settings.NEXT_HOSTS),
            Clients(),
            Throttle(settings),
            HashSlots(settings),
            make_outbox(settings, composers_of(features), letters_by_feature(features), send_mail),
            (registration or Registration()).with_asked(
                field for each in features for field in each.registration_fields(settings)
            ),
            PersonalData(personal_data_of(features), personal_data),
            IdClaims(id_claims, id_claims_of(features)),
            changes_of(features),
            parts,
            questions_of(features),
        )

    @property
    def admission(self) -> Admission:
        """What the site demands of sessions. Internal."""
        return self.sessions.admission

    @property
    def mount(self) -> str:
        """The path of wsgiauth, such as /auth, for the links of emails."""
        return self.pages.mount

    def render(
        self,
        environ: WSGIEnvironment,
        page: Page,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        headers: tuple[Header, ...] = (),
    ) -> Response:
        """Return a response with a page, in the language of its reader."""
        return self.pages.render(environ, page, status=status, headers=headers)

    def now(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self.tokens.now()

    def attempt(self, limit: Limit, *subject: str, networks: Networks = ()) -> Attempt:
        """Return an attempt that counts for a subject, such as a user, and for networks.

        Args:
            limit: The limit; its `reason` is unique among all features.
            subject: Identifies the subject, such as the number of a user; none: only the networks
                count.
            networks: Those of the client; see `Submission.networks`.
        """
        one = [self.throttle.counters.one(limit, *subject)] if subject else []
        of_networks = self.throttle.counters.of_networks(limit, networks) if networks else []
        return Attempt(self.tokens.now, [*one, *of_networks])

    def part(self, kind: type[_Part]) -> _Part | None:
        """Return the part of this class or interface; None if its feature is off."""
        return self.parts.find(kind)

    def require(self, kind: type[_Part]) -> _Part:
        """Return the part that a URL needs, or raise NotFoundError."""
        found = self.part(kind)
        if found is None:
            raise NotFoundError
        return found
