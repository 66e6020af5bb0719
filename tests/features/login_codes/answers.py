"""Requests that draw the answers of logins by a code from an email."""

from webtest import TestApp

from tests.support.contract import sent
from wsgiauth.testing import mailbox

WRONG = {"request": "x", "code": "x"}


def answers(world):
    """Yield requests for codes, a right and wrong ones, until a client must wait."""
    user = world.user(is_verified=True)
    yield sent("POST", "/code", {"username": user.username})
    yield sent("POST", "/code/enter", WRONG)
    mailbox(world.site)
    request = TestApp(world.site).post_json("/auth/code", {"username": user.username}).json
    right = {"request": request["request"], "code": mailbox(world.site).codes[-1]}
    yield sent("POST", "/code/enter", right)
    site = world.make(VERIFICATION="on")
    mailbox(site)
    names = {"username": "by-code", "email": "by-code@example.org"}
    request = TestApp(site).post_json("/auth/register", names).json["request"]
    right = {"request": request, "code": mailbox(site).codes[-1]}
    for username in (user.username, ""):
        yield sent("POST", "/code/enter", {**right, "username": username}, site=site)
    for _again in range(5):
        yield sent("POST", "/code", {"username": "unknown"}, site=world.limited)
        yield sent("POST", "/code/enter", WRONG, site=world.limited)
