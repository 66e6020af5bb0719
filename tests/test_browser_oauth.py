"""Logins of another app in Chromium, whose pages and redirect URI are at another origin."""

from urllib.parse import urlencode

import pytest

from tests.support.browser import Visitor, start_browser
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.gallery import bare_sample
from tests.support.mails import Clock
from tests.support.oauth_apps import NONCE, STATE, App, as_provider
from tests.support.service_keys import write_key
from tests.support.sites import PASSWORD, USERNAME, Stage, serving
from tests.support.wiki import CALLBACK, Wiki
from wsgiauth import AuthMiddleware, storage


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stages():
    """Return what serves the site, and what serves the app."""
    return Stage(), Stage()


@pytest.fixture(scope="module")
def addresses(stages):
    """Serve the site at 127.0.0.1 and the app at localhost, which is another site."""
    with serving(stages[0]) as site, serving(stages[1]) as app:
        yield site, app.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, addresses):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def site(sample, settings, stages, addresses, tmp_path):
    settings = as_provider(
        settings, write_key(tmp_path / "key"), PUBLIC_URL=addresses[0], FACTOR_KEY=FACTOR_KEY
    )
    stages[0].app = AuthMiddleware(sample, settings)
    yield stages[0].app
    storage.discard_connection(stages[0].app.database)


@pytest.fixture
def pages(stages, addresses):
    """Return the pages of the app."""
    stages[1].app = Wiki()
    stages[1].app.site_url = addresses[0]
    return stages[1].app


@pytest.fixture
def wiki(site, addresses, pages):
    """Return the app."""
    uri = addresses[1] + CALLBACK
    app = App(site, uri=uri, logout_redirects=[uri])
    pages.parameters = app.parameters()
    return app


@pytest.fixture
def visitor(browser, addresses, site):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, addresses[0])


@pytest.fixture
def at_wiki(browser, addresses, visitor):
    """Return the same person at the pages of the app."""
    return Visitor(browser, addresses[1])


def complaints_of(browser):
    return [each["message"] for each in browser.get_log("browser")]


@pytest.fixture
def quiet(browser):
    """Fail if the browser complains, for example about a policy that a page does not keep."""
    complaints_of(browser)
    yield
    icon = "favicon.ico"  # of the app
    assert [each for each in complaints_of(browser) if icon not in each] == []


@pytest.mark.usefixtures("quiet", "ada")
@pytest.mark.promise(89)
def test_a_login_and_a_click_lead_to_the_app_with_a_code(visitor, at_wiki, wiki, pages):
    visitor.open(wiki.url())
    assert visitor.heading == "Log in"
    visitor.submit(USERNAME, PASSWORD)
    assert (visitor.page, visitor.heading) == ("/auth/consent", "Log in to Wiki")
    visitor.press("Allow")
    assert (at_wiki.page, at_wiki.shown("p")) == (CALLBACK, ["You are back"])
    ((method, answer),) = pages.answers
    assert (method, answer["state"], pages.referrers) == ("GET", STATE, [""])
    assert wiki.exchange(answer["code"])["token_type"] == "Bearer"


@pytest.mark.usefixtures("quiet", "ada")
def test_who_has_allowed_the_app_comes_from_the_login_to_it_at_once(visitor, at_wiki, wiki):
    visitor.open(wiki.url())
    visitor.submit(USERNAME, PASSWORD)
    visitor.press("Allow")
    visitor.browser.delete_all_cookies()
    visitor.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor.open(wiki.url())
    visitor.submit(USERNAME, PASSWORD)
    assert at_wiki.page == CALLBACK


@pytest.mark.usefixtures("quiet")
def test_the_second_step_leads_to_the_app(visitor, at_wiki, wiki, site, ada, pages):
    clock = site.site.tokens.now = Clock()
    factor = add_app(site, ada)
    visitor.open(wiki.url())
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.page == "/auth/second"
    visitor.submit(factor.code())
    assert visitor.page == "/auth/consent"
    visitor.press("Allow")
    visitor.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor.open(wiki.url(prompt="login"))
    visitor.submit(USERNAME, PASSWORD)
    clock.move(60)  # a code counts once
    visitor.submit(factor.code())  # and from there at once, without another question
    assert at_wiki.page == CALLBACK
    assert [each["state"] for _method, each in pages.answers] == [STATE, STATE]


@pytest.mark.usefixtures("quiet", "ada")
def test_a_new_proof_leads_to_the_app(visitor, at_wiki, wiki):
    visitor.open(wiki.url())
    visitor.submit(USERNAME, PASSWORD)
    visitor.press("Allow")
    visitor.open(wiki.url(max_age="0"))
    assert visitor.heading == "Confirm that it is you"
    visitor.submit(PASSWORD)
    assert at_wiki.page == CALLBACK


@pytest.mark.usefixtures("quiet", "ada")
@pytest.mark.promise(89)
def test_an_answer_by_a_form_needs_no_click(visitor, at_wiki, wiki, pages):
    visitor.open(wiki.url(response_mode="form_post"))
    visitor.submit(USERNAME, PASSWORD)
    visitor.press("Allow")
    at_wiki.wait_until(lambda _: at_wiki.path == CALLBACK)
    ((method, answer),) = pages.answers
    assert (method, pages.origins) == ("POST", [visitor.address])
    assert pages.referrers == [f"{visitor.address}/"]
    assert answer.keys() == {"code", "state", "iss"}
    assert wiki.exchange(answer["code"])["token_type"] == "Bearer"


@pytest.mark.usefixtures("quiet", "ada")
def test_who_refuses_comes_back_to_the_app_too(visitor, at_wiki, wiki, pages):
    visitor.open(wiki.url())
    visitor.submit(USERNAME, PASSWORD)
    visitor.press("Refuse")
    assert at_wiki.page == CALLBACK
    ((_method, answer),) = pages.answers
    assert (answer["error"], answer["state"]) == ("access_denied", STATE)


@pytest.mark.usefixtures("quiet", "ada")
@pytest.mark.promise(90)
def test_a_form_of_the_app_begins_a_request(visitor, at_wiki, wiki, pages):
    visitor.log_in()
    at_wiki.open("/")
    at_wiki.press("Begin by a form")
    assert (visitor.page, visitor.heading) == ("/auth/consent", "Log in to Wiki")
    visitor.press("Allow")
    assert at_wiki.page == CALLBACK
    assert pages.answers[0][1]["state"] == STATE
    assert NONCE not in str(pages.answers)


@pytest.mark.usefixtures("ada", "wiki")
def test_the_policy_keeps_the_form_from_other_sites(visitor, at_wiki, wiki, browser, addresses):
    visitor.log_in()
    visitor.open(wiki.url())
    complaints_of(browser)
    visitor.run("document.querySelector('form.actions').action = 'https://evil.example.org/'")
    visitor.find("form.actions button").click()
    visitor.wait_until(lambda _: any("form-action" in each for each in complaints_of(browser)))
    assert visitor.page == "/auth/consent"


@pytest.mark.usefixtures("quiet", "ada")
@pytest.mark.promise(89)
def test_a_logout_that_the_app_begins_leads_back_to_it(visitor, at_wiki, wiki, pages):
    visitor.log_in()
    request = {"client_id": wiki.id, "post_logout_redirect_uri": wiki.uri, "state": STATE}
    url = f"/auth/oauth/logout?{urlencode(request)}"
    visitor.open(url)
    assert visitor.heading == "Log out of this site?"
    visitor.press("Log out")
    assert (at_wiki.page, at_wiki.shown("p")) == (CALLBACK, ["You are back"])
    assert (pages.answers, pages.referrers) == ([("GET", {"state": STATE})], [""])
    visitor.open(url)
    assert (at_wiki.page, len(pages.answers)) == (CALLBACK, 2)
