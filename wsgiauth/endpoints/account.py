"""GET /auth/account: the user's profile, and links to the pages about the account."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.listing import profile
from wsgiauth.accounts.models import User, is_proven, is_proven_here
from wsgiauth.authentication.federated_logins import Connected, FederatedLogins
from wsgiauth.authentication.freshness import Proof, proof_of
from wsgiauth.authentication.methods import HARDWARE_KEY, PASSWORD, RECOVERY_CODE
from wsgiauth.authentication.second_factors import FEW_CODES, Factor
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.forms import NEXT
from wsgiauth.forms.done import ASKED_FOR, UNASKED, just_created, notice_of
from wsgiauth.forms.endpoint import (
    LEAVING,
    LOGIN,
    PROGRAMS,
    SECURITY,
    STAFF,
    AccountLink,
    Endpoint,
    Overview,
    State,
    problems_of_session,
    require_login,
)
from wsgiauth.forms.new_keys import REASON
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.parts import KERNEL
from wsgiauth.site import Site
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url

_FIRST, _LAST = (LOGIN, SECURITY, PROGRAMS), (STAFF, LEAVING)  # further groups are in between
# How a user who has registered with a passkey gets in without it, by `_recovery`.
_RECOVERIES = {
    "email": _(
        "Your account has been created with a passkey. If you lose your device, an email to your"
        " address lets you in."
    ),
    "proof": _(
        "Your account has been created with a passkey. If you lose your device, an email to your"
        " address lets you in, but only once you have verified the address: open the link that we"
        " have sent you."
    ),
    "codes": _(
        "Your account has been created with a passkey. Make recovery codes now, in case you lose"
        " your device."
    ),
    "": _(
        "Your account has been created with a passkey. If you lose your device, only an operator of"
        " this site can help. So add a passkey on another device."
    ),
}
_NOTICES = {
    "password": _("Your password has been changed. You are logged out everywhere else."),
    "email": _("Your email address has been verified and saved."),
    "set": _("Your password has been set. You are logged out everywhere else."),
    "username": _("Your username has been changed."),
    "saved": _("Recovery codes saved. Keep them in a safe place."),
}


class Missing(NamedTuple):
    """Something that the user should do about the account, and the page for it."""

    text: str
    url: str = ""  # empty if one of several links of the page leads there
    action: str = ""  # of the link to the URL


class AccountPage(Page):
    """The page of the user's own account."""

    template = "account.html"
    logout_url = UrlBelow("logout")
    close_url = UrlBelow("close")
    label: str
    email: str
    is_verified: bool | None  # None where the site sends no email
    since: datetime  # UTC
    has_password: bool = True
    has_way_in: bool = True  # without one, the user cannot log in again
    connected: Sequence[Connected] = ()  # accounts of providers
    passkeys: Sequence[Factor] = ()
    has_other_ways: bool = False  # to log in on this site, besides the password
    factors: Sequence[Factor] | None = None  # None where the site has no second factors
    codes_left: int | None = None  # None for a user without a second factor
    missing: Sequence[Missing] = ()  # the most important one first
    passkeys_url: str = ""  # to offer this device, which `page.js` does once; empty: no offer
    links: Mapping[str, Mapping[str, AccountLink]]  # by group, then by the URL of the page
    states: Mapping[str, State] = {}  # of the links that have one, by the URL of the page
    is_new: bool = False  # created by a login without a page, and not announced yet
    is_ready: bool = False  # created by the user, who opens the page for the first time
    notice: str = ""
    next: str = ""  # the page that the user wanted, after a registration with a passkey


class Account(Endpoint):
    """Shows the profile, and the `account_link` of each endpoint that the site offers.

    Args:
        endpoints: All endpoints, by path, in the order of their links.
        owners: The names of the features by their endpoints.
    """

    step = _("Your account")

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a session."""
        return (*super().problems(method), *problems_of_session(method))

    def __init__(self, endpoints: Mapping[str, Endpoint], owners: Mapping[Endpoint, str]) -> None:
        self._endpoints = endpoints
        self._owners = owners

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the profile as JSON."""
        user, session_id = require_login(environ, site)
        if not prefers_html(environ):
            return json_response(profile(user, site.settings))
        mount = mount_url(environ)
        listed, federated = site.factors.of(user), site.part(FederatedLogins)
        first = site.factors.first_of(user)
        connected = federated.connected(user) if federated else []
        codes_left = site.factors.codes_left(user) if listed else None
        proof = proof_of(session_id) or Proof(0, "")
        methods = proof.methods.split()
        is_recovered = RECOVERY_CODE in methods
        lost = site.factors.path_of_lost(user, proof.authenticated_at) if is_recovered else ""
        found = [*self._links(user, site, has_factor=bool(listed))]
        further = (link.group for link, *_ in found if link.group not in _LAST)
        groups = dict.fromkeys((*_FIRST, *further, *_LAST))
        links: dict[str, dict[str, AccountLink]] = {group: {} for group in groups}
        for link, path, _feature in sorted(found, key=lambda item: item[0].place):
            links[link.group][mount + path] = link
        passkeys = [each for each in (*first, *listed) if each.method == HARDWARE_KEY]
        recovery = _RECOVERIES[_recovery(user, site, is_second=bool(listed))]
        notice = notice_of(environ, {**_NOTICES, REASON: recovery})
        is_link_named = notice == _RECOVERIES["proof"]
        is_offered = site.settings.PASSKEYS and PASSWORD in methods and not passkeys
        created, announced = just_created(environ, user)
        is_verified = is_proven(user, site.settings) if site.outbox else None
        overview = Overview(
            user, site, is_verified, passkeys, listed, codes_left or 0, connected=connected
        )
        page = AccountPage(
            label=user.label,
            email=user.email,
            is_verified=is_verified,
            since=user.created_at,
            has_password=site.ways_in.has_password(user),
            has_way_in=site.ways_in.has_one(user),
            connected=[each for each in connected if each.is_offered],
            passkeys=passkeys,
            has_other_ways=site.settings.PASSKEYS or federated is not None,
            factors=listed if site.factors.are_offered else None,
            codes_left=codes_left,
            missing=tuple(
                _missing(
                    user,
                    site,
                    mount,
                    codes_left,
                    lost,
                    has_first=bool(first),
                    is_link_named=is_link_named,
                )
            ),
            passkeys_url=f"{mount}/passkeys" if is_offered else "",
            links={group: each for group, each in links.items() if each},
            states={
                mount + path: state
                for link, path, feature in found
                if (state := _state(link, feature, overview))
            },
            is_new=created == UNASKED,
            is_ready=created == ASKED_FOR,
            notice=notice,
            next=site.destinations.safe(query_field(environ, NEXT)) if notice else "",
        )
        response = site.pages.render(environ, page)
        return replace(response, headers=(*response.headers, *announced))

    def _links(
        self, user: User, site: Site, *, has_factor: bool
    ) -> Iterator[tuple[AccountLink, str, str]]:
        """Yield the links of a user, each with its path and the name of its feature."""
        for path, each in self._endpoints.items():
            feature = self._owners.get(each, KERNEL)
            with feature_code(feature, f"the link to {path} on the account page"):
                link = each.variant(site.settings).link_for(user)
                if (
                    link
                    and each.is_offered(site.settings)
                    and (user.is_staff or not each.is_for_staff)
                    and (has_factor or not each.needs_factor)
                ):
                    yield checked(AccountLink, link), path, feature


def _state(link: AccountLink, feature: str, overview: Overview) -> State | None:
    """Return the state of a link, or None without one."""
    with feature_code(feature, f'the state of "{link.title}" on the account page'):
        state = None if link.state is None else link.state(overview)
        return state and checked(State, state)
    return None


def _recovery(user: User, site: Site, *, is_second: bool) -> str:
    """Return the key of `_RECOVERIES` for a user without a password.

    Args:
        is_second: The passkey is a second factor, because SECOND_FACTOR demands one.
    """
    settings = site.settings
    if is_second:
        return "codes"
    if site.outbox is None or not (settings.PASSWORD_LOGIN or settings.LOGIN_CODES):
        return ""
    return "email" if is_proven_here(user) else "proof"


def _missing(
    user: User,
    site: Site,
    mount: str,
    codes_left: int | None,
    lost: str,
    *,
    has_first: bool,
    is_link_named: bool,
) -> Iterator[Missing]:
    """Yield what the user should do.

    Args:
        codes_left: None without a second factor.
        lost: After a login with a recovery code, the path at which a lost factor is removed.
        has_first: Whether the login is a passkey, which needs the device already.
        is_link_named: Whether the notice asks for the proof of the address.
    """
    if lost and codes_left is not None:
        text = ngettext(
            "You logged in with a recovery code; %(num)s is left.",
            "You logged in with a recovery code; %(num)s are left.",
            codes_left,
        )
        yield Missing(text, mount + lost, _("Lost your phone? Remove it."))
    has_way_in = site.ways_in.has_one(user)
    if not has_way_in:
        yield Missing(
            ngettext(
                "After a logout, you cannot log in again: this account has no way to log in. Add"
                " one below, within %(num)s minute of your login.",
                "After a logout, you cannot log in again: this account has no way to log in. Add"
                " one below, within %(num)s minutes of your login.",
                site.settings.FRESH_MINUTES,
            )
        )
    if site.outbox and not is_link_named and not is_proven(user, site.settings):
        text = _("Your email address is not verified.")
        yield Missing(text, f"{mount}/email", _("Verify it"))
    if codes_left is None and site.factors.are_offered and has_way_in and not has_first:
        text = _("Two-step verification is off. With it, your login needs your device, too.")
        yield Missing(text, mount + site.factors.set_up_path, _("Set it up"))
    elif codes_left == 0:
        text = _("You have no recovery codes.")
        yield Missing(text, f"{mount}/recovery-codes", _("Make some before you need them"))
    elif codes_left is not None and codes_left <= FEW_CODES:
        text = ngettext(
            "%(num)s recovery code is left.", "%(num)s recovery codes are left.", codes_left
        )
        yield Missing(text, f"{mount}/recovery-codes", _("Make new ones before you need them"))
