"""Responses for clients whose session was not proven by a second factor (RFC 9470).

A user who has a second factor confirms it. A user without one sets it up, but not in place of one
whose type is switched off. Guards, `challenges` and the endpoints use them.
"""

from wsgiref.types import WSGIEnvironment

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication.second_factors import demands_second_factor_of
from wsgiauth.exceptions import INSUFFICIENT_AUTHENTICATION, SecondFactorMissingError
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import unavailable
from wsgiauth.web.failures import ask_for_second_factor, ask_to_log_in, second_factor_failure
from wsgiauth.web.responses import Response


def second_factor_missing(user: User, site: Site) -> SecondFactorMissingError:
    """Return the error for a session of a user that was not proven by a second factor."""
    factors = site.factors
    needs_set_up = factors.are_offered and not factors.is_needed_by(user)
    if needs_set_up and demands_second_factor_of(user, site.settings) and factors.all_of(user):
        return SecondFactorMissingError(needs_set_up=False, is_switched_off=True)
    return SecondFactorMissingError(needs_set_up=needs_set_up)


def step_up(environ: WSGIEnvironment, site: Site, error: SecondFactorMissingError) -> Response:
    """Return the response to a client whose session was not proven by a second factor."""
    if error.is_switched_off:
        return second_factor_failure(environ, error, error.detail)
    if not site.factors.are_offered:  # a guard asks for what only `log_in` could say
        detail = _("This page needs two-step verification, and this site has none.")
        return second_factor_failure(environ, error, detail)
    path = site.factors.set_up_path if error.needs_set_up else "/confirm"
    return ask_for_second_factor(environ, site.pages.mount + path, error)


def ask_to_identify(environ: WSGIEnvironment, login_url: str | None) -> Response:
    """Return the response to a client that is anonymous to the application."""
    error: str | None = environ["wsgiauth.error"]
    if error != INSUFFICIENT_AUTHENTICATION:
        return ask_to_log_in(environ, login_url, error)
    site: Site = environ["wsgiauth.site"]
    try:
        identity = site.identifier.identify(environ)
        if identity.incomplete is None:  # it has ended, or was completed, in the meantime
            return ask_to_log_in(environ, login_url, identity.error)
        return step_up(environ, site, second_factor_missing(identity.incomplete.user, site))
    except DATABASE_ERRORS as failure:
        return unavailable(environ, failure)
    finally:
        storage.release_connection(storage.current())
