"""The entries of OIDC_PROVIDERS, and OIDC_PROXY. No error message has a secret.

Messages about OIDC_PROVIDERS name the entry.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from wsgiauth.settings.kinds import parse_bool
from wsgiauth.web.urls import is_safe_path

EXPECTED = "entries such as google:https://client-id:client-secret@accounts.google.com"
EXPECTED_PROXY = "a URL such as http://proxy.example.org:3128 or http://user:password@10.0.0.1:3128"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")  # connections to them stay on this host

_NAME = r"[a-z][a-z0-9-]{0,31}"
_HOST = r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?"
_PATH = r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*"
_CLIENT = r"[A-Za-z0-9._~!$&'()*+,;=:%-]+"
_BAD_PERCENT = r"%(?![0-9A-Fa-f]{2})"
_SCOPE = r"[!#-\[\]-~]+( [!#-\[\]-~]+)*"  # RFC 6749 appendix A.4
_NOT_ENCODED = "characters such as @, / and % in the client must be percent-encoded"
_MAX_ISSUER = 255  # characters, as in the database
_MAX_LENGTH = 100  # characters of a title and of a claim's name or path


class Kind(NamedTuple):
    """What the entries of a kind of providers can say."""

    title: str  # on the button; empty: the name of the entry
    needed: tuple[str, ...]  # the scopes that are added to those of an entry
    scope: tuple[str, ...]  # of an entry that names none
    prompts: tuple[str, ...]
    has_claims: bool = False  # of OpenID Connect


OPENID = ""
KINDS: Mapping[str, Kind] = {
    OPENID: Kind(
        title="",
        needed=("openid",),
        scope=("openid", "email", "profile"),
        prompts=("login", "consent", "select_account"),
        has_claims=True,
    ),
    "github": Kind("GitHub", ("user:email",), ("read:user", "user:email"), ("select_account",)),
    "discord": Kind("Discord", ("identify",), ("identify", "email"), ("consent",)),
}
ICONS = ("building", "cloud", "key", "person")  # shapes that the pages can draw
_NAMED_KINDS = tuple(each for each in KINDS if each)
_KIND_AT = {"github.com": "github", "discord.com": "discord"}
# Other hosts of theirs, which an entry would reach without being the same issuer.
_HOST_OF = {
    "www.github.com": "github.com",
    "api.github.com": "github.com",
    "www.discord.com": "discord.com",
    "discordapp.com": "discord.com",
}


class Proxy(NamedTuple):
    """A parsed OIDC_PROXY."""

    host: str
    port: int
    headers: Mapping[str, str]  # with the credentials, if the URL has some

    def __repr__(self) -> str:
        return "<Proxy>"  # it has a secret


class ProviderEntry(NamedTuple):
    """A parsed entry of OIDC_PROVIDERS."""

    name: str
    issuer: str  # as it is written, because it is compared exactly
    client_id: str
    client_secret: str
    title: str  # on the button
    scope: tuple[str, ...] = KINDS[OPENID].scope
    create: bool | None = None  # whether a login can create an account; None: as REGISTRATION says
    register: str = "ask"  # `at_once`: no page, if nothing but the verified address is needed
    link: str = "ask"  # `verified`: an address that both sides have verified connects at once
    groups: str = ""  # the claim that names groups, or the path to it; empty: none does
    groups_from: str = "token"  # `userinfo`: the groups are those of the userinfo endpoint
    prompt: str = ""
    second_factor: str = "asked"  # `trusted`: the provider's second factor counts
    logout: str = "local"  # `provider`: a logout ends the session at the provider, too
    kind: str = OPENID  # of KINDS
    icon: str = ""  # on the button: the path of an image on the site, or one of ICONS

    def __repr__(self) -> str:
        return f"<ProviderEntry {self.name}>"  # it has a secret


def parse_entry(text: str) -> ProviderEntry:
    """Return an entry; a ValueError says what is wrong, for an operator."""
    first, _, url = text.partition(":")
    name, plus, word = first.partition("+")
    if not re.fullmatch(_NAME, name) or url.startswith("//"):
        raise ValueError(
            "it must begin with a name and a colon; a name has up to 32 lower-case letters, digits"
            " and dashes, the first a letter"
        )
    if plus and word not in _NAMED_KINDS:
        raise ValueError(f"the word after + must be {' or '.join(_NAMED_KINDS)}")
    kind = KINDS[word]
    parts = _split(url)
    host = parts.hostname or ""
    if host in _HOST_OF:
        raise ValueError(f"its host must be {_HOST_OF[host]}, not {host}")
    expected = _KIND_AT.get(host, word)
    if expected != word:
        raise ValueError(f"an entry at {host} must begin with {name}+{expected}:")
    if "@" in parts.path:  # the secret may end before it
        raise ValueError(_NOT_ENCODED)
    client_id, client_secret = _client(parts.netloc)
    return ProviderEntry(
        name,
        _issuer(parts) if kind.has_claims else _origin(parts, kind),
        client_id,
        client_secret,
        **{
            "title": kind.title or name.capitalize(),
            "scope": kind.scope,
            "kind": word,
            **_parameters(parts.query, kind),
        },
    )


def parse_entries(texts: Iterable[str]) -> tuple[ProviderEntry, ...]:
    """Return all entries; the message of a ValueError names the one that is wrong."""
    entries: list[ProviderEntry] = []
    for number, text in enumerate(texts, 1):
        try:
            entry = parse_entry(text)
            _check_doubled(entry, entries)
        except ValueError as error:
            name = re.split("[:+]", text, maxsplit=1)[0]
            shown = name if re.fullmatch(_NAME, name) else f"number {number}"
            raise ValueError(f"in the entry {shown}: {error}") from None
        entries.append(entry)
    return tuple(entries)


@lru_cache(maxsize=16)
def trusted_issuers(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the issuers whose word for an email address counts as this site's: `link=verified`."""
    return frozenset(each.issuer for each in parse_entries(texts) if each.link == "verified")


def local_origins(entries: Iterable[ProviderEntry]) -> tuple[str, ...]:
    """Return the origins of the issuers without https, which are at localhost."""
    issuers = (urlsplit(each.issuer) for each in entries)
    return tuple(f"http://{each.netloc}" for each in issuers if each.scheme == "http")


def parse_proxy(url: str) -> Proxy:
    """Return the proxy of a URL, or raise ValueError."""
    parts = _split(url)
    written, _, host = parts.netloc.rpartition("@")
    is_http = parts.scheme == "http" and re.fullmatch(_HOST, host)
    if not is_http or url.removesuffix("/") != f"http://{parts.netloc}":
        raise ValueError("it must have a host, perhaps a port, and nothing after them")
    if written and (not re.fullmatch(_CLIENT, written) or re.search(_BAD_PERCENT, written)):
        raise ValueError("characters such as @, / and % in the user and password must be encoded")
    credentials = b64encode(unquote(written).encode()).decode()
    headers = {"Proxy-Authorization": f"Basic {credentials}"} if written else {}
    return Proxy(parts.hostname or "", parts.port or 80, headers)


def is_proxy(url: str) -> bool:
    """Return whether OIDC_PROXY can be this URL."""
    try:
        parse_proxy(url)
    except ValueError:
        return False
    return True


def is_issuer(url: str) -> bool:
    """Return whether an entry can have this URL as its issuer."""
    try:
        return _issuer(_split(url)) == url
    except ValueError:
        return False


def _check_doubled(entry: ProviderEntry, others: list[ProviderEntry]) -> None:
    if entry.name in [each.name for each in others]:
        raise ValueError("another entry has this name")
    for each in others:
        if (each.issuer, each.client_id) == (entry.issuer, entry.client_id):
            raise ValueError(f"it has the issuer and the client of the entry {each.name}")


def _split(url: str) -> SplitResult:
    try:
        if not url.isascii() or not url.isprintable():  # `urlsplit` ignores some of them
            raise ValueError
        return urlsplit(url)
    except ValueError:  # not chained, because it can have the secret
        raise ValueError("it must have a URL after the name, in printable ASCII") from None


def _client(netloc: str) -> tuple[str, str]:
    written = netloc.rpartition("@")[0]
    client_id, _, client_secret = written.partition(":")
    if not client_id or not client_secret:
        raise ValueError(
            "it must have client-id:client-secret@ before the host of the issuer, with both"
            " percent-encoded"
        )
    if not re.fullmatch(_CLIENT, written) or re.search(_BAD_PERCENT, written):
        raise ValueError(_NOT_ENCODED)
    decoded = unquote(client_id), unquote(client_secret)
    if not all(each.isascii() and each.isprintable() for each in decoded):
        raise ValueError("the client must be printable ASCII")  # RFC 6749 appendix A.1
    return decoded


def _issuer(parts: SplitResult) -> str:
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in ("https", "http") or not re.fullmatch(_HOST, host):
        raise ValueError("the issuer must be an https URL with a host in lower case")
    try:
        name, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the port of the issuer must be at most 65535") from None
    if parts.scheme == "http" and name not in LOCAL_HOSTS:
        raise ValueError("the issuer must be an https URL; http is only for localhost")
    if parts.fragment or not re.fullmatch(_PATH, parts.path):
        raise ValueError("the path of the issuer must be valid in a URL, without a fragment")
    if {".", ".."} & set(parts.path.split("/")):
        raise ValueError("the path of the issuer must not have . or .. as a part")
    issuer = f"{parts.scheme}://{host}{parts.path}"
    if len(issuer) > _MAX_ISSUER:
        raise ValueError(f"the issuer must have at most {_MAX_ISSUER} characters")
    return issuer


def _origin(parts: SplitResult, kind: Kind) -> str:
    """Return the issuer of a kind whose URLs follow from its host."""
    issuer = _issuer(parts)
    if parts.path not in ("", "/"):
        raise ValueError(f"the URL of {kind.title} must have no path")
    return issuer.removesuffix("/")


def _parameters(query: str, kind: Kind) -> dict[str, Any]:
    if not query:
        return {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise ValueError("its parameters must be of the form name=value&name=value") from None
    known = _parsers(kind)
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name not in known and name in _OF_CLAIMS:
            raise ValueError(f"{name} needs OpenID Connect, which {kind.title} does not offer")
        if name not in known:
            raise ValueError(f"a parameter is unknown; those known are {', '.join(known)}")
        if name in values:
            raise ValueError(f"the parameter {name} is given twice")
        values[name] = known[name](name, value)
    if values.get("groups_from") == "userinfo" and "groups" not in values:
        raise ValueError("groups_from=userinfo needs groups")
    return values


def _choice(*words: str) -> Callable[[str, str], str]:
    def parse(name: str, value: str) -> str:
        if value not in words:
            raise ValueError(f"{name} must be {' or '.join(words)}")
        return value

    return parse


def _parse_label(name: str, value: str) -> str:
    if not 0 < len(value.strip()) <= _MAX_LENGTH or not value.isprintable():
        raise ValueError(f"{name} must have 1 to {_MAX_LENGTH} printable characters")
    return value.strip()


def _parse_icon(name: str, value: str) -> str:
    if value not in ICONS and not is_safe_path(value):
        shapes = ", ".join(ICONS)
        raise ValueError(f"{name} must be a path of the site such as /static/firm.svg, or {shapes}")
    return value


def _scopes(*needed: str) -> Callable[[str, str], tuple[str, ...]]:
    def parse(name: str, value: str) -> tuple[str, ...]:
        if not re.fullmatch(_SCOPE, value):
            raise ValueError(f"{name} must be words, separated by + or %20")
        return tuple(dict.fromkeys((*needed, *value.split())))

    return parse


def _parse_switch(name: str, value: str) -> bool:
    switched = parse_bool(value)
    if not isinstance(switched, bool):
        raise ValueError(f"{name} must be on or off")
    return switched


_OF_CLAIMS: Mapping[str, Callable[[str, str], object]] = {
    "groups": _parse_label,
    "groups_from": _choice("token", "userinfo"),
    "second_factor": _choice("asked", "trusted"),
    "logout": _choice("local", "provider"),
}


def _parsers(kind: Kind) -> Mapping[str, Callable[[str, str], object]]:
    """Return the parsers of the parameters that have an effect for this kind."""
    return {
        "title": _parse_label,
        "icon": _parse_icon,
        "scope": _scopes(*kind.needed),
        "create": _parse_switch,
        "register": _choice("ask", "at_once"),
        "link": _choice("ask", "verified"),
        "prompt": _choice(*kind.prompts),
        **(_OF_CLAIMS if kind.has_claims else {}),
    }
