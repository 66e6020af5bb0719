"""A form belongs to the account that its page was shown to; see `form_accounts`."""

from contextlib import suppress
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts.models import User, label_column
from wsgiauth.authentication.form_accounts import ShownTo
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.request import FORM, content_type, read_form, text_field

ACCOUNT = "account"  # the field


def require_shown_to(
    user: User | None, sent: str, site: Site, *, page: str, identity_id: str = ""
) -> None:
    """Raise RequestError (403) unless a form was shown to the account that sends it.

    Args:
        user: The user of the session or the pending login; None without one.
        sent: The field `account`.
        page: The path below the mount of the page with the form.
        identity_id: The account at a provider that the form is about.
    """
    shown_to, user_id = site.form_accounts.read(sent), 0 if user is None else user.id
    if shown_to != ShownTo(user_id, identity_id):
        events.emit(kinds.REFUSED, user_id=user_id or None, reason="other account")
        detail = _detail(shown_to, user, is_missing=not sent)
        error = RequestError(HTTPStatus.FORBIDDEN, "other_account", detail)
        error.pages = {page: _("Open the page again")}
        raise error


def sent_account(environ: WSGIEnvironment) -> str:
    """Return the field `account` of a form without other fields; empty without one."""
    with suppress(RequestError):
        if content_type(environ) == FORM:
            return text_field(read_form(environ), ACCOUNT)
    return ""


def _detail(shown_to: ShownTo | None, user: User | None, *, is_missing: bool) -> str:
    if user is None:
        return _(
            "This page was opened for an account that is no longer logged in, so nothing was"
            " changed."
        )
    if is_missing:
        return _(
            "The form does not name the account that it was opened for, so nothing was changed. You"
            " are logged in as %(user)s.",
            user=user.label,
        )
    shown = User.find_by_id(shown_to.user_id) if shown_to else None
    # Before the login, or about another provider's account. An address, which may be new, is not
    # for another user.
    if shown is None or shown == user or label_column() is User.email:
        return _(
            "This page is out of date, so nothing was changed. You are logged in as %(user)s.",
            user=user.label,
        )
    return _(
        "This page was opened for %(shown)s, but you are logged in as %(user)s now, so nothing was"
        " changed.",
        shown=shown.label,
        user=user.label,
    )
