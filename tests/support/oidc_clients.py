"""Our side of a login at a provider, and a browser between the two."""

import time
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.support.provider_keys import changed
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.errands import LOG_IN, Errand
from wsgiauth.features.providers.oidc.failures import ProviderError

CALLBACK = "https://example.org/auth/oidc/google/callback"


class Client:
    """Our side, with a browser between it and the provider."""

    def __init__(self, provider, clock=time.time, timeout=5, proxy=None, **parameters):
        self.provider = provider
        settings = Settings(
            SECRET_KEY=SECRET_KEY,
            PUBLIC_URL="https://example.org",
            OIDC_PROVIDERS=(provider.entry("google", **parameters),),
            OIDC_PROXY=proxy,
        )
        self.ours = Providers(settings, clock, timeout=timeout)
        self.google = self.ours.find("google")
        self.now = clock
        self.known = set()  # subjects that are connected to a user

    def begin(self, errand=Errand(LOG_IN)):  # noqa: B008 - a value
        self.begun = self.google.begin(errand, redirect_uri=CALLBACK)
        return dict(parse_qsl(urlsplit(self.begun.url).query))

    def come_back(self, subject="ada", **changes):
        query = dict(parse_qsl(self.provider.authorize(self.begun.url, subject)))
        return changed(query, changes)

    def finish(self, query):
        state = query["state"]
        begun = self.ours.errands.find(self.begun.cookie.value, "google", state)
        return self.google.finish(
            query, begun, redirect_uri=CALLBACK, is_known=self.known.__contains__
        )

    def log_in(self, subject="ada", errand=Errand(LOG_IN), **changes):  # noqa: B008
        self.begin(errand)
        return self.finish(self.come_back(subject, **changes))

    def refusal(self, **changes):
        """Return the error of a login, which has nothing that was sent."""
        with pytest.raises(ProviderError) as caught:
            self.log_in(**changes)
        assert caught.value.__cause__ is None
        return caught.value
