"""What logins to other apps cost over HTTP: the redirect of a known consent.

It is measured beside a guarded view, which answers with a name: as it is, and with the same query,
which the server has to read, too. /auth/sessions is a page for logged-in users.
"""

import logging
import shutil
import statistics
import time

from tests.load.bench import print_table
from tests.load.bench.requests import view
from tests.load.bench.served import ROUNDS, requests_per_second
from tests.load.bench.sites import Site
from tests.support.oauth_apps import ISSUER, App
from tests.support.service_keys import write_key
from tests.support.sites import serving, spawned
from wsgiauth import User, storage
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.tables import Client

PEOPLE = 10_000
SOME = 100  # with a consent
VIEW, SAME = "a guarded view", "the same, with the query of the app"
PAGE, REDIRECT = "/auth/sessions", "/auth/authorize, a known consent"


class Provider:
    """A site, `SOME` of whose users have allowed an app to know who they are."""

    def __init__(self, url, folder, people, **settings):
        key = str(write_key(folder / "service.key"))
        settings |= {"OAUTH_SERVER": True, "PUBLIC_URL": ISSUER, "SERVICE_KEYS": key}
        self.site = Site(url, view, people, **settings)
        self.app = App(self.site.app)
        self.path = self.app.url()
        with storage.context.using(self.site.app.database):
            client, now = Client.get(), time.time()
            for user in User.select().where(User.id <= SOME):
                grants.allow(client, user, ["openid", "profile", "email"], now)


def serve(folder, pipe):
    """Serve the site until told otherwise."""
    logging.disable()
    provider = Provider(f"sqlite:///{folder}/provider.db", folder, PEOPLE)
    with serving(provider.site.app) as address:
        pipe.send((address, provider.path, provider.site.tokens(PEOPLE)[0]))
        pipe.recv()


def over_http(folder):
    """Return requests a second over one connection, by what is asked; each is a median."""
    counted = {}
    with spawned(serve, folder) as (_, (address, path, session)):
        query = path.partition("?")[2]
        cases = {VIEW: "/", SAME: f"/?{query}", PAGE: PAGE, REDIRECT: path}
        for _ in range(ROUNDS):
            for name, asked in cases.items():
                rate = requests_per_second(f"{address}{asked}", 1, f"Cookie: wsgiauth={session}")
                counted.setdefault(name, []).append(rate)
    return {name: statistics.median(rates) for name, rates in counted.items()}


def report(folder):
    """Print the table."""
    if shutil.which("wrk") is None:
        print("\nwrk is not installed: the redirect is left out")
        return
    rates = over_http(folder)
    print("\nRequests a second over HTTP, one at a time, and the time relative to a view")
    rows = ((name, rate, rates[VIEW] / rate) for name, rate in rates.items())
    print_table(("request", "a second", "time, of the view"), *rows)
