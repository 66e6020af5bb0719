"""GET, POST /auth/keys: list, make and revoke the user's API keys."""

import secrets
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import KEY_NAME_MAX_LENGTH
from wsgiauth.authentication.identity import UserSession
from wsgiauth.exceptions import RequestError, UnauthenticatedError
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_KEYS,
    MAX_PERMISSIONS,
    ListedKey,
    list_keys,
)
from wsgiauth.forms import FormPage, ListForm, MemberSubmission, Refusal
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import (
    PROGRAMS,
    AccountLink,
    Overview,
    State,
    require_fresh,
    require_login,
)
from wsgiauth.forms.fields import Number, Text, Texts
from wsgiauth.forms.repeated import only_once
from wsgiauth.messages import _, ngettext, pgettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID, NOT_FRESH, TO_CONFIRM
from wsgiauth.openapi.schemas import text
from wsgiauth.site import Site
from wsgiauth.web.cross_origin import SAFE_METHODS
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url, with_next

_NOTICES = {"ended": _("The API key has been revoked.")}


class KeysPage(FormPage):
    """The list of the user's API keys, and the form to make one."""

    template = "keys.html"
    typed = ("name", "permissions", "days")
    keys_url = UrlBelow("keys")
    keys: tuple[ListedKey, ...]
    confirm_url: str = ""  # for users who must prove their identity before a change
    is_password: bool = False  # Basic authentication accepts the key as a password
    is_full: bool = False  # the user has MAX_KEYS keys
    offered: tuple[str, ...] = ()  # permissions
    chosen: frozenset[str] = frozenset()
    name: str = ""
    days: str = str(DEFAULT_DAYS)
    max_days: int = MAX_DAYS
    made: str = ""  # the new key

    @property
    def is_shown_once(self) -> bool:
        """Whether the page shows a new key."""
        return bool(self.made)


_NO_SUCH_KEY = Problem(
    "NoSuchKey",
    404,
    {"no_such_key": "There is no API key with this id; perhaps it was revoked."},
)
_TOO_MANY = Problem(
    "TooManyKeys",
    409,
    {"too_many_keys": "The caller has the maximum number of API keys. Revoke one first."},
)


def _how_many(overview: Overview) -> State:
    count = api_keys.count_keys(overview.user, overview.site.tokens.now())
    if not count:
        return State(pgettext("API keys", "None yet"))
    return State(ngettext("%(num)s key", "%(num)s keys", count))


class Keys(ListForm):
    """Makes and revokes API keys."""

    account_link = AccountLink(
        PROGRAMS,
        _("API keys"),
        _("Let programs act for you, with no more than the permissions that you choose."),
        icon="terminal",
        state=_how_many,
    )
    step = _("Create or revoke API keys")
    fields = (
        Text(
            "name",
            "What you call the new key.",
            maxLength=KEY_NAME_MAX_LENGTH,
            examples=["nightly export"],
        ),
        Text("end", "The `id` of a key to revoke. Then no key is created."),
        Number(
            "days",
            "After how many days it expires.",
            minimum=1,
            maximum=MAX_DAYS,
            default=DEFAULT_DAYS,
        ),
        Texts(
            "permissions",
            "Permissions of the key, which you must have yourself. A key without permissions"
            " passes only checks that the client is logged in.",
            items=text(maxLength=100),
            maxItems=MAX_PERMISSIONS,
            examples=[["reports.publish"]],
        ),
    )
    refusals = (INVALID, _NO_SUCH_KEY, _TOO_MANY)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, which makes a key only after a recent proof."""
        led_on = (TO_CONFIRM, NOT_FRESH) if method == "post" else ()
        return (*super().problems(method), *led_on)

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the keys."""
        return {"keys": [each.document() for each in list_keys(member.user, site.tokens.now())]}

    def require_member(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Ask for a recent proof only before a change."""
        is_change = environ["REQUEST_METHOD"] not in SAFE_METHODS
        return (require_fresh if is_change else require_login)(environ, site)

    def act(self, submission: MemberSubmission) -> Response:
        """Revoke a key, or create one."""
        if not submission.fields["end"]:
            return self._make(submission)
        if not api_keys.revoke(submission.member.user, submission.fields["end"]):
            raise RequestError(
                HTTPStatus.NOT_FOUND, "no_such_key", _("That API key has already been revoked.")
            )
        return self.answer_changed(submission, "keys?done=ended")

    def _make(self, submission: MemberSubmission) -> Response:
        repeated = _(
            "This key has already been created, and is shown only once. If you did not copy it,"
            " revoke it and create another."
        )
        with only_once(submission, repeated):
            made = api_keys.create(
                submission.member.user,
                submission.fields["name"],
                submission.lists["permissions"],
                days=_days(submission.fields["days"]),
                now=submission.site.tokens.now(),
            )
        if made is None:  # the session has ended, too
            raise UnauthenticatedError("invalid_token")
        if submission.wants_json:
            document = {"key": made.text, **ListedKey.of(made.row).document()}
            return json_response(document, status=HTTPStatus.CREATED)
        page = self.page(submission, Refusal())
        shown = page.replaced(made=made.text, name="", days=str(DEFAULT_DAYS), chosen=frozenset())
        return submission.site.pages.render(submission.environ, shown, status=HTTPStatus.CREATED)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> KeysPage:
        """Return the list, and the form with the values that were sent."""
        site, (user, session_id) = submission.site, submission.member
        mount, listed = mount_url(submission.environ), list_keys(user, site.tokens.now())
        is_fresh = site.freshness.is_fresh(session_id)
        return KeysPage(
            keys=tuple(listed),
            confirm_url="" if is_fresh else with_next(f"{mount}/confirm", f"{mount}/keys"),
            is_password=site.settings.BASIC_AUTH == "keys",
            is_full=len(listed) >= MAX_KEYS,
            offered=tuple(sorted(_offered(user))),
            chosen=frozenset(submission.lists["permissions"]),
            name=submission.fields["name"],
            days=submission.fields["days"] or str(DEFAULT_DAYS),
            message=refusal.message,
            errors=refusal.errors,
            once=secrets.token_urlsafe(16),
            notice=notice_of(submission.environ, _NOTICES),
        )


def _days(digits: str) -> int:
    """Return a number of days, or 0, which is refused, for any other string."""
    if not digits:
        return DEFAULT_DAYS
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else 0


def _offered(user: User) -> frozenset[str]:
    """Return the permissions that a key of the user can have, as far as this process knows."""
    return user.permissions | (known_permissions.asked_for() if user.is_superuser else frozenset())
