"""Requests to providers through a real forward proxy, which only opens tunnels for TLS."""

import pytest

from tests.support.hostile_provider import DISCOVERY, Provider
from tests.support.mail_servers import make_certificate
from tests.support.oauth_providers import ADA, GitHub
from tests.support.oidc_clients import Client
from tests.support.provider_answers import Answer
from tests.support.tinyproxy import running_tinyproxy

USER, PASSWORD = "ada", "secret-of-the-proxy"
CREDENTIALS = f"{USER}:{PASSWORD}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificates"), "localhost")


@pytest.fixture
def provider(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Provider(certificate=certificate) as made:
        yield made


def host_of(provider):
    return provider.origin.removeprefix("https://")


@pytest.mark.promise(71)
def test_a_login_goes_through_the_proxy(provider, tmp_path):
    with running_tinyproxy(tmp_path) as proxy:
        assert Client(provider, proxy=proxy.url()).log_in().subject == "ada"
        assert proxy.tunnels() == [host_of(provider)] * 3  # discovery, token, keys


def test_a_login_without_openid_connect_goes_through_the_proxy(certificate, monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with GitHub(certificate) as github, running_tinyproxy(tmp_path) as proxy:
        client = Client(github, proxy=proxy.url())
        assert client.log_in().subject == str(ADA)
        assert proxy.tunnels() == [host_of(github)] * 3  # token, user, emails


def test_a_request_to_this_host_without_tls_goes_through_no_proxy(tmp_path):
    with Provider() as provider, running_tinyproxy(tmp_path) as proxy:
        assert Client(provider, proxy=proxy.url()).log_in().subject == "ada"
        assert proxy.tunnels() == []
        assert proxy.url() not in str(provider.requests)


def test_the_proxy_gets_its_credentials_and_the_provider_does_not(provider, tmp_path):
    with running_tinyproxy(tmp_path, f"BasicAuth {USER} {PASSWORD}") as proxy:
        client = Client(provider, proxy=proxy.url(CREDENTIALS))
        assert client.log_in().subject == "ada"
        sent = [each.headers for requests in provider.requests.values() for each in requests]
        assert not any("proxy-authorization" in each for each in sent)


@pytest.mark.parametrize("credentials", ["", "ada:wrong"], ids=["none", "wrong"])
def test_wrong_credentials_are_a_failure_of_the_proxy(provider, tmp_path, caplog, credentials):
    with running_tinyproxy(tmp_path, f"BasicAuth {USER} {PASSWORD}") as proxy:
        client = Client(provider, proxy=proxy.url(credentials))
        error = client.refusal()
        assert (error.status, error.reason) == (503, "discovery: proxy")
        assert not provider.requests
        problem = Client(provider, proxy=proxy.url(credentials)).google.problem()
    assert problem == (
        "The provider google cannot be used (discovery: proxy). Check that OIDC_PROXY can be"
        " reached, that its user and password are right, and that it lets connections through."
    )
    assert "wrong" not in f"{error!r} {vars(error)} {problem} {caplog.text}"


def test_a_proxy_that_forbids_the_port_is_a_failure_of_the_proxy(provider, tmp_path):
    with running_tinyproxy(tmp_path, "ConnectPort 443") as proxy:
        assert Client(provider, proxy=proxy.url()).refusal().reason == "discovery: proxy"


def test_a_provider_that_the_proxy_cannot_reach_is_a_failure_of_the_proxy(provider, tmp_path):
    with running_tinyproxy(tmp_path) as proxy, provider.down():
        assert Client(provider, proxy=proxy.url()).refusal().reason == "discovery: proxy"


@pytest.mark.promise(71)
def test_the_certificate_is_that_of_the_provider(provider, tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with running_tinyproxy(tmp_path) as proxy:
        error = Client(provider, proxy=proxy.url()).refusal()
    assert (error.status, error.reason) == (502, "discovery: unknown authority, see SSL_CERT_FILE")
    assert not provider.requests


def test_an_answer_of_the_provider_is_bounded_through_the_proxy_too(provider, tmp_path):
    provider.answers[DISCOVERY] = Answer(body=b" " * 70_000)
    with running_tinyproxy(tmp_path) as proxy:
        assert Client(provider, proxy=proxy.url()).refusal().reason == "discovery: too large"
