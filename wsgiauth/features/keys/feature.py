"""What the feature `keys` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator, Sequence

from wsgiauth.accounts.personal_data import Records
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.identity import BEARER, CredentialKind
from wsgiauth.feature import Command, Feature
from wsgiauth.features.keys import api_keys, basic
from wsgiauth.features.keys.introspection import DescribedKeys
from wsgiauth.features.keys.keys import Keys
from wsgiauth.features.keys.reasons import KeyReasons
from wsgiauth.messages import _
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.keys.samples import PAGES

    return PAGES


def _credential_kinds(settings: Settings) -> Iterator[CredentialKind]:
    yield CredentialKind(BEARER, api_keys.find, prefix=api_keys.PREFIX)
    if settings.BASIC_AUTH == "keys":
        yield CredentialKind("basic", basic.find, is_ambient=True)


def _parts(settings: Settings) -> PartFactories:
    return {DescribedKeys: lambda _: DescribedKeys(), KeyReasons: lambda _: KeyReasons()}


_COMMANDS = "wsgiauth.features.keys.commands"

FEATURE = Feature(
    name="keys",
    commands={
        "keys": Command(_COMMANDS, "list a user's API keys, the newest first"),
        "makekey": Command(_COMMANDS, "create an API key, and print it: it is not shown again"),
        "endkey": Command(_COMMANDS, "revoke an API key of a user, or all"),
    },
    openapi="wsgiauth.features.keys.openapi",
    urls={"/keys": Keys()},
    parts=_parts,
    credential_kinds=_credential_kinds,
    pages=_pages,
    personal_data={"wsgiauth_key": Records("api_keys", api_keys.own_keys)},
    expiring={"API key": Key},
    events=(api_keys.KEY_CREATED,),
    headlines={
        "too_many_keys": _("There are too many API keys"),
        "no_such_key": _("This API key has already been revoked"),
    },
)
