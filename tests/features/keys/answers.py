"""Requests that draw the answers of /auth/keys."""

from tests.support.contract import sent
from wsgiauth.accounts.tables import Key
from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer


def answers(world):
    """Yield requests that create keys until there are too many, and revoke one."""
    user = world.user(permissions=["a.read"])
    login = bearer(world.site, user)
    for _again in range(MAX_KEYS // 2 + 1):
        yield sent("POST", "/keys", {"name": "export", "permissions": ["a.read"]}, login)
    other = world.user()
    api_key(world.site, other, [])
    with context.using(world.site.database):
        end = Key.get(Key.user == other.id).id
    for each in ("unknown", end):
        yield sent("POST", "/keys", {"end": each}, bearer(world.site, other))
