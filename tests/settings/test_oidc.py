"""The entries of OIDC_PROVIDERS: which are accepted, and what is said about others."""

import re
from base64 import b64encode

import pytest

from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.accounts.models import PROVEN_HERE
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.oidc import (
    EXPECTED_PROXY,
    ProviderEntry,
    is_issuer,
    parse_entries,
    parse_entry,
    parse_proxy,
)

SECRET = "canary"
CLIENT = f"client:{SECRET}@"
GOOGLE = f"google:https://{CLIENT}accounts.google.com"
GITHUB = f"git+github:https://{CLIENT}github.com"
PUBLIC_URL = "https://example.org"


def test_an_entry_needs_only_a_client_and_an_issuer():
    assert parse_entry(GOOGLE) == ProviderEntry(
        "google", "https://accounts.google.com", "client", SECRET, "Google"
    )
    assert parse_entry(GOOGLE).scope == ("openid", "email", "profile")
    assert parse_entry(GOOGLE).create is None
    assert parse_entry(GOOGLE).register == "ask"


def test_no_issuer_can_pass_for_a_proof_of_this_site():
    assert is_issuer("https://accounts.google.com")
    assert not any(map(is_issuer, PROVEN_HERE))


def test_an_entry_has_parameters():
    query = (
        "title=Our+staff&scope=email+openid+groups+email&create=off&register=at_once&link=verified&groups=roles"
        "&prompt=select_account&second_factor=trusted&logout=provider"
    )
    assert parse_entry(f"{GOOGLE}?{query}") == ProviderEntry(
        "google",
        "https://accounts.google.com",
        "client",
        SECRET,
        "Our staff",
        ("openid", "email", "groups"),
        create=False,
        register="at_once",
        link="verified",
        groups="roles",
        prompt="select_account",
        second_factor="trusted",
        logout="provider",
    )


ISSUERS = [
    "https://accounts.google.com",
    "https://tenant.eu.auth0.com/",
    "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    "https://id.example.org:8443/realms/main",
    "http://localhost:8080/realms/main/",
    "http://127.0.0.1:8080",
    "http://[::1]:8080",
]


def test_the_issuer_is_kept_as_it_is_written():
    entries = [f"x1-y:{each.replace('://', f'://{CLIENT}')}?title=X" for each in ISSUERS]
    assert [parse_entry(each).issuer for each in entries] == ISSUERS


def test_the_client_is_percent_decoded():
    entry = parse_entry("a:https://my%20app%2F1:a%3Ab%40c%2Fd+e%25@example.org")
    assert (entry.client_id, entry.client_secret) == ("my app/1", "a:b@c/d+e%")


@row_by_row("end", ["", "/"], ids=["no slash", "slash"])
def test_an_entry_can_be_of_a_provider_without_openid_connect(end):
    assert parse_entry(f"{GITHUB}{end}") == ProviderEntry(
        "git",
        "https://github.com",
        "client",
        SECRET,
        "GitHub",
        ("read:user", "user:email"),
        kind="github",
    )
    discord = parse_entry(f"d+discord:https://{CLIENT}discord.com{end}")
    assert (discord.issuer, discord.title) == ("https://discord.com", "Discord")
    assert (discord.kind, discord.scope) == ("discord", ("identify", "email"))


def test_such_an_entry_has_parameters():
    query = "title=Code&scope=read:org+read:org&create=on&link=verified&prompt=select_account"
    entry = parse_entry(f"git+github:http://{CLIENT}localhost:8080?{query}")
    assert entry == ProviderEntry(
        "git",
        "http://localhost:8080",
        "client",
        SECRET,
        "Code",
        ("user:email", "read:org"),
        create=True,
        link="verified",
        prompt="select_account",
        kind="github",
    )


def test_groups_can_come_from_userinfo():
    entry = parse_entry(f"{GOOGLE}?groups_from=userinfo&groups=realm_access.roles")
    assert (entry.groups, entry.groups_from) == ("realm_access.roles", "userinfo")


PROXIES = [
    ("http://proxy.example.org:3128", "proxy.example.org", 3128, None),
    ("http://proxy.example.org", "proxy.example.org", 80, None),
    ("http://10.0.0.1:3128/", "10.0.0.1", 3128, None),
    ("http://[::1]:3128", "::1", 3128, None),
    (f"http://ada:{SECRET}@proxy:1", "proxy", 1, f"ada:{SECRET}"),
    (f"http://a%40b:%3A%25{SECRET}@proxy:1", "proxy", 1, f"a@b::%{SECRET}"),
    ("http://ada@proxy:1", "proxy", 1, "ada"),
    ("http://%C3%A4:x@proxy:1", "proxy", 1, "ä:x"),
]


def test_a_proxy_is_a_host_and_perhaps_credentials():
    for url, host, port, credentials in PROXIES:
        proxy = parse_proxy(url)
        assert (proxy.host, proxy.port) == (host, port)
        sent = proxy.headers.get("Proxy-Authorization")
        assert sent == (credentials and f"Basic {b64encode(credentials.encode()).decode()}")
        settings = Settings(OIDC_PROXY=url)
        assert SECRET not in repr(settings) + repr(proxy) + " ".join(settings.risks())


NO_PROXIES = [
    *("", "proxy:3128", "//proxy:3128", "https://proxy:3128", "socks5://proxy:3128", "http://"),
    *("http://Proxy:3128", "http://proxy:0", "http://proxy:70000", "http://proxy:x"),
    *("http://proxy:1/path", "http://proxy:1//", "http://proxy:1?a=b", "http://proxy:1#a"),
    *("http://proxy:1?", "http://proxy:1#", "http://a b:1", "http://proxy:1\n", "http://[::1"),
    *(f"http://ada:{SECRET}/@proxy:1", f"http://a@{SECRET}@proxy:1", f"http://a:{SECRET}%@p:1"),
    *(f"http://:{SECRET}ä@proxy:1", f"http://a:{SECRET}%zz@proxy:1"),
]


def test_what_is_no_proxy_is_refused_without_its_secret():
    for url in NO_PROXIES:
        with pytest.raises(ConfigurationError) as caught:
            Settings(OIDC_PROXY=url)
        assert str(caught.value) == f"OIDC_PROXY must be {EXPECTED_PROXY}."
        assert SECRET not in repr(caught.value.__context__)


def test_the_examples_of_a_proxy_are_accepted():
    for example in re.findall("http://[^ ]+", EXPECTED_PROXY):
        assert parse_proxy(example)


def test_a_button_has_an_image_of_the_site_or_a_shape():
    for icon in ("/static/firm.svg?v=2", "building", "cloud", "key", "person"):
        assert parse_entry(f"a:https://{CLIENT}example.org?icon={icon}").icon == icon
    assert parse_entry(f"a:https://{CLIENT}example.org").icon == ""


NO_ENTRIES = [
    (f"https://{CLIENT}example.org", "must begin with a name"),
    (f"Google:https://{CLIENT}example.org", "must begin with a name"),
    (f"{'a' * 33}:https://{CLIENT}example.org", "must begin with a name"),
    (f"1a:https://{CLIENT}example.org", "must begin with a name"),
    ("a", "must have client-id:client-secret@"),
    ("a:https://example.org", "must have client-id:client-secret@"),
    ("a:https://client@example.org", "must have client-id:client-secret@"),
    ("a:https://client:@example.org", "must have client-id:client-secret@"),
    (f"a:https://:{SECRET}@example.org", "must have client-id:client-secret@"),
    (f"a:https://client:{SECRET}/x@example.org", "must be percent-encoded"),
    (f"a:https://client:x@{SECRET}/x@example.org", "must be percent-encoded"),
    (f"a:https://client:{SECRET}%zz@example.org", "must be percent-encoded"),
    (f"a:https://client:{SECRET}@x@example.org", "must be percent-encoded"),
    (f"a:https://client:{SECRET}%00@example.org", "client must be printable ASCII"),
    (f"a:https://client:{SECRET}%C3%A4@example.org", "client must be printable ASCII"),
    (f"a:https://client:{SECRET}ä@example.org", "a URL after the name"),
    (f"a:https://client:{SECRET}\t@example.org", "a URL after the name"),
    (f"a:https://{CLIENT}[::1", "a URL after the name"),
    (f"a:http://{CLIENT}example.org", "http is only for localhost"),
    (f"a:http://{CLIENT}localhost.example.org", "http is only for localhost"),
    (f"a:ftp://{CLIENT}example.org", "an https URL"),
    (f"a:https://{CLIENT}", "an https URL"),
    (f"a:https://{CLIENT}Example.org", "an https URL with a host in lower case"),
    (f"a:https://{CLIENT}example.org:port", "an https URL"),
    (f"a:https://{CLIENT}example.org:70000", "at most 65535"),
    (f"a:https://{CLIENT}example.org/a#b", "the path of the issuer"),
    (f"a:https://{CLIENT}example.org/a|b", "the path of the issuer"),
    (f"a:https://{CLIENT}example.org/a/../b", "must not have . or .."),
    (f"a:https://{CLIENT}example.org/{'a' * 236}", "at most 255 characters"),
    (f"{GOOGLE}?icon=star", "icon must be a path of the site such as /static/firm.svg, or b"),
    (f"{GOOGLE}?icon=https%3A%2F%2Fa.example%2Fa.svg", "icon must be a path of the site"),
    (f"{GOOGLE}?icon=//a.example/a.svg", "icon must be a path of the site"),
    (f"{GOOGLE}?title", "name=value&name=value"),
    (f"{GOOGLE}?title=%ff", "name=value&name=value"),
    (f"{GOOGLE}?tilte=Google", "a parameter is unknown; those known are title, icon, scope"),
    (f"{GOOGLE}?title=A&title=B", "the parameter title is given twice"),
    (f"{GOOGLE}?title=", "title must have 1 to 100 printable"),
    (f"{GOOGLE}?title=%00", "title must have 1 to 100 printable"),
    (f"{GOOGLE}?title={'x' * 101}", "title must have 1 to 100 printable"),
    (f"{GOOGLE}?groups=+", "groups must have 1 to 100 printable"),
    (f"{GOOGLE}?scope=", "scope must be words"),
    (f"{GOOGLE}?scope=a%22b", "scope must be words"),
    (f"{GOOGLE}?create=perhaps", "create must be on or off"),
    (f"{GOOGLE}?register=always", "in the entry google: register must be ask or at_once"),
    (f"{GOOGLE}?link=always", "link must be ask or verified"),
    (f"{GOOGLE}?prompt=none", "prompt must be login or consent or select_account"),
    (f"{GOOGLE}?second_factor=on", "second_factor must be asked or trusted"),
    (f"{GOOGLE}?logout=on", "logout must be local or provider"),
    (f"{GOOGLE}?groups=a&groups_from=both", "groups_from must be token or userinfo"),
    (f"{GOOGLE}?groups_from=userinfo", "groups_from=userinfo needs groups"),
    (f"a+{SECRET}:https://{CLIENT}example.org", r"after \+ must be github or discord"),
    (f"a+:https://{CLIENT}github.com", r"after \+ must be github or discord"),
    (f"a+github+github:https://{CLIENT}github.com", r"after \+ must be github or discord"),
    (f"a+GitHub:https://{CLIENT}github.com", r"after \+ must be github or discord"),
    (f"+github:https://{CLIENT}github.com", "must begin with a name"),
    (f"gh:https://{CLIENT}github.com", r"must begin with gh\+github:"),
    (f"gh+github:https://{CLIENT}discord.com", r"must begin with gh\+discord:"),
    (f"a+github:https://{CLIENT}github.com/api", "the URL of GitHub must have no path"),
    (f"a+github:https://{CLIENT}github.com//", "the URL of GitHub must have no path"),
    (f"a+discord:https://{CLIENT}discord.com/x", "the URL of Discord must have no path"),
    (f"a+github:http://{CLIENT}github.com", "http is only for localhost"),
    (f"{GITHUB}?prompt=consent", "prompt must be select_account"),
    (f"a+discord:https://{CLIENT}discord.com?prompt=login", "prompt must be consent"),
    (f"{GITHUB}?a=b", "those known are title, icon, scope, create, register, link, prompt[.]$"),
    *(
        (f"{GITHUB}?{each}=a", f"{each} needs OpenID Connect, which GitHub does not offer")
        for each in ("groups", "second_factor", "logout", "groups_from")
    ),
    (f"a+github:https://{CLIENT}www.github.com", "must be github.com, not www.github.com"),
    (f"a+github:https://{CLIENT}api.github.com", "must be github.com, not api.github.com"),
    (f"a:https://{CLIENT}discordapp.com", "its host must be discord.com, not discordapp.com"),
]


def test_what_is_no_entry_is_refused_without_its_secret():
    for entry, problem in NO_ENTRIES:
        with pytest.raises(ConfigurationError, match=problem) as caught:
            Settings(PUBLIC_URL=PUBLIC_URL, OIDC_PROVIDERS=(entry,))
        assert str(caught.value).startswith("OIDC_PROVIDERS must be entries such as google:https")
        assert SECRET not in str(caught.value) + repr(caught.value.__context__)


@row_by_row(
    ("entries", "problem"),
    [
        ((GOOGLE, "b:x"), "in the entry b: it must have client-id"),
        ((GOOGLE, f"https://{SECRET}"), "in the entry https: it must begin with a name"),
        ((GOOGLE, f"//{SECRET}"), "in the entry number 2: it must begin with a name"),
        ((GOOGLE, GOOGLE), "in the entry google: another entry has this name"),
        ((GITHUB, GITHUB), "in the entry git: another entry has this name"),
        ((f"{GITHUB}/x",), "in the entry git: the URL of GitHub must have no path"),
        (
            (GOOGLE, GOOGLE.replace("google:", "work:")),
            "in the entry work: it has the issuer and the client of the entry google",
        ),
    ],
    ids=[
        *("URL", "no name", "no name to show", "same name", "same name of a kind", "kind"),
        "same client",
    ],
)
def test_an_entry_that_is_wrong_is_named(entries, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        parse_entries(entries)
    assert SECRET not in str(caught.value)


def test_two_clients_of_an_issuer_are_two_entries():
    other = GOOGLE.replace("google:", "work:").replace("client:", "other:")
    assert [entry.name for entry in parse_entries((GOOGLE, other))] == ["google", "work"]


def test_entries_are_separated_by_spaces_and_need_a_public_url():
    texts = f"{GOOGLE}  b:https://{CLIENT}example.org?scope=a,b"
    settings = Settings.from_mapping({"OIDC_PROVIDERS": texts, "PUBLIC_URL": PUBLIC_URL})
    assert tuple(texts.split()) == settings.OIDC_PROVIDERS
    with pytest.raises(ConfigurationError, match=r"^PUBLIC_URL must be set, because"):
        Settings.from_mapping({"OIDC_PROVIDERS": texts})


def test_the_secret_of_a_client_is_not_shown():
    settings = Settings(OIDC_PROVIDERS=(GOOGLE,), PUBLIC_URL=PUBLIC_URL)
    assert SECRET not in repr(settings) + repr(parse_entry(GOOGLE)) + " ".join(settings.risks())
