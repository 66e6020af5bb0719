"""The OpenAPI document is refused if two declarations contradict each other, or one is missing."""

import ast
from types import SimpleNamespace

import pytest

from tests.docs.pages import ROOT
from tests.support.contract import DOCUMENT
from tests.support.house import nodes_of, tree_of
from wsgiauth.endpoints.document import Described, make_document
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.openapi.answers import HTML, JSON, PROBLEM, Operation, answer
from wsgiauth.openapi.schemas import obj, text

NOBODY = Described((), {}, ("en",), None)


class Hello(Endpoint):
    """Greets."""

    def get(self, environ, site):
        raise NotImplementedError


def made(monkeypatch, *answers):
    """Return the document of an endpoint with these answers."""
    described = {"get": Operation("greet", "Greet", "Says hello.", answers=answers)}
    module = SimpleNamespace(OPERATIONS={Hello: described})
    monkeypatch.setattr("wsgiauth.endpoints.document.import_module", {"hello": module}.get)
    return make_document({"/hello": Hello()}, ["hello"], NOBODY)


def test_two_schemas_of_one_name_are_named(monkeypatch):
    one, other = (obj("Greeting", word=text(), **more) for more in ({}, {"name": text()}))
    assert (len(one), {*one}) == (3, {"type", "required", "properties"})
    with pytest.raises(ConfigurationError, match="two schemas named Greeting"):
        made(monkeypatch, answer(200, "A greeting.", one), answer(201, "Another one.", other))


def test_a_feature_adds_to_the_operation_of_another_one():
    described = DOCUMENT["paths"]["/introspect"]["post"]
    assert described["description"].startswith("Introspection (RFC 7662)")
    assert "With OAUTH_SERVER, a client can ask by its secret" in described["description"]
    assert described["security"] == [{"key": []}, {"basic": []}, {"client": []}, {}]


def test_an_answer_with_the_status_of_a_failure_is_described_beside_it():
    described = DOCUMENT["paths"]["/introspect"]["post"]["responses"]["401"]
    assert described == {"$ref": "#/components/responses/NoKeyOrNotAuthenticated"}
    response = DOCUMENT["components"]["responses"]["NoKeyOrNotAuthenticated"]
    assert response["content"].keys() == {JSON, PROBLEM, HTML}
    assert "`unauthenticated`" in response["description"]
    assert "`invalid_client`" in response["description"]
    challenge = {"$ref": "#/components/headers/ClientOrKeyChallenge"}
    assert response["headers"]["WWW-Authenticate"] == challenge


@pytest.mark.slow
def test_nothing_is_declared_that_nothing_uses():
    declared, used = set(), {"OPERATIONS", "MEMBERS", "ADDITIONS", "__all__"}  # read by name
    for path in ROOT.glob("wsgiauth/**/*.py"):
        for each in nodes_of(path):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                used.add(each.id)
        if path.parent.name == "openapi" or path.stem.startswith("openapi"):
            assigned = [each for each in tree_of(path).body if isinstance(each, ast.Assign)]
            names = [name for each in assigned for name in ast.walk(each.targets[0])]
            declared |= {each.id for each in names if isinstance(each, ast.Name)}
    assert {"DETAIL", "CLIENT_CHALLENGE", "OF_BODY"} <= declared
    assert declared - used == set()
