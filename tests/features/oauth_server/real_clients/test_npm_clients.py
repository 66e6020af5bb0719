"""Apps that log in with `openid-client` and `oauth4webapi` of npm."""

import pytest

from tests.support.provider_site import ALGORITHMS
from tests.support.relying_party import RelyingPartyError, relying_party
from tests.support.service_keys import MAPS
from tests.support.sites import EMAIL, USERNAME

LIBRARIES = ["openid-client", "oauth4webapi"]
CALLBACK = "http://127.0.0.1/callback"
BYE = "http://127.0.0.1/bye"
SCOPE = {"scope": "openid profile email"}
LOGIN_PAGE, CONSENT_PAGE, CONFIRM_PAGE = "Log in", "Log in to Wiki", "Confirm that it is you"


@pytest.fixture(scope="module", params=LIBRARIES)
def program(request):
    with relying_party(request.param) as program:
        yield program


@pytest.fixture
def find(site, program):
    """Return a function that lets the app find the provider, as a new client of it."""

    def find(auth="basic", algorithm="RS256", **options):
        options = {"is_public": auth == "none", "algorithm": algorithm, **options}
        app = site.register("Wiki", CALLBACK, **options)
        found = program.find(
            {
                "issuer": site.address,
                "client_id": app.id,
                "client_secret": app.secret,
                "redirect_uri": CALLBACK,
                "auth": auth,
                "algorithm": algorithm,
            }
        )
        assert found == site.address
        return app

    return find


def log_in(program, person, **parameters):
    url = program.begin({**SCOPE, **parameters})
    return program.finish(person.visit(url, until=CALLBACK))


@pytest.mark.parametrize("auth", ["basic", "post", "none"])
def test_a_person_logs_in(site, program, person, find, auth):
    app = find(auth)
    claims = log_in(program, person)["claims"]
    assert person.pages == [LOGIN_PAGE, CONSENT_PAGE]
    userinfo = program.userinfo()
    assert (claims["sub"], claims["aud"]) == (str(site.ada.id), app.id)
    assert (userinfo["preferred_username"], userinfo["email"]) == (USERNAME, EMAIL)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_id_token_of_each_algorithm_is_verified(program, person, find, algorithm):
    find(algorithm=algorithm)
    assert log_in(program, person)["claims"]["email"] == EMAIL


def test_a_refresh_gives_an_id_token_of_the_same_login(program, person, find):
    find()
    first = log_in(program, person)
    second = program.refresh()
    for name in ("sub", "sid", "auth_time"):
        assert second["claims"][name] == first["claims"][name]
    assert second["tokens"]["refresh_token"] != first["tokens"]["refresh_token"]


def log_out(program, person, app):
    person.log_out()


def revoke_the_app(program, person, app):
    person.revoke(app.id)


def revoke_the_token(program, person, app):
    program.revoke()


@pytest.mark.promise(92)
@pytest.mark.parametrize("end", [log_out, revoke_the_app, revoke_the_token])
def test_the_tokens_end(program, person, find, end):
    app = find()
    log_in(program, person)
    end(program, person, app)
    with pytest.raises(RelyingPartyError, match="invalid_grant"):
        program.refresh()
    with pytest.raises(RelyingPartyError, match="invalid_token"):
        program.userinfo()


@pytest.mark.parametrize("program", ["openid-client"], indirect=True)
def test_the_app_logs_the_person_out(program, person, find):
    find(logout_redirects=[BYE])
    log_in(program, person)
    person.pages.clear()
    url = program.leave({"post_logout_redirect_uri": BYE, "state": "x"})
    assert person.visit(url, until=BYE) == f"{BYE}?state=x"
    assert person.pages == []
    with pytest.raises(RelyingPartyError, match="login_required"):
        log_in(program, person, prompt="none")


@pytest.mark.promise(92)
def test_a_login_with_offline_access_outlives_the_logout(site, program, person, find):
    find(scopes=["openid", "offline_access"])
    log_in(program, person, scope="openid offline_access")
    person.log_out()
    assert program.refresh()["claims"]["sub"] == str(site.ada.id)


@pytest.mark.promise(88)
def test_a_second_use_of_the_code_is_refused_and_ends_the_login(program, person, find):
    find()
    url = person.visit(program.begin(SCOPE), until=CALLBACK)
    program.finish(url)
    with pytest.raises(RelyingPartyError, match="invalid_grant"):
        program.finish(url)
    with pytest.raises(RelyingPartyError, match="invalid_grant"):
        program.refresh()


@pytest.mark.parametrize("parameters", [{"prompt": "login"}, {"max_age": "0"}], ids=str)
def test_a_person_proves_their_identity_again(program, person, find, parameters):
    find()
    log_in(program, person)
    person.pages.clear()
    log_in(program, person, **parameters)
    assert person.pages == [CONFIRM_PAGE]


def test_a_second_login_shows_no_page(program, person, find):
    find()
    log_in(program, person)
    person.pages.clear()
    log_in(program, person, prompt="none")
    assert person.pages == []


@pytest.mark.promise(95)
def test_a_silent_login_is_refused_to_an_anonymous_browser(program, person, find):
    find()
    with pytest.raises(RelyingPartyError, match="login_required"):
        log_in(program, person, prompt="none")
    assert person.pages == []


@pytest.mark.parametrize("program", ["oauth4webapi"], indirect=True)
@pytest.mark.promise(91)
def test_a_service_accepts_an_access_token_for_it_and_no_other(site, program, person, find):
    app = find()
    log_in(program, person, resource=MAPS)
    claims = program.verify(MAPS)
    assert (claims["sub"], claims["client_id"]) == (str(site.ada.id), app.id)
    with pytest.raises(RelyingPartyError, match="aud"):
        program.verify(site.address)
