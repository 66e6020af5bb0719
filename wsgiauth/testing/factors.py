"""Second factors of users: authenticator apps with their codes, and recovery codes."""

from wsgiauth.accounts.models import User
from wsgiauth.features.factors import recovery_codes as codes
from wsgiauth.features.factors import totp
from wsgiauth.features.factors.totp import STEP, Totp
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.people import present_user, require_middleware


class Authenticator:
    """An authenticator app of a user, as `add_authenticator` returns it.

    Attributes:
        secret: The key that the app shares with the site, in Base32, for other software.
    """

    def __init__(self, application: AuthMiddleware, device: Totp) -> None:
        self._application = application
        self._device = device
        self._key = totp.derive_key(_factor_key(application), device.salt)
        self.secret: str = totp.base32(self._key)

    def __repr__(self) -> str:
        return f"<Authenticator {self._device.id}>"

    def code(self) -> str:
        """Return the present code of the app, which is valid once.

        Each call makes the code valid again, so that a test need not wait for the next code.
        """
        with context.using(self._application.database):
            Totp.update(counter=0).where(Totp.id == self._device.id).execute()
        return self._code_at(self._application.site.tokens.now())

    def _code_at(self, now: float) -> str:
        return totp.code_of_step(self._key, int(now) // STEP)


def add_authenticator(
    application: AuthMiddleware, user: User | None = None, name: str = "Phone"
) -> Authenticator:
    """Add an authenticator app with a name to `user`, so that a login asks for its code.

    Raises:
        ValueError: The site has no second factors, or the user is deleted or from another
            application.
    """
    key = _factor_key(application)
    now = application.site.tokens.now()
    with context.using(application.database):
        device = totp.begin(_require_user(application, user), name, now)
        added = Authenticator(application, device)
        totp.confirm(device, added._code_at(now), (key,), now)  # a step can end meanwhile
    return added


def recovery_codes(application: AuthMiddleware, user: User | None = None) -> list[str]:
    """Return new recovery codes of `user`, which replace older ones.

    A login asks for one only if the user has a second factor: see `add_authenticator`.

    Raises:
        ValueError: The site has no second factors, or the user is deleted or from another
            application.
    """
    _factor_key(application)
    rounds = codes.rounds_of_site(application.site.settings)
    with context.using(application.database):
        return codes.replace(_require_user(application, user), rounds=rounds)


def _factor_key(application: AuthMiddleware) -> str:
    key = require_middleware(application).site.settings.FACTOR_KEY
    if key is None:
        raise ValueError("The site has no second factors, because it has no FACTOR_KEY.")
    return key


def _require_user(application: AuthMiddleware, user: User | None) -> User:
    current = present_user(application, user)
    if current is None:
        raise ValueError(f"{user!r} has been deleted.")
    return current
