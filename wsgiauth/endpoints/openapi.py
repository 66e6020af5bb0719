"""GET /auth/openapi.json: the interface for programs, as an OpenAPI 3.1 document.

`document` makes it from declarations. Tests compare it with the answers of each URL, in both
directions. `x-browser` says how a form is answered, where it is not only 303 to the next page.
docs/endpoints.md is made from the document.
"""

import logging
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from importlib import import_module
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.events.actors import feature_code
from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.languages import SHIPPED
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.cookies import shared_prefix
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url

logger = logging.getLogger("wsgiauth")


class OpenApi(Endpoint):
    """The document, without the URLs that the settings turn off, with the fields of the site.

    Args:
        endpoints: The other endpoints, by path.
        modules: The names of the modules with the operations of features, by the feature, as
            `operations` has those of the kernel. They are imported when the document is first asked
            for.
        owners: The names of the features by their endpoints.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        modules: Mapping[str, str],
        owners: Mapping[Endpoint, str],
    ) -> None:
        self._endpoints = {"/openapi.json": self, **endpoints}
        self._modules = {KERNEL: f"{__package__}.operations", **modules}
        self._owners = owners
        self._of_site: dict[str, Any] | None = None

    def variant(self, settings: Settings) -> Endpoint:
        """Return an endpoint for one site, which keeps the document of the site."""
        return copy(self)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return no failures."""
        return ()

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the description of this service, as it is mounted and configured."""
        if self._of_site is None:
            self._of_site = self._document_of(site)
        return json_response({**self._of_site, "servers": [{"url": mount_url(environ)}]})

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document with every path, at the usual mount."""
        from wsgiauth.endpoints.document import Described, make_document

        described = Described((), {}, tuple(SHIPPED), None)
        return make_document(self._endpoints, self._modules.values(), described)

    def _document_of(self, site: Site) -> dict[str, Any]:
        from wsgiauth.endpoints.document import Described, make_document

        settings = site.settings
        modules = self._kinds_by_module()
        kinds = frozenset[type]().union(*modules.values())
        offered = {
            path: endpoint.variant(settings)
            for path, endpoint in self._endpoints.items()
            if endpoint.is_offered(settings) and self._is_described(path, endpoint, kinds)
        }
        asked = {
            path: tuple(each for each in site.registration.fields if each.name in asked)
            for path, form in offered.items()
            if isinstance(form, Form)
            and (asked := {*form.strings(site)} - {each.name for each in form.fields})
        }
        languages = tuple(each.name for each in site.pages.readers.languages)
        described = Described(tuple(site.admission.demands), asked, languages, settings)
        document = make_document(offered, modules, described)
        _name_cookies(document["components"]["securitySchemes"], settings)
        return document

    def _kinds_by_module(self) -> dict[str, frozenset[type]]:
        """Return the classes that the modules describe, without modules that fail."""
        found: dict[str, frozenset[type]] = {}
        for feature, name in self._modules.items():
            with feature_code(feature, f"the OpenAPI module {name}"):
                found[name] = frozenset(import_module(name).OPERATIONS)
        return found

    def _is_described(self, path: str, endpoint: Endpoint, kinds: frozenset[type]) -> bool:
        """Return whether a module describes a URL, which is left out otherwise."""
        if kinds.isdisjoint(type(endpoint).__mro__):
            feature = self._owners.get(endpoint, KERNEL)
            logger.warning("the OpenAPI document lacks %s: %s does not describe it", path, feature)
            return False
        return True


def _name_cookies(schemes: Mapping[str, dict[str, str]], settings: Settings) -> None:
    """Give the security schemes the names of this site's cookies."""
    prefix, name = shared_prefix(settings.COOKIE_DOMAIN), settings.COOKIE_NAME
    schemes["cookie"]["name"] = name
    schemes["secureCookie"]["name"] = prefix + name
