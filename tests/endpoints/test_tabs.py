"""Two tabs of one browser, which log in at the same time: each ends where it began."""

from urllib.parse import parse_qsl, urlencode

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.hostile_provider import Provider
from tests.support.provider_logins import begin, come_back, connect, path_of
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tabs import OIDC, SECOND, tab_cookies
from wsgiauth.authentication import identities, recovery_codes
from wsgiauth.testing import logged_in
from wsgiauth.web.cookies import MAX_COOKIE_HEADER, TAG_LENGTH

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


def who(client):
    return client.get("/").json["user"]


# At a provider.


@pytest.mark.promise(69)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_two_tabs_at_a_provider_each_end_where_they_began(order, client, known, provider):
    queries = [provider.authorize(begin(client, next=f"/{each}")) for each in range(2)]
    for each in order:
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
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda state: "", id="no state"),
        pytest.param(lambda state: "0" * len(state), id="an unknown state"),
        pytest.param(lambda state: f"{state}0", id="a longer state"),
        pytest.param(lambda state: f"{state[:-1]}{'x' if state[-1] != 'x' else 'y'}", id="forged"),
        pytest.param(lambda state: state[:TAG_LENGTH], id="its tag alone"),
    ],
)
def test_a_state_that_is_not_this_browsers_ends_none_of_its_logins(spoil, client, known, provider):
    query = provider.authorize(begin(client, next="/a"))
    [(_, state)] = [each for each in parse_qsl(query) if each[0] == "state"]
    refused = come_back(client, f"code=x&state={spoil(state)}", status=400)
    assert refused.headers.getall("Set-Cookie") == []
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


# The second step.


@pytest.fixture
def codes(site, ada):
    add_app(site, ada)
    return recovery_codes.replace(ada)


def first_step(client, **further):
    fields = {"username": USERNAME, "password": PASSWORD, **further}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    assert path_of(answer) == "/auth/second"
    return answer.follow(headers=BROWSER)


def enter(page, code, status=303):
    page.form["code"] = code
    return page.form.submit(headers=SAME_ORIGIN, status=status)


@pytest.mark.every_database
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_two_second_steps_each_lead_where_their_tab_began(order, client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    for each in order:
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
    assert refused.form.action == pages[0].form.action
    assert enter(refused, codes[0]).location == "/0"


def test_two_users_in_two_tabs_each_finish_their_own_login(client, site, codes, grace):
    add_app(site, grace)
    page = first_step(client)
    other = first_step(client, username=grace.username)
    assert USERNAME in page.html.main.text
    assert grace.username in other.html.main.text
    enter(page, codes[0])
    assert who(client) == USERNAME
    enter(other, recovery_codes.replace(grace)[0])
    assert who(client) == grace.username


def test_start_again_ends_the_login_of_its_own_tab_alone(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    answer = pages[0].form.submit("cancel", headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/login?next=%2F0"
    assert enter(pages[1], codes[1]).location == "/1"


def test_a_login_that_is_over_is_never_that_of_another_tab(client, codes):
    pages = [first_step(client, next=f"/{each}") for each in range(2)]
    pages[0].form.submit("cancel", headers=SAME_ORIGIN, status=303)
    gone = pages[0].form.action
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
    assert client.get(page.form.action, status=401)
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
