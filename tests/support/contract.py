"""Requests that draw every answer that openapi.json describes, and what Schemathesis expects.

Most answers are those of a base class, so `common` draws them for each operation. The module
`answers` of a feature, beside its tests, draws what is left. It can have:

- ``answers(world)``: yields requests, each `Request(method, path, …)`. All features share the
  sites: take users of `world.user`, which gives each another name.
- ``without_a_database(world)``: returns requests that are sent after the database went away.
- ``EXPECTED``: further statuses that Schemathesis accepts for right and for wrong requests, by
  operation, where no schema can tell them apart.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.support.sites import BROWSER
from wsgiauth.app import ROUTES
from wsgiauth.authentication.demands import Demand
from wsgiauth.features.registry import FEATURES
from wsgiauth.openapi.answers import Problem
from wsgiauth.testing import api_key, bearer, make_user

DOCUMENT = ROUTES["/openapi.json"].document
JSON_TYPE = "application/json"
JSON = {"Content-Type": JSON_TYPE}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
GARBAGE = {"Authorization": "Bearer x"}
PARTS = {"id": "1", "client": "1", "provider": "google"}  # of a path; `action` has a list of values
LARGE = 16 * 1024 + 1
OF_BODY = {"411", "413", "415"}
ACCEPTS = ({}, BROWSER)


class Request(NamedTuple):
    """A request, which is sent once for each `Accept`."""

    method: str
    path: str
    headers: Mapping = MappingProxyType({})
    body: str | None = None
    environ: Mapping = MappingProxyType({})
    cookies: Mapping = MappingProxyType({})
    query: str = ""
    site: Any = None  # None: that with everything
    accepts: tuple = ACCEPTS


@dataclass(frozen=True)
class World:
    """The sites that requests are sent to.

    Attributes:
        site: With everything but demands, and without limits.
        demanding: The same, with every demand.
        limited: Where one attempt of each kind is free.
        make: Returns another site with the same database, for changed settings.
        provider: The provider `google` of each site.
    """

    site: Any
    demanding: Any
    limited: Any
    make: Any
    provider: Any
    numbers: Any = field(default_factory=count)

    def site_of(self, path):
        """Return the site that has the path."""
        is_offered = ROUTES[path].is_offered(self.site.site.settings)
        return self.site if is_offered else self.demanding

    def user(self, site=None, **options):
        """Return a new user."""
        return make_user(site or self.site, f"user{next(self.numbers)}", **options)

    def login(self, site=None, **options):
        """Return the header of a session of a new user."""
        return bearer(site or self.site, self.user(site, **options))

    def stale(self, user, site=None):
        """Return the cookie of a session whose last proof is an hour old."""
        return cookie_in(bearer(site or self.site, user, confirmed_minutes_ago=60))


def sent(method, path, fields=None, headers=None, **further):
    """Return a request with JSON, or without a body."""
    headers = headers or {}
    if fields is None:
        return Request(method, path, headers, **further)
    return Request(method, path, JSON | headers, json.dumps(fields), **further)


def unreadable(path, content_type, headers=None, **further):
    """Yield requests whose body cannot be read: each of the failures `problems.OF_BODY`."""
    headers = headers or {}
    wrong = "{" if content_type == JSON else "a=%ff"
    yield Request("POST", path, content_type | headers, wrong, **further)
    if content_type == FORM:
        yield Request("POST", path, content_type | headers, "{}", **further)
    yield Request("POST", path, {"Content-Type": "text/plain"} | headers, "x", **further)
    yield Request("POST", path, content_type | headers, "a" * LARGE, **further)
    no_length = {"CONTENT_LENGTH": ""}
    yield Request("POST", path, content_type | headers, "{}", environ=no_length, **further)


def cookie_in(login):
    """Return the cookie with the session of an Authorization header."""
    return {"wsgiauth": login["Authorization"].removeprefix("Bearer ")}


def operations(document=DOCUMENT):
    """Yield the method, the path and the description of each operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def problems():
    """Yield the failures that endpoints and demands declare."""
    for endpoint in ROUTES.values():
        for method in map(str.lower, endpoint.handlers):
            yield from (each for each in endpoint.problems(method) if isinstance(each, Problem))
        yield from getattr(endpoint, "refusals", ())
    yield from (each.problem for each in Demand.__subclasses__() if each.problem is not None)


def requires_session(operation):
    """Return whether a session is needed."""
    return {"cookie": []} in operation["security"] and {} not in operation["security"]


def address(path, operation):
    """Return a path with values for its parts."""
    given = dict(PARTS)
    for each in operation.get("parameters", ()):
        if each.get("name") == "action" and each["in"] == "path":
            given["action"] = each["schema"]["enum"][0]
    return re.sub(r"{(\w+)}", lambda part: given[part[1]], path)


def common(world):
    """Yield the requests that draw the answers of base classes, to each operation."""
    for method, path, operation in operations():
        site, where = world.site_of(path), address(path, operation)
        content_type, body = _empty(method, operation)
        staff = dict.fromkeys(("is_staff", "is_superuser"), path.startswith("/admin"))
        callers = [({}, {}), (GARBAGE, {})]
        login = {}
        if requires_session(operation):
            login = world.login(site, **staff)
            viewer = world.login(site, is_staff=staff["is_staff"])
            callers += [(each, {}) for each in (viewer, world.login(site), login)]
            callers.append((api_key(site, world.user(site), []), {}))
            callers.append(({}, world.stale(world.user(site, **staff), site)))
            if ROUTES[path].is_navigation:
                callers.append(({}, cookie_in(world.login(site))))
        for headers, cookies in callers:
            yield Request(method, where, content_type | headers, body, cookies=cookies, site=site)
        if content_type:
            login = login and world.login(site, **staff)  # the former one may have ended
            yield from unreadable(where, content_type, login, site=site)


def without_a_database(world):
    """Return requests to each operation, of users who had logged in before the database went."""
    found = []
    for method, path, operation in operations():
        site, where = world.site_of(path), address(path, operation)
        content_type, body = _empty(method, operation)
        if content_type == JSON:
            body = json.dumps(operation["requestBody"]["content"][JSON_TYPE].get("example", {}))
        login = world.login(site, is_staff=True, is_superuser=True)
        found.append(Request(method, where, content_type | login, body, site=site))
        if ROUTES[path].is_navigation:
            cookies = cookie_in(login)
            found.append(Request(method, where, content_type, body, cookies=cookies, site=site))
    return found


def _empty(method, operation):
    """Return the header of the type of a body, if there is one, and an empty body of that type."""
    content = operation.get("requestBody", {}).get("content", {})
    content_type = {"Content-Type": next(iter(content))} if content else {}
    return content_type, None if method == "GET" else "{}" if content_type == JSON else ""


def modules():
    """Return the modules `answers`, of the kernel first."""
    names = ["tests.endpoints.answers"]
    names += [f"tests.features.{each.name}.answers" for each in FEATURES]
    found = []
    for name in names:
        try:
            found.append(import_module(name))
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):  # of what the module imports
                raise
    return found


def contract_config(examples, seed, **generation):
    """Return the configuration of Schemathesis for so many examples of each operation.

    It takes a request that fits the schemas for a right one, and any other for a wrong one.
    """
    import schemathesis  # which takes a second, and which most users of this module do not need

    further = {}
    for module in modules():
        further |= getattr(module, "EXPECTED", {})
    return schemathesis.Config.from_dict(
        {
            "seed": seed,
            "generation": {"max-examples": examples, **generation},
            "operations": [
                _expected(f"{method} {path}", operation, further)
                for method, path, operation in operations()
            ],
        }
    )


def _expected(name, operation, further):
    """Return the statuses of an operation, as far as its schemas tell right from wrong."""
    described = {*operation["responses"]}
    always = {*further.get(name, ())}
    right = described - {"400", *OF_BODY, "500", "502", "503"} | always
    wrong = {status for status in described if status.startswith("3")} | {"4xx"} | always
    checks = {
        "positive_data_acceptance": {"expected-statuses": sorted(right)},
        "negative_data_rejection": {"expected-statuses": sorted(wrong)},
    }
    return {"include-name": name, "checks": checks}
