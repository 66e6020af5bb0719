"""PASSWORD_LOGIN=off with LOGIN_CODES: a code is the only way to log in."""

import pytest

from tests.support.logins import make_stale
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.testing import logged_in, mailbox

pytestmark = pytest.mark.parametrize("options", [{"PASSWORD_LOGIN": False}], ids=["off"])


def test_the_login_page_asks_for_a_name_alone(tab):
    page = tab.client.get("/auth/login", headers=BROWSER)
    (button,) = page.html.select("main button[formaction]")
    assert (button["formaction"], button.text) == ("/auth/code", "Email me a code")
    assert "quiet" not in button.get("class", ())
    assert page.html.select("main [type=password]") == []
    assert page.html.select_one("[name=username]").has_attr("autofocus")


def test_the_button_asks_for_a_code_that_logs_in(site, tab, ada):
    form = tab.client.get("/auth/login", headers=BROWSER).forms[0]
    form["username"], form.action = ada.username, "/auth/code"
    form.submit(headers=SAME_ORIGIN, status=303)
    (code,) = mailbox(site).codes
    assert tab.enter(code).status_int == 303
    assert tab.name() == ada.username


def test_a_user_with_a_password_from_before_confirms_by_a_code(site, ada):
    assert ada.has_password
    browser = logged_in(site, ada)
    make_stale()
    page = browser.get("/auth/confirm?next=/auth/username", headers=BROWSER)
    assert "let us send you a code by email" in page
    assert page.html.select("main [type=password]") == []
