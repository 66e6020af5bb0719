"""The guard of the application's views."""

import pytest
from support import HTML, hello
from wsgi_accounts_organisations import organisation_required


def slug_of(environ):
    return environ["PATH_INFO"].strip("/")


def room(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    membership = environ["organisations.membership"]
    return [f"{membership.name}: {membership.role}".encode()]


@pytest.fixture
def site(make_site):
    return make_site(organisation_required(slug_of, role="admin", redirect_url="/auth/login")(room))


def test_members_with_the_role_are_admitted(site):
    site.found("engines", "ada", grace="admin")
    assert site.client("ada").get("/engines").text == "Engines: owner"
    assert site.client("grace").get("/engines").text == "Engines: admin"


def test_members_without_the_role_are_forbidden(site):
    site.found("engines", "ada", mary="member")
    assert site.client("mary").get("/engines", status=403).json["code"] == "forbidden"


def test_others_do_not_know_whether_the_organisation_exists(site):
    site.found("engines", "ada")
    answers = [site.client("eve").get(f"/{slug}", status=404) for slug in ("engines", "nothing")]
    assert answers[0].body == answers[1].body
    page = site.client("eve").get("/engines", headers=HTML, status=404)
    assert "This page does not exist" in page.text


def test_strangers_log_in(site):
    client = site.client("ada")
    client.reset()
    assert "WWW-Authenticate" in client.get("/engines", status=401).headers
    assert (
        "/auth/login?next=%2Fengines" in client.get("/engines", headers=HTML, status=302).location
    )


def test_an_api_key_is_refused(site):
    site.found("engines", "ada")
    refused = site.client("ada").get("/engines", headers=site.key("ada"), status=403)
    assert refused.json["code"] == "insufficient_scope"


def test_a_role_counts_from_and_until_the_next_request(site):
    site.found("engines", "ada", grace="member")
    site.client("grace").get("/engines", status=403)
    site.change("engines", "ada", "grace", "admin")
    site.client("grace").get("/engines")
    site.change("engines", "ada", "grace")
    site.client("grace").get("/engines", status=404)


def test_a_router_can_name_the_slug(make_site):
    guarded = organisation_required("organisation")(room)

    def routed(environ, start_response):
        arguments = {"organisation": slug_of(environ)}
        return guarded({**environ, "wsgiorg.routing_args": ((), arguments)}, start_response)

    site = make_site(routed)
    site.found("engines", "ada", mary="member")
    assert site.client("mary").get("/engines").text == "Engines: member"
    with pytest.raises(KeyError):
        make_site(guarded).client("eve").get("/engines")


def test_methods_are_guarded_too(make_site):
    class Rooms:
        @organisation_required(slug_of)
        def __call__(self, environ, start_response):
            return hello(environ, start_response)

    site = make_site(Rooms())
    site.found("engines", "ada")
    site.client("ada").get("/engines", status=200)
    site.client("eve").get("/engines", status=404)


def test_an_unknown_role_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="king"):
        organisation_required(slug_of, role="king")
