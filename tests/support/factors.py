"""Second factors: a site that has them, and an app that computes codes."""

import pyotp

from wsgiauth.features.factors import totp
from wsgiauth.storage import context

FACTOR_KEY = "pY7nQe2LwZ9vKc4RtXb8MdHs3UgJ6fAo"


class App:
    """An authenticator app, whose codes are computed by another implementation.

    Args:
        secret: The key in Base32.
        site: The site, whose clock it has.

    Attributes:
        secret: The key.
    """

    def __init__(self, secret, site):
        self.secret = secret
        self._totp = pyotp.TOTP(secret)
        self._now = site.site.tokens.now

    def code(self, step=0):
        """Return the code of now, or of some steps later."""
        return self.code_at(self._now() + step * totp.STEP)

    def code_at(self, time):
        """Return the code of a time."""
        return self._totp.at(int(time))


def add_app(site, user, name="Phone"):
    """Return the confirmed app of a user, whose present code can still be used."""
    with context.using(site.database):
        now = site.site.tokens.now()
        device = totp.begin(user, name, now)
        app = App(totp.base32(totp.derive_key(FACTOR_KEY, device.salt)), site)
        code = app.code_at(now - totp.STEP)  # of the step before this one, even if that ends now
        assert totp.confirm(device, code, (FACTOR_KEY,), now)
    return app
