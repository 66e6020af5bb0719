"""GET /auth/openapi.json: the interface for programs, as an OpenAPI 3.1 document.

`document` makes it from declarations. Tests compare it with the answers of each URL, in both
directions. `x-browser` says how a form is answered, where it is not only 303 to the next page.
docs/endpoints.md is made from the document.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.events.actors import feature_code
from wsgiauth.feature import Feature
from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.languages import SHIPPED
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.settings.features import load
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
        """Return the document without the features of FEATURES that describe themselves wrongly."""
        settings, offered = site.settings, {}
        for path, endpoint in self._endpoints.items():
            with feature_code(
                self._owners.get(endpoint, KERNEL), f"{path} in the OpenAPI document"
            ):
                if endpoint.is_offered(settings):
                    offered[path] = endpoint.variant(settings)
        others = {each.name for each in load(settings.FEATURES)}
        left_out = [each for each in site.features if each.name in others]
        document = self._made(site, offered, left_out)
        for feature in [*left_out]:
            with feature_code(feature.name, "its part of the OpenAPI document"):
                document = self._made(site, offered, [each for each in left_out if each != feature])
                left_out.remove(feature)
        for path in offered.keys() - document["paths"].keys():
            owner = self._owners.get(self._endpoints[path], KERNEL)
            logger.warning("the OpenAPI document lacks %s: %s does not describe it", path, owner)
        return document

    def _made(
        self, site: Site, offered: Mapping[str, Endpoint], left_out: Iterable[Feature]
    ) -> dict[str, Any]:
        """Return the document without these features."""
        from wsgiauth.endpoints.document import Described, make_document

        settings, admission = site.settings, site.admission
        names = {each.name for each in left_out}
        endpoints = {
            path: each
            for path, each in offered.items()
            if self._owners.get(self._endpoints[path]) not in names
        }
        modules = [name for feature, name in self._modules.items() if feature not in names]
        fields = {field.name for each in left_out for field in each.registration_fields(settings)}
        asked = {
            path: tuple(each for each in site.registration.fields if each.name in asked - fields)
            for path, form in endpoints.items()
            if isinstance(form, Form)
            and (asked := {*form.strings(site)} - {each.name for each in form.fields})
        }
        demands = (each for each in admission.demands if admission.feature_of(each) not in names)
        languages = tuple(each.name for each in site.pages.readers.languages)
        described = Described(tuple(demands), asked, languages, settings)
        document = make_document(endpoints, modules, described)
        _name_cookies(document["components"]["securitySchemes"], settings)
        json.dumps(document, ensure_ascii=False).encode()  # which otherwise fails in the response
        return document


def _name_cookies(schemes: Mapping[str, dict[str, str]], settings: Settings) -> None:
    """Give the security schemes the names of this site's cookies."""
    prefix, name = shared_prefix(settings.COOKIE_DOMAIN), settings.COOKIE_NAME
    schemes["cookie"]["name"] = name
    schemes["secureCookie"]["name"] = prefix + name
