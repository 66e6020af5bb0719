"""Who founds an organisation, and what it can be called."""

import pytest
from support import HTML, form_with, hello


def test_who_founds_an_organisation_owns_it(site):
    body = {"name": "Analytical Engines", "slug": "analytical-engines"}
    (own,) = site.client("ada").post_json("/auth/organisations", body).json["organisations"]
    assert own.items() >= {**body, "role": "owner"}.items()


def test_the_short_name_is_ascii(site):
    for slug in ("", "a", "Engines", "\u0435ngines", "engines-", "-ab", "a--b", "a b", "a" * 41):
        body = {"name": "Engines", "slug": slug}
        refused = site.client("ada").post_json("/auth/organisations", body, status=422)
        assert "slug" in refused.json["errors"], slug


def test_no_organisation_takes_the_place_of_a_url(site):
    body = {"name": "Join", "slug": "join"}
    site.client("ada").post_json("/auth/organisations", body, status=422)


def test_a_name_is_printable_and_short(site):
    for name in ("", " ", "a\u202eb", "a\nb", "a" * 61):
        body = {"name": name, "slug": "engines"}
        refused = site.client("ada").post_json("/auth/organisations", body, status=422)
        assert "name" in refused.json["errors"], name


def test_two_organisations_have_different_short_names(site):
    site.found("engines", "ada")
    body = {"name": "Other", "slug": "engines"}
    refused = site.client("grace").post_json("/auth/organisations", body, status=409)
    assert refused.json["code"] == "slug_taken"
    assert site.client("grace").get("/auth/organisations").json == {"organisations": []}


def test_a_user_is_in_a_limited_number_of_organisations(make_site):
    site = make_site(hello, ORGANISATIONS_PER_USER=1)
    site.found("engines", "ada")
    body = {"name": "Looms", "slug": "looms"}
    refused = site.client("ada").post_json("/auth/organisations", body, status=409)
    assert refused.json["code"] == "too_many_organisations"
    site.client("grace").post_json("/auth/organisations", body)  # was not made before
    site.invite("looms", "grace", "ada@example.org")
    site.client("ada").post_json("/auth/organisations/join", {"token": site.token()}, status=409)
    site.change("engines", "ada", "ada")
    site.client("ada").post_json("/auth/organisations/join", {"token": site.token()})


def test_no_one_searches_for_short_names(site):
    site.found("engines", "ada")
    body = {"name": "Other", "slug": "engines"}
    for _attempt in range(30):
        site.client("grace").post_json("/auth/organisations", body, status=409)
    refused = site.client("grace").post_json("/auth/organisations", body, status=429)
    assert int(refused.headers["Retry-After"]) > 0


def test_a_browser_founds_by_a_form_and_sees_its_mistakes(site):
    page = site.client("ada").get("/auth/organisations", headers=HTML)
    form = form_with(page, "Found the organisation")
    form["name"], form["slug"] = "Engines", "Engines"
    refused = form.submit(headers=HTML, status=422)
    assert "letters a to z" in refused.text
    form = form_with(refused, "Found the organisation")
    form["slug"] = "engines"
    founded = form.submit(headers=HTML).follow(headers=HTML)
    assert "has been founded" in founded.text


def test_the_account_page_counts_the_organisations(site):
    page = site.client("ada").get("/auth/account", headers=HTML)
    assert "0 organisations" in page.text
    site.found("engines", "ada")
    assert "1 organisation" in site.client("ada").get("/auth/account", headers=HTML).text


def test_strangers_log_in_first(site):
    page = site.client("ada")
    page.reset()
    page.get("/auth/organisations", status=401)
    assert "login" in page.get("/auth/organisations", headers=HTML, status=302).location


@pytest.mark.parametrize("language", ["en", "de"])
def test_pages_speak_two_languages(site, language):
    headers = {**HTML, "Accept-Language": language}
    title = {"en": "New organisation", "de": "Neue Organisation"}[language]
    assert title in site.client("ada").get("/auth/organisations", headers=headers).text
