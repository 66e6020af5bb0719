"""Second factors: who must have one, and which ones a user has. Features add the kinds of factors.

`SecondFactorDemand` is the demand of SECOND_FACTOR.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.demands import Demand
from wsgiauth.authentication.methods import (
    MULTI_FACTOR,
    ONE_TIME_CODE,
    TRUSTED,
    has_second_factor,
    with_method,
)
from wsgiauth.events.kinds import EventKind
from wsgiauth.exceptions import INSUFFICIENT_AUTHENTICATION, UnmetDemandError
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.web.www_authenticate import challenge

_CONFIRM = "/confirm"  # the page, below the mount, that asks for a factor

FEW_CODES = 2  # left, with which a user should make new ones


class Factor(NamedTuple):
    """A second factor of a user.

    Example:
        names = [factor.name for factor in site.factors.of(user)]
    """

    method: str  # see `methods`
    handle: str  # names it among the factors of its user; not secret
    name: str  # that the user gave it
    added_at: datetime  # UTC
    kind: str  # what it is, in words

    def document(self) -> dict[str, object]:
        """Return the factor, ready for JSON."""
        return {"method": self.method, "name": self.name, "added_at": utc_text(self.added_at)}


class Risk(NamedTuple):
    """A kind of factor for which no login asks, although users have it."""

    sentence: str
    remedy: str  # for an operator, as in "set PASSKEYS to on"


class FactorKind(ABC):
    """A kind of second factor, or of codes that can replace one."""

    set_up_path: str  # where a user adds and removes them, below the mount
    skipped: EventKind  # of a login by email without it, if it can replace a password
    code_methods: str = ONE_TIME_CODE  # that a code proves: see `methods`

    @abstractmethod
    def is_asked_for(self, settings: Settings) -> bool:
        """Return whether logins of a site with these settings ask for this kind of factor."""

    @abstractmethod
    def list_factors(self, user: User) -> list[Factor]:
        """Return the factors of a user, the oldest first, also where no login asks for them."""

    def accept(self, user: User, code: str, settings: Settings, now: float) -> bool:
        """Return whether a code proves a factor of the user. It works once."""
        return False

    def replaces_password(self, user: User) -> bool:
        """Return whether a user without a password registered with a factor of this kind."""
        return False

    def codes_left(self, user: User) -> int:
        """Return how many codes a user has left that can replace a factor."""
        return 0

    def state(self, user: User) -> str:
        """Return a string that changes with the codes that can replace a factor, not by their use.

        The use of the last code may change it.
        """
        return ""

    def risk(self, settings: Settings) -> Risk | None:
        """Return a warning if users have such factors, and no login asks for them."""
        return None


def demands_second_factor(settings: Settings) -> bool:
    """Return whether SECOND_FACTOR demands a second factor of any user."""
    return settings.SECOND_FACTOR != "offered"


def demands_second_factor_of(user: User, settings: Settings) -> bool:
    """Return whether SECOND_FACTOR demands a second factor of a user."""
    if settings.SECOND_FACTOR == "staff":
        return user.is_staff or user.is_superuser
    return settings.SECOND_FACTOR == "all"


class SecondFactors:
    """The second factors of the users of a site.

    Example:
        if site.factors.are_offered:
            state = site.factors.state(user)
    """

    def __init__(self, kinds: Iterable[FactorKind], settings: Settings) -> None:
        """Take the kinds that a site has. Internal."""
        self._kinds = tuple(kinds)
        self._asked = tuple(each for each in self._kinds if each.is_asked_for(settings))
        self._settings = settings

    @property
    def are_offered(self) -> bool:
        """Whether the site has second factors."""
        return bool(self._asked)

    @property
    def set_up_path(self) -> str:
        """The path, below the mount, at which a user sets up their first second factor."""
        return self._asked[0].set_up_path

    def of(self, user: User) -> list[Factor]:
        """Return the second factors that a login asks a user for, by kind, the oldest first."""
        listed = [factor for kind in self._asked for factor in kind.list_factors(user)]
        return [] if listed and self._first_kind(user) is not None else listed

    def first_of(self, user: User) -> list[Factor]:
        """Return the factors with which a user logs in instead of a password, the oldest first.

        They are no second factor: an email can replace them, as it can replace a password. So the
        loss of a device does not lock out a user who never asked for two-step verification. They
        are a second factor as soon as the user has a password or a factor of another kind, or if
        SECOND_FACTOR demands one of the user.
        """
        kind = self._first_kind(user)
        return [] if kind is None else kind.list_factors(user)

    def report_skipped(self, user: User, methods: str) -> None:
        """Emit the event about a login by an email, if the user has factors of `first_of`.

        Call this in the transaction that uses the code or the link.
        """
        kind = self._first_kind(user)
        if kind is not None:
            events.emit(kind.skipped, user_id=user.id, reason=methods)

    def _first_kind(self, user: User) -> FactorKind | None:
        """Return the kind of the factors of `first_of`."""
        if user.has_password or demands_second_factor_of(user, self._settings):
            return None
        # Also a kind that is switched off: a changed setting must not make an email sufficient.
        used = [kind for kind in self._kinds if kind.list_factors(user)]
        is_first = len(used) == 1 and used[0] in self._asked and used[0].replaces_password(user)
        return used[0] if is_first else None

    def all_of(self, user: User) -> list[Factor]:
        """Return the factors of a user, also of the kinds for which no login asks any more."""
        return [factor for kind in self._kinds for factor in kind.list_factors(user)]

    def state(self, user: User) -> str:
        """Return a digest that changes if a factor is added or removed, or codes are replaced."""
        listed = sorted(
            f"{each.method} {each.handle} {utc_text(each.added_at)}" for each in self.all_of(user)
        )
        listed += [each.state(user) for each in self._kinds]
        return sha256("\n".join(listed).encode()).hexdigest()

    def is_needed_by(self, user: User) -> bool:
        """Return whether a login of a user needs a second factor."""
        return bool(self.of(user))

    def codes_left(self, user: User) -> int:
        """Return how many codes a user has left that can replace a factor."""
        return sum(each.codes_left(user) for each in self._kinds)

    def accept(self, user: User, code: str, now: float) -> str:
        """Return the methods that a code of the user proves, or "". It works once."""
        accepting = (each for each in self._kinds if each.accept(user, code, self._settings, now))
        return next((each.code_methods for each in accepting), "")

    def path_of_lost(self, user: User, authenticated_at: int) -> str:
        """Return the path, below the mount, of the page that removes a lost factor.

        Factors added since `authenticated_at`, the time of the login without the lost one, do not
        count. Return "" if the user has no older factor.
        """
        then = from_timestamp(authenticated_at)
        kinds = (
            kind
            for kind in self._asked
            if any(each.added_at <= then for each in kind.list_factors(user))
        )
        return next((each.set_up_path for each in kinds), "")

    def refusal(self, user: User) -> UnmetDemandError:
        """Return the error for a session of a user that was not proven by a second factor.

        A user who has one confirms it. A user without one sets it up, but not in place of one whose
        type is switched off (RFC 9470).
        """
        set_up_paths = [each.set_up_path for each in self._asked]
        code, page, is_final, reachable = INSUFFICIENT_AUTHENTICATION, _CONFIRM, False, set_up_paths
        detail = _("Enter a code of your two-step verification, then try again.")
        if not self._asked:  # a guard asks for a proof that only `log_in` could report
            detail = _("This page needs two-step verification, and this site has none.")
            is_final = True
        elif not (self.is_needed_by(user) or self.first_of(user)):
            code, page = "second_factor_setup_required", set_up_paths[0]
            detail = _("Set up two-step verification, then try again.")
            if demands_second_factor_of(user, self._settings) and self.all_of(user):
                code, is_final, reachable = "second_factor_switched_off", True, []
                detail = _(
                    "This site has switched off your method of two-step verification, and the first"
                    " step of a login cannot replace it. Ask an operator of this site to switch the"
                    " method on again, or to remove it from your account."
                )
        return UnmetDemandError(
            HTTPStatus.UNAUTHORIZED,
            code,
            detail,
            page=page,
            is_final=is_final,
            says_unsent=page == _CONFIRM,
            reachable=[*reachable, _CONFIRM] if reachable else (),
            headers=(challenge(INSUFFICIENT_AUTHENTICATION, acr_values=MULTI_FACTOR),),
        )

    def risks(self) -> list[str]:
        """Return a warning about each kind of factor that users have, and no login asks for."""
        found = [each.risk(self._settings) for each in self._kinds]
        return [each.sentence + self._remedy_for(each) for each in found if each is not None]

    def _remedy_for(self, risk: Risk) -> str:
        if not demands_second_factor(self._settings):
            return ""
        return (
            " Users without another second factor cannot log in if SECOND_FACTOR demands one:"
            f" {risk.remedy}, or run `python -m wsgiauth removefactor USER` for each."
        )


class SecondFactorDemand(Demand):
    """The demand of SECOND_FACTOR."""

    error = INSUFFICIENT_AUTHENTICATION
    keyword = "second_factor"
    concerns_derived = True
    is_met_by_login = True

    def __init__(self, settings: Settings, factors: SecondFactors) -> None:
        self._settings = settings
        self._factors = factors

    def columns(self, proof: Any) -> tuple[Any, ...]:
        """Return how the user has proven their identity."""
        return (proof.methods,)

    def is_met(self, user: User, values: Sequence[str]) -> bool:
        """Return whether a second factor is among the methods, or need not be.

        A login in a trusted browser is enough: the user proved a second factor there before.
        """
        (methods,) = values
        if has_second_factor(methods) or TRUSTED in methods.split():
            return True
        return not demands_second_factor_of(user, self._settings)

    def refusal(self, user: User, environ: WSGIEnvironment) -> UnmetDemandError:
        """Return the error, which leads to the set-up or to the page that asks for a code."""
        return self._factors.refusal(user)

    def arrange(self, user: User, session: Session | None, *, is_met: bool) -> None:
        """Add a one-time code to the methods of a session that must have a second factor."""
        if session is not None and is_met and not self.is_met(user, [session.methods]):
            methods = with_method(session.methods, ONE_TIME_CODE)
            Session.update(methods=methods).where(Session.id == session.id).execute()
