"""A drive through all that sends statements: the kernel, each feature, commands, upkeep."""

from webtest import TestApp

from tests.support import features
from tests.support.commands import run_commands
from tests.support.driving import make_site, moved_clock, post
from tests.support.gallery import Gallery, let_a_refresh_token_be_reused
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.staff_and_upkeep import library, mails, upkeep
from wsgiauth import Group, User
from wsgiauth.storage import context
from wsgiauth.testing import bearer, logged_in, make_user

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
NEW = "another unrelated phrase"
HOUR = 3600  # seconds


def drive(url, folder, provider):
    """Use everything of a site on an empty database; what is refused is none of its business."""
    Gallery(folder, database_url=url)
    site = make_site(url, folder, provider)
    with context.using(site.database):
        User.delete().execute()
        Group.delete().execute()
        programs(site)
        for each in features.declared("drive").values():
            each(site, provider)
        library(site)
        mails(site)
        run_commands(url, folder, provider)
        upkeep(site)


def programs(site):
    """A day of a program, and of a browser."""
    post(site, "/register", ADA, status=201)
    post(site, "/register", ADA, status=409)
    ada = User.get()
    visitor = TestApp(site)
    visitor.post("/auth/language", {"language": "de"}, headers=SAME_ORIGIN, status=303)
    login = {"username": USERNAME, "password": PASSWORD}
    visitor.post("/auth/login", login, headers=SAME_ORIGIN, status=303)
    let_a_refresh_token_be_reused(TestApp(site), USERNAME)
    listed = TestApp(site).get("/auth/sessions", headers=bearer(site, ada)).json["sessions"]
    for each in listed:
        post(site, "/sessions", {"end": each["handle"]}, bearer(site, ada))
    post(site, "/sessions", {"end": "others"}, bearer(site, ada))
    browser = logged_in(site, ada)
    with moved_clock(site, HOUR // 2):
        browser.get("/")
        browser.get("/auth/sessions", headers=BROWSER)
    login = bearer(site, ada)
    for path in ("/account", "/sessions", "/password", "/me"):
        for accept in ({}, BROWSER):
            TestApp(site).get(f"/auth{path}", headers=login | accept, status="*")
    post(site, "/password", {"current_password": PASSWORD, "new_password": NEW}, login)
    post(site, "/language", {"language": "de"}, bearer(site, ada))
    post(site, "/username", {"username": "countess"}, bearer(site, ada))
    post(site, "/confirm", {"password": NEW}, bearer(site, ada))
    post(site, "/email", {"email": "ada@example.net", "current_password": NEW}, bearer(site, ada))
    post(site, "/logout", {}, bearer(site, ada))
    post(site, "/close", {"current_password": NEW}, bearer(site, make_user(site, "eve")))
