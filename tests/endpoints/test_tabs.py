"""Two tabs of one browser, which log in at the same time: each ends where it began."""

import time
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.hostile_provider import Provider
from tests.support.identities import account as provider_account
from tests.support.logins import sessions_of
from tests.support.mails import MAIL
from tests.support.provider_logins import begin, come_back, connect, log_in, path_of
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tabs import OIDC, PROVIDER, SECOND, forget_session, give_cookies, tab_cookies
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import pending
from wsgiauth.authentication.identity import MOST_CHARACTERS, Identifier
from wsgiauth.authentication.pending import PENDING
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc.errands import CONNECT, ERRAND, Errand, Errands
from wsgiauth.features.providers.unclaimed import UNCLAIMED
from wsgiauth.testing import logged_in
from wsgiauth.web.cookies import MAX_COOKIE_HEADER, TAG_LENGTH, TaggedCookie

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def site(make_provider_site):
    return make_provider_site(FACTOR_KEY=FACTOR_KEY)


@pytest.fixture
def known(ada, provider):
    return connect(ada, provider)


@pytest.fixture
def later(site):
    """Return a function that moves the clock of the site."""

    def move(seconds):
        now = site.site.tokens.now
        site.site.tokens.now = lambda: now() + seconds

    return move


# Of three tabs, the one in the middle goes first: neither the oldest nor the newest.
ORDER = (1, 0, 2)


def who(client):
    return client.get("/").json["user"]


# At a provider.


@pytest.mark.promise(69)
def test_three_tabs_at_a_provider_each_end_where_they_began(client, known, provider):
    queries = [provider.authorize(begin(client, next=f"/{each}")) for each in range(3)]
    for each in ORDER:
        assert come_back(client, queries[each], status=303).location == f"/{each}"
    assert who(client) == USERNAME
    assert not tab_cookies(client, OIDC)


@pytest.mark.promise(69)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_two_tabs_at_two_providers_each_end_where_they_began(
    order, make_provider_site, ada, provider
):
    with Provider() as other:
        entries = (provider.entry("google"), other.entry("other"))
        client = TestApp(make_provider_site(OIDC_PROVIDERS=entries))
        connect(ada, provider)
        connect(ada, other, name="other")
        queries = [
            (each.authorize(begin(client, name, next=f"/{name}")), name)
            for each, name in ((provider, "google"), (other, "other"))
        ]
        for each in order:
            query, name = queries[each]
            assert come_back(client, query, name, status=303).location == f"/{name}"


@pytest.mark.promise(69)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_one_tab_connects_an_account_while_another_confirms_who_it_is(order, site, ada, provider):
    connect(ada, provider)
    ada.hashed_password = ""
    ada.save()
    client = logged_in(site, ada)
    to_connect = client.post("/auth/identities", {"connect": "google"}, headers=SAME_ORIGIN)
    fields = {"provider": "google", "next": "/reports"}
    to_confirm = client.post("/auth/confirm", fields, headers=SAME_ORIGIN)
    queries = [
        provider.authorize(to_connect.location, "work"),
        provider.authorize(to_confirm.location, "ada"),
    ]
    expected = ["/auth/identities?done=connected", "/reports"]
    for each in order:
        assert come_back(client, queries[each], status=303).location == expected[each]
    assert identities.find(provider.issuer, "work").user_id == ada.id


@pytest.mark.promise(69)
def test_a_state_that_is_not_this_browsers_ends_none_of_its_logins(client, known, provider):
    query = provider.authorize(begin(client, next="/a"))
    [(_, state)] = [each for each in parse_qsl(query) if each[0] == "state"]
    for spoilt in (
        "",
        "0" * len(state),
        f"{state}0",
        f"{state[:-1]}{'x' if state[-1] != 'x' else 'y'}",
        state[:TAG_LENGTH],
    ):
        refused = come_back(client, f"code=x&state={spoilt}", status=400)
        assert refused.headers.getall("Set-Cookie") == [], spoilt
    assert come_back(client, query, status=303).location == "/a"


@pytest.mark.promise(69)
def test_the_code_of_another_tab_is_refused(client, known, provider):
    first, second = (dict(parse_qsl(provider.authorize(begin(client)))) for _ in range(2))
    come_back(client, urlencode({**first, "code": second["code"]}), status=400)
    assert who(client) is None


def test_a_refused_login_ends_its_own_tab_alone(client, known, provider):
    queries = [provider.authorize(begin(client, next=f"/{each}")) for each in range(2)]
    provider.claims["aud"] = "another client"
    come_back(client, queries[0], status=502)
    provider.claims.clear()
    come_back(client, queries[0], status=400)
    assert come_back(client, queries[1], status=303).location == "/1"


def test_of_six_tabs_the_oldest_goes(client, known, provider, later):
    queries = []
    for each in range(6):
        queries.append(provider.authorize(begin(client, next=f"/{each}")))
        later(1)
    assert len(tab_cookies(client, OIDC)) == 5
    come_back(client, queries[0], status=400)
    for each in range(1, 6):
        assert come_back(client, queries[each], status=303).location == f"/{each}"


LONG = "/" + '"' * 2047


@pytest.mark.promise(15)
def test_the_cookies_of_long_destinations_log_nobody_out(site, ada, provider, later):
    client = logged_in(site, ada)
    connect(ada, provider)
    for _ in range(5):
        later(1)
        query = provider.authorize(begin(client, next=LONG))
        header = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        assert len(header) < MAX_COOKIE_HEADER / 2
        assert who(client) == USERNAME
    assert len(tab_cookies(client, OIDC)) == 1
    assert come_back(client, query, status=303).location == LONG


def test_a_long_destination_leaves_the_cookies_for_which_there_is_room(
    client, known, provider, later
):
    short = []
    for _ in range(3):
        short.append(provider.authorize(begin(client, next="/a")))
        later(1)
    long = provider.authorize(begin(client, next="/" + "x" * 1700))
    assert len(tab_cookies(client, OIDC)) == 3
    come_back(client, short[0], status=400)
    for each in (*short[1:], long):
        come_back(client, each, status=303)


def test_the_longest_cookie_of_a_tab_is_within_the_limit(settings, ada):
    settings = replace(settings, COOKIE_NAME="x" * 64, COOKIE_SECURE="on")
    tokens = Tokens(settings)
    identifier = Identifier(settings, tokens, sessions_of(settings, tokens))
    errand = Errand(CONNECT, LONG, user_id=2**63 - 1)
    begun, errand_cookie = Errands(settings).begin(errand, "p" * 32, time.time())
    account = provider_account()
    found = {"destination": LONG, "remember": False, "now": time.time()}
    for kind, cookie in (
        (ERRAND, TaggedCookie(begun.tag, errand_cookie)),
        (PENDING, pending.start(ada, **found)),
        (UNCLAIMED, unclaimed.start(account, **found)),
    ):
        environ = {"REQUEST_METHOD": "GET", "wsgi.url_scheme": "https"}
        [(_, header)] = identifier.one_more_cookie(environ, kind, cookie)
        name_and_value = header.partition(";")[0]
        assert len(f"{name_and_value}; ") <= MOST_CHARACTERS


def test_cookies_of_any_kind_make_room_and_few_are_deleted_at_once(settings, ada):
    """Also those that another host has planted under names of kinds that there are not."""
    names = [
        f"{settings.COOKIE_NAME}-{chr(97 + n % 26)}{'x' * (n // 26)}-{n:016x}" for n in range(60)
    ]
    environ = {
        "REQUEST_METHOD": "GET",
        "wsgi.url_scheme": "http",
        "HTTP_COOKIE": "; ".join(f"{name}={'v' * 95}" for name in names),
    }
    assert len(environ["HTTP_COOKIE"]) < MAX_COOKIE_HEADER
    cookie = pending.start(ada, destination="/", remember=False, now=time.time())
    tokens = Tokens(settings)
    identifier = Identifier(settings, tokens, sessions_of(settings, tokens))
    [_, *deleted] = identifier.one_more_cookie(environ, PENDING, cookie)
    assert 0 < len(deleted) < 30
    assert all("=; Max-Age=0;" in header for _, header in deleted)
    assert {header.partition("=")[0] for _, header in deleted} < set(names)


# The second step.


@pytest.fixture
def codes(site, ada):
    add_app(site, ada)
    return recovery_codes.replace(ada, rounds=4)


def first_step(client, **further):
    fields = {"username": USERNAME, "password": PASSWORD, **further}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    assert path_of(answer) == "/auth/second"
    return answer.follow(headers=BROWSER)


def enter(page, code, status=303):
    page.forms["second"]["code"] = code
    return page.forms["second"].submit(headers=SAME_ORIGIN, status=status)


@pytest.mark.every_database
def test_three_second_steps_each_lead_where_their_tab_began(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(3)]
    for each in ORDER:
        assert enter(pages[each], codes[each]).location == f"/{each}"
    assert not tab_cookies(client, SECOND)


@pytest.mark.promise(55)
def test_a_login_ends_those_that_wait_in_other_browsers(client, site, codes):
    """Of attackers who have the password: they need it again."""
    others = TestApp(site)
    theirs = first_step(others)
    pages = [first_step(client) for each in range(2)]
    enter(pages[0], codes[0])
    assert path_of(enter(theirs, codes[1], status=302)) == "/auth/login"
    enter(pages[1], codes[2])


def test_a_wrong_code_keeps_the_page_of_its_tab(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    refused = enter(pages[0], "x", status=401)
    assert refused.forms["second"].action == pages[0].forms["second"].action
    assert enter(refused, codes[0]).location == "/0"


def test_two_users_in_two_tabs_each_finish_their_own_login(client, site, codes, grace):
    add_app(site, grace)
    page = first_step(client)
    other = first_step(client, username=grace.username)
    assert USERNAME in page.html.main.text
    assert grace.username in other.html.main.text
    enter(page, codes[0])
    assert who(client) == USERNAME
    enter(other, recovery_codes.replace(grace, rounds=4)[0])
    assert who(client) == grace.username


def test_start_again_ends_the_login_of_its_own_tab_alone(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    answer = pages[0].forms["second"].submit("cancel", headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/login?next=%2F0"
    assert enter(pages[1], codes[1]).location == "/1"


def test_a_login_that_is_over_is_never_that_of_another_tab(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    pages[0].forms["second"].submit("cancel", headers=SAME_ORIGIN, status=303)
    gone = pages[0].forms["second"].action
    assert path_of(client.get(gone, headers=BROWSER, status=302)) == "/auth/login"
    client.post(gone, {"code": codes[0]}, headers=SCRIPT, status=401)
    client.post(f"{gone}0", {"code": codes[0]}, headers=SCRIPT, status=401)
    assert who(client) is None


def test_a_script_that_names_no_login_completes_the_newest(client, codes, later):
    first_step(client, next="/0")
    later(1)
    page = first_step(client, next="/1")
    answer = client.post("/auth/second", {"code": codes[0]}, headers=SCRIPT, status=200)
    assert answer.json["next"] == "/1"
    assert client.get(page.forms["second"].action, status=401)
    answer = client.post("/auth/second", {"code": codes[1]}, headers=SCRIPT, status=200)
    assert answer.json["next"] == "/0"


def test_of_six_second_steps_the_oldest_goes(client, codes, later):
    pages = []
    for each in range(6):
        pages.append(first_step(client, next=f"/{each}"))
        later(1)
    assert path_of(enter(pages[0], codes[0], status=302)) == "/auth/login"
    for each in range(1, 6):
        assert enter(pages[each], codes[each]).location == f"/{each}"


# An account that no user has.


def arrive(client, provider, subject, **fields):
    answer = log_in(client, provider, subject, status=303, **fields)
    assert path_of(answer) == "/auth/complete"
    return answer.follow(headers=BROWSER)


@pytest.mark.every_database
def test_three_accounts_that_wait_each_get_their_user(client, provider):
    names = ["eve", "mallory", "trudy"]
    pages = [arrive(client, provider, name, next=f"/{name}") for name in names]
    assert [page.form["username"].value for page in pages] == names
    for each in ORDER:
        answer = pages[each].form.submit(headers=SAME_ORIGIN, status=303)
        assert answer.location == f"/{names[each]}"
        assert who(client) == names[each]
        forget_session(client)
    assert not tab_cookies(client, PROVIDER)


def test_start_again_ends_the_wait_of_its_own_tab_alone(client, provider):
    pages = [arrive(client, provider, name) for name in ("eve", "mallory")]
    pages[1].form.submit("cancel", headers=SAME_ORIGIN, status=303)
    client.get(pages[1].form.action, headers=BROWSER, status=410)
    client.post(pages[1].form.action, {"username": "x"}, headers=SCRIPT, status=410)
    pages[0].form.submit(headers=SAME_ORIGIN, status=303)
    assert who(client) == "eve"


def test_without_a_name_the_newest_account_that_waits_is_meant(client, provider, later):
    pages = []
    for name in ("eve", "mallory"):
        pages.append(arrive(client, provider, name))
        later(1)
    assert client.get("/auth/complete").form["username"].value == "mallory"
    pages[1].form.submit("cancel", headers=SAME_ORIGIN, status=303)
    assert client.get("/auth/complete").form["username"].value == "eve"


@pytest.mark.promise(68)
def test_the_login_to_connect_leads_back_to_the_account_of_its_tab(client, ada, provider):
    names = ["work", "home", "club"]
    provider.people |= {name: {"email": "ada@example.org"} for name in names}
    pages = [arrive(client, provider, name, next=f"/{name}") for name in names]
    login = pages[1].click("Log in to connect both")
    assert "You can then connect it" in login
    login.form["username"], login.form["password"] = USERNAME, PASSWORD
    back = login.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    done = back.form.submit("connect", headers=SAME_ORIGIN, status=303)
    assert done.location == "/home"
    assert [row.subject for row in Identity.select()] == ["home"]


def test_the_login_page_promises_no_connection_to_an_account_that_is_gone(client, ada, provider):
    provider.people["work"] = provider.people["home"] = {"email": "ada@example.org"}
    pages = [arrive(client, provider, name) for name in ("work", "home")]
    logins = [page.html.find("a", string="Log in to connect both")["href"] for page in pages]
    pages[0].form.submit("cancel", headers=SAME_ORIGIN, status=303)
    assert "You can then connect it" not in client.get(logins[0], headers=BROWSER)
    assert "You can then connect it" in client.get(logins[1], headers=BROWSER)


@pytest.mark.promise(68)
def test_the_login_with_another_account_leads_back_to_the_account_of_its_tab(
    client, known, provider
):
    provider.people["work"] = {"email": "ada@example.org"}
    page = arrive(client, provider, "work", next="/work")
    wanted = page.click("Log in to connect both").form["next"].value
    back = log_in(client, provider, "ada", status=303, next=wanted)
    assert back.location == page.form.action == wanted
    done = back.follow(headers=BROWSER).form.submit("connect", headers=SAME_ORIGIN, status=303)
    assert done.location == "/work"


@pytest.mark.promise(68)
def test_a_recent_proof_leads_back_to_the_account_of_its_tab(site, ada, provider):
    client = logged_in(site, ada, confirmed_minutes_ago=60)
    answers = [log_in(client, provider, name, status=303) for name in ("eve", "mallory")]
    asked = client.get(answers[0].location, headers=BROWSER, status=302)
    page = asked.follow(headers=BROWSER)
    page.form["password"] = PASSWORD
    back = page.form.submit("", headers=SAME_ORIGIN, status=303)
    assert back.location == answers[0].location
    back.follow(headers=BROWSER).form.submit("connect", headers=SAME_ORIGIN, status=303)
    assert [row.subject for row in Identity.select()] == ["eve"]


@pytest.mark.promise(68)
def test_the_link_of_an_email_creates_the_account_of_its_tab(make_provider_site, provider, letters):
    names = ["eve", "mallory", "trudy"]
    for name in names:
        provider.people[name] = {"email": f"{name}@example.net", "email_verified": False}
    site = make_provider_site(**MAIL)
    client = TestApp(site)
    pages = [arrive(client, provider, name, next=f"/{name}") for name in names]
    sent = pages[1].form.submit(headers=SAME_ORIGIN, status=202)
    back = sent.html.find("a", string="Back")["href"]
    assert client.get(back).form["email"].value == "mallory@example.net"
    site.site.outbox.stop()
    site.site.outbox.deliver()
    link = letters.links[-1].removeprefix(MAIL["PUBLIC_URL"])
    answer = client.get(link, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == "/mallory"
    assert [(row.subject, row.user.username) for row in Identity.select()] == [("mallory",) * 2]
    forget_session(client)
    for page in (pages[0], pages[2]):
        client.get(page.form.action, headers=BROWSER, status=200)


def test_a_logout_ends_the_wait_of_every_tab(client, provider):
    for name in ("eve", "mallory"):
        arrive(client, provider, name)
    cookies = tab_cookies(client, PROVIDER)
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert not tab_cookies(client, PROVIDER)
    give_cookies(client, cookies)
    client.get("/auth/complete", headers=BROWSER, status=410)
    assert not OneTimeSecret.select().where(OneTimeSecret.purpose == "provider account").exists()


def test_an_account_that_waits_and_a_second_step_do_not_disturb_each_other(client, provider, codes):
    second = first_step(client, next="/second")
    complete = arrive(client, provider, "eve", next="/complete")
    assert enter(second, codes[0]).location == "/second"
    forget_session(client)
    assert complete.form.submit(headers=SAME_ORIGIN, status=303).location == "/complete"
    assert User.select().count() == 2
