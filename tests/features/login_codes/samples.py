"""What tests of all features ask of logins by a code in an email."""

from webtest import TestApp

from tests.support.driving import changed, post
from tests.support.sites import SAME_ORIGIN
from wsgiauth.testing import mailbox, make_user


def settings(folder, provider):
    """Offer codes."""
    return {"LOGIN_CODES": "on"}


def drive(site, provider):
    """Log in and register by codes, and with an address that was never proven."""
    make_user(site, "zoe", is_verified=True)
    make_user(site, "uma")
    with changed(site) as other:  # so that its mailbox gets no other emails
        for name in ("zoe", "uma"):
            for code in ("00000000", ""):
                request = TestApp(other).post_json("/auth/code", {"username": name}).json["request"]
                code = code or (mailbox(other).codes or ["x"])[-1]
                post(other, "/code/enter", {"request": request, "code": code})
        browser = TestApp(other)
        for _again in range(2):
            browser.post("/auth/code", {"username": "zoe"}, headers=SAME_ORIGIN)
    with changed(site, VERIFICATION=True) as other:
        mailbox(other)  # so that no thread sends
        for username in ("lea", "zoe"):  # which is taken, so that the page asks for another one
            browser = TestApp(other)
            names = {"username": username, "email": f"{username}@new.example"}
            browser.post("/auth/register", names, headers=SAME_ORIGIN)
            code = {"code": mailbox(other).codes[-1]}
            browser.post("/auth/code/enter", code, headers=SAME_ORIGIN)
