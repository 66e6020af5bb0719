"""GET /auth/me: the caller's own profile."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.endpoints import Auth
from wsgiauth.storage.columns import utc_text
from wsgiauth.web.failures import failure
from wsgiauth.web.responses import Response, challenge, json_response


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer 200 with the profile, or 401 with the challenge."""
    identity = auth.identifier.identify(environ)
    if identity.user is None:
        return failure(
            environ,
            HTTPStatus.UNAUTHORIZED,
            identity.error or "unauthenticated",
            "Log in to see your profile.",
            headers=(challenge(identity.error),),
        )
    return json_response(profile(identity.user))


def profile(user: User, permissions: list[str] | None = None) -> dict[str, object]:
    """Return what a user may know about themselves, ready for JSON.

    Args:
        user: Whose profile it is.
        permissions: The user's, sorted, where they have been read already.
    """
    return {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "is_active": user.is_active,
        "is_staff": user.is_staff,
        "is_superuser": user.is_superuser,
        "created_at": utc_text(user.created_at),
        "permissions": sorted(user.permissions) if permissions is None else permissions,
    }
