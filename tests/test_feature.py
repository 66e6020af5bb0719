"""The declarations of features: their order decides nothing, and two for one purpose are errors."""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from webtest import TestApp

import wsgiauth
from tests.support import features
from tests.support.identities import ENTRY
from tests.support.service_keys import REPORTS
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts.personal_data import Records
from wsgiauth.authentication.identity import BEARER, CredentialKind
from wsgiauth.endpoints.confirm import OWN_FIELDS
from wsgiauth.events import kinds
from wsgiauth.events.kinds import Change
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import (
    ConfirmationWay,
    Feature,
    changes_of,
    claims_of,
    composers_of,
    confirmations_of,
    credential_kinds_of,
    endpoints_of,
    event_kinds_of,
    expiring_of,
    figures_of,
    headlines_of,
    id_claims_of,
    named,
    personal_data_of,
    staff_sections_of,
)
from wsgiauth.features.keys import api_keys
from wsgiauth.features.registry import FEATURES
from wsgiauth.features.services.introspection import Introspector
from wsgiauth.features.services.service_tokens import CLIENT_ID
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.figures import Figure
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.site import Site
from wsgiauth.storage.models import utc_now
from wsgiauth.web.pages import StaffSection

PACKAGE = Path(wsgiauth.__file__).parent
DOCUMENTS = (
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/change-password",
)


def shuffled(seed):
    return tuple(random.Random(seed).sample(FEATURES, len(FEATURES)))  # noqa: S311 - no secret


ORDERS = [
    pytest.param(FEATURES[::-1], id="reversed"),
    *(pytest.param(shuffled(seed), id=f"seed {seed}") for seed in range(5)),
]
in_each_order = pytest.mark.parametrize("order", ORDERS)


@pytest.fixture
def everything(database_url, tmp_path):
    """Return settings with every feature on."""
    given = features.settings(tmp_path, ENTRY)
    return Settings.from_mapping({**given, "DATABASE_URL": database_url})


def site_of(settings, features=FEATURES):
    return Site.from_settings(settings, "/auth", features, send_mail=lambda message: None)


def kinds_of(site):
    return {type(each) for each in site.parts.all(object)}


@in_each_order
def test_a_site_has_the_same_parts_in_every_order(everything, order):
    usual = site_of(everything)
    made = site_of(everything, order)
    assert kinds_of(made) == kinds_of(usual)
    assert len(kinds_of(usual)) > len(FEATURES)


@in_each_order
def test_a_token_that_a_feature_restricts_is_active_in_no_order(everything, ada, order):
    site = site_of(everything, order)
    now = int(site.tokens.now())
    key = api_keys.create(ada, "export", (), now=now)
    claims = {"sub": str(ada.id), "aud": REPORTS, "iat": now, "exp": now + 60, "scope": ""}
    claims |= {"client_id": CLIENT_ID, "sid": key.row.id}
    introspector, sign = site.require(Introspector), site.require(SignedTokens).sign
    assert introspector.describe(key.text)["username"] == ada.username
    assert introspector.describe(sign(claims))["active"]
    for restricted in ({"grant": "revoked"}, {"grant_type": "client_credentials"}):
        assert introspector.describe(sign({**claims, **restricted})) is None


@in_each_order
def test_the_ways_in_and_the_factors_are_the_same_in_every_order(everything, ada, order):
    site = site_of(replace(everything, PASSWORD_LOGIN=False), order)
    assert not site.ways_in.has_one(ada)
    ada.email_verified_at, ada.email_verified_by = utc_now(), "link"
    assert site.ways_in.has_one(ada)  # a code by email
    assert site.factors.are_offered


@in_each_order
def test_the_documents_above_the_mount_are_the_same_in_every_order(everything, order, monkeypatch):
    def documents():
        client = TestApp(AuthMiddleware(echo, everything, send_mail=lambda message: None))
        return [client.get(path).body for path in DOCUMENTS]

    usual = documents()
    monkeypatch.setattr("wsgiauth.features.registry.FEATURES", order)
    assert documents() == usual


@in_each_order
def test_the_same_endpoint_answers_at_a_path_in_every_order(order):
    own = {"/register": Endpoint()}
    usual, made = (endpoints_of(each, own, reserved=()) for each in (FEATURES, order))
    assert made == usual
    assert made["/register"] is not own["/register"]


def nothing(*arguments):
    """Do nothing."""


OWN = {"/login": Endpoint()}


def endpoints(features):
    return endpoints_of(features, OWN, reserved=["/account"])


def confirmations(features):
    return confirmations_of(features, reserved=OWN_FIELDS)


def figures(features):
    return figures_of(features, None, {}, [])


def giving(kind, *reasons):
    return {"event_reasons": {kind: {each: each for each in reasons}}}


def sections(*names):
    return lambda settings: [StaffSection(each, each) for each in names]


@pytest.mark.parametrize(
    ("what", "join", "one", "other"),
    [
        pytest.param("the URL /x", endpoints, *[{"urls": {"/x": Endpoint()}}] * 2, id="a path"),
        pytest.param(
            "the URL /x/{name}",
            endpoints,
            {"urls": {"/x/{id}": Endpoint()}},
            {"urls": {"/x/{name}": Endpoint()}},
            id="patterns that a path fits both",
        ),
        pytest.param(
            "the URL /login",
            endpoints,
            *[{"urls": {"/login": Endpoint()}, "replaces": frozenset({"/login"})}] * 2,
            id="two that replace",
        ),
        pytest.param(
            "the URL /x/{id}",
            endpoints,
            {"urls": {"/x/7": Endpoint()}},
            {"urls": {"/x/{id}": Endpoint()}},
            id="a path that fits a pattern",
        ),
        pytest.param(
            "the reason x of login", changes_of, *[giving(kinds.LOGIN, "x")] * 2, id="a reason"
        ),
        pytest.param("the headline x", headlines_of, *[{"headlines": {"x": "X"}}] * 2, id="error"),
        pytest.param(
            "the event x", event_kinds_of, *[{"events": (Change("x", "X"),)}] * 2, id="event"
        ),
        pytest.param(
            "the email x",
            composers_of,
            *[{"composers": lambda factors: {"x": nothing}}] * 2,
            id="email",
        ),
        pytest.param("the row x", expiring_of, *[{"expiring": {"x": object}}] * 2, id="rows"),
        pytest.param(
            "the field x",
            confirmations,
            *[{"confirmations": {"x": ConfirmationWay(nothing)}}] * 2,
            id="field",
        ),
        pytest.param(
            "the table x",
            personal_data_of,
            {"personal_data": {"x": Records("a", nothing)}},
            {"personal_data": {"x": Records("b", nothing)}},
            id="a table",
        ),
        pytest.param(
            "the list a",
            personal_data_of,
            {"personal_data": {"x": Records("a", nothing)}},
            {"personal_data": {"y": Records("a", nothing)}},
            id="a list of the file of a person",
        ),
        pytest.param("the claim x", claims_of, *[{"claims": {"x": nothing}}] * 2, id="claim"),
        pytest.param(
            "the id_claim x", id_claims_of, *[{"id_claims": {"x": nothing}}] * 2, id="id_claim"
        ),
        pytest.param(
            "the section x",
            lambda features: staff_sections_of(features, None),
            *[{"staff_sections": sections("x")}] * 2,
            id="a section of the panel",
        ),
    ],
)
def test_what_two_features_declare_is_an_error_with_both_names(what, join, one, other):
    features = [Feature(name="a", **one), Feature(name="b", **other)]
    for order, names in ((features, "a and b"), (features[::-1], "b and a")):
        with pytest.raises(ConfigurationError, match="Two features have ") as refused:
            join(order)
        assert str(refused.value).endswith(f": {names}.")
    with pytest.raises(ConfigurationError) as refused:
        join(features)
    assert str(refused.value) == f"Two features have {what}: a and b."


OURS = {
    "the headline not_found": (headlines_of, {"headlines": {"not_found": "x"}}),
    "the field password": (
        confirmations,
        {"confirmations": {"password": ConfirmationWay(nothing)}},
    ),
    "the list sub": (personal_data_of, {"personal_data": {"x": Records("sub", nothing)}}),
    "the figure requests_total": (
        figures,
        {"figures": lambda settings: [Figure("requests_total", "", nothing)]},
    ),
    "the reason all sessions of logout": (changes_of, giving(kinds.LOGOUT, "all sessions")),
}


@pytest.mark.promise(105)
@pytest.mark.parametrize("what", OURS)
def test_a_feature_declares_nothing_that_the_kernel_has(what):
    join, declared = OURS[what]
    with pytest.raises(ConfigurationError) as refused:
        join([Feature(name="a", **declared)])
    assert str(refused.value) == f"Two features have {what}: the kernel and a."


def test_a_path_can_be_beside_a_pattern_that_it_does_not_fit():
    features = [
        Feature(name="a", urls={"/x/new": Endpoint()}),
        Feature(name="b", urls={"/x/{id}": Endpoint()}),
    ]
    assert {"/x/new", "/x/{id}"} <= set(endpoints(features))
    assert {"/x/new", "/x/{id}"} <= set(endpoints(features[::-1]))


@pytest.mark.parametrize(
    ("path", "replaces"), [("/login", False), ("/account", False), ("/account", True)]
)
def test_a_feature_takes_no_url_of_the_kernel_by_accident(path, replaces):
    replaced = frozenset({path} if replaces else ())
    feature = Feature(name="a", urls={path: Endpoint()}, replaces=replaced)
    with pytest.raises(ConfigurationError, match=f"Two features have the URL {path}: the kernel"):
        endpoints([feature])


@pytest.mark.parametrize("name", ["sub", "sid", "wsgiauth_toys"])
def test_a_feature_takes_no_claim_of_the_kernel(name):
    declared = {"claims": claims_of, "id_claims": id_claims_of}
    for what, join in declared.items():
        feature = Feature(name="a", **{what: {name: nothing}}, replaces=frozenset({name}))
        with pytest.raises(ConfigurationError, match=f"claim {name}: the kernel and a"):
            join([feature])


def test_a_feature_replaces_a_url_where_it_says_so():
    own = Endpoint()
    feature = Feature(name="a", urls={"/login": own}, replaces=frozenset({"/login"}))
    assert endpoints([feature]) == {"/login": own}


def test_two_features_have_different_names():
    with pytest.raises(ConfigurationError, match="Two features have the name a: a and a"):
        named([Feature(name="a"), Feature(name="a")])


@pytest.mark.parametrize(
    ("one", "other", "is_refused"),
    [
        pytest.param((BEARER, "a_"), (BEARER, "b_"), False, id="different prefixes"),
        pytest.param((BEARER, "a_"), (BEARER, "a_b_"), True, id="a prefix of the other"),
        pytest.param((BEARER, "a_b_"), (BEARER, "a_"), True, id="the other way round"),
        pytest.param((BEARER, "a_"), ("basic", "a_"), False, id="different schemes"),
        pytest.param(("basic", "a_"), ("basic", "b_"), True, id="a scheme that has one kind"),
    ],
)
def test_credentials_are_of_one_kind(settings, one, other, is_refused):
    kinds = [CredentialKind(scheme, nothing, prefix) for scheme, prefix in (one, other)]
    features = [
        Feature(name=name, credential_kinds=lambda settings, kind=kind: [kind])
        for name, kind in zip("ab", kinds, strict=True)
    ]
    if not is_refused:
        named = [kind._replace(feature=name) for kind, name in zip(kinds, "ab", strict=True)]
        assert credential_kinds_of(features, settings) == named
        return
    with pytest.raises(ConfigurationError, match=f"the credentials {' '.join(other)}: a and b"):
        credential_kinds_of(features, settings)


def test_no_template_and_no_description_has_the_name_of_another_one():
    """The folders and files are joined in the order of the alphabet."""
    folders = [PACKAGE / "templates", *PACKAGE.glob("features/*/templates")]
    names = [
        str(path.relative_to(each))
        for each in folders
        for path in each.rglob("*")
        if path.is_file()
    ]
    files = [*PACKAGE.glob("openapi/*.json"), *PACKAGE.glob("features/*/openapi.json")]
    for document in (json.loads(path.read_text(encoding="utf-8")) for path in files):
        names += document["paths"]
        names += [f"{kind} {each}" for kind, of in document["components"].items() for each in of]
    assert {name for name, count in Counter(names).items() if count > 1} == set()
