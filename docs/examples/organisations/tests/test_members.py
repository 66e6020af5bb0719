"""Roles: who can change and remove others, and what members see of each other."""

from support import HTML, form_with, hello


def test_admins_change_roles_up_to_their_own(site):
    site.found("engines", "ada", grace="admin", mary="member")
    site.change("engines", "grace", "mary", "admin")
    assert site.roles("engines", "ada") == {"ada": "owner", "grace": "admin", "mary": "admin"}
    site.change("engines", "mary", "grace", "member")
    assert site.roles("engines", "ada")["grace"] == "member"


def test_no_one_gives_or_takes_more_than_they_have(site):
    site.found("engines", "ada", grace="admin", mary="member")
    for actor, name, role in (
        ("grace", "mary", "owner"),
        ("grace", "grace", "owner"),
        ("grace", "ada", "member"),
        ("grace", "ada", ""),
        ("mary", "mary", "admin"),
        ("mary", "grace", "member"),
        ("mary", "grace", ""),
    ):
        refused = site.change("engines", actor, name, role, status=403)
        assert refused.json["code"] == "forbidden"
    assert site.roles("engines", "ada") == {"ada": "owner", "grace": "admin", "mary": "member"}


def test_the_last_owner_stays(site):
    site.found("engines", "ada", grace="admin")
    for role in ("", "member"):
        refused = site.change("engines", "ada", "ada", role, status=409)
        assert refused.json["code"] == "last_owner"
    site.change("engines", "ada", "grace", "owner")
    site.change("engines", "ada", "ada", "")
    assert site.roles("engines", "grace") == {"grace": "owner"}


def test_the_only_member_leaves_and_the_organisation_ends(site):
    site.found("engines", "ada")
    left = site.change("engines", "ada", "ada")
    assert left.json == {"detail": "You have left the organisation."}
    site.client("ada").get("/auth/organisations/engines", status=404)
    site.found("engines", "grace")  # the short name is free again


def test_everyone_can_leave(site):
    site.found("engines", "ada", mary="member")
    site.change("engines", "mary", "mary")
    assert site.roles("engines", "ada") == {"ada": "owner"}


def test_an_organisation_is_hidden_from_others(site):
    site.found("engines", "ada")
    for slug in ("engines", "nothing"):
        site.client("grace").get(f"/auth/organisations/{slug}", status=404)
        site.client("grace").get(f"/auth/organisations/{slug}", headers=HTML, status=404)
        site.change(slug, "grace", "ada", "member", status=404)
        site.invite(slug, "grace", "x@example.org", status=404)


def test_only_admins_see_addresses(site):
    site.found("engines", "ada", grace="admin", mary="member")
    site.invite("engines", "ada", "new@example.org")
    seen = site.client("grace").get("/auth/organisations/engines").json
    assert {each["email"] for each in seen["members"]} >= {"ada@example.org", "mary@example.org"}
    assert [each["email"] for each in seen["invitations"]] == ["new@example.org"]
    seen = site.client("mary").get("/auth/organisations/engines")
    assert {each["email"] for each in seen.json["members"]} == {None}
    page = site.client("mary").get("/auth/organisations/engines", headers=HTML)
    assert not any(f"{name}@example.org" in seen.text + page.text for name in ("grace", "new"))


def test_without_usernames_members_see_a_part_of_addresses(make_site):
    site = make_site(hello, USERNAMES=False)
    site.found("engines", "ada", mary="member")
    assert site.roles("engines", "mary") == {
        "a…@example.org": "owner",
        "mary@example.org": "member",
    }
    assert set(site.roles("engines", "ada")) == {"ada@example.org", "mary@example.org"}


def test_someone_who_has_left_is_changed_no_more(site):
    site.found("engines", "ada", mary="member")
    site.change("engines", "mary", "mary")
    for role in ("", "admin"):
        refused = site.change("engines", "ada", "mary", role, status=404)
        assert refused.json["code"] == "no_such_member"


def test_a_role_that_there_is_not_is_refused(site):
    site.found("engines", "ada", mary="member")
    refused = site.change("engines", "ada", "mary", "king", status=422)
    assert "role" in refused.json["errors"]


def test_others_are_told_what_someone_did_to_them(site):
    site.found("engines", "ada", grace="admin", mary="member")
    before = len(site.texts())
    site.change("engines", "ada", "mary", "admin")
    site.change("engines", "ada", "mary", "admin")  # is no change
    site.change("engines", "ada", "mary")
    site.change("engines", "grace", "grace")  # knows it already
    told = site.texts()[before:]
    assert len(told) == 2
    assert any("in the organisation engines at localhost is now: Admin." in each for each in told)
    assert any("You were removed from the organisation engines" in each for each in told)


def test_a_browser_changes_roles_and_leaves_by_forms(site):
    site.found("engines", "ada", mary="member")
    page = site.client("ada").get("/auth/organisations/engines", headers=HTML)
    form = form_with(page, f"role-{site.user('mary').id}")
    form["role"] = "owner"
    page = form.submit(headers=HTML).follow(headers=HTML)
    assert "The members have been changed." in page.text
    leave = form_with(page, "Leave the organisation")
    page = leave.submit(headers=HTML).follow(headers=HTML)
    assert "You have left the organisation." in page.text
    assert site.roles("engines", "mary") == {"mary": "owner"}


def test_a_form_of_another_site_changes_nothing(site):
    site.found("engines", "ada", mary="member")
    fields = {"user": str(site.user("mary").id), "remove": "on"}
    headers = {"Origin": "https://evil.example"}
    site.client("ada").post("/auth/organisations/engines", fields, headers=headers, status=403)
    assert "mary" in site.roles("engines", "ada")


def test_no_number_is_too_large(site):
    site.found("engines", "ada")
    for number in (0, 10**17, 2**63, 10**30):
        body = {"user": number, "role": "admin"}
        site.client("ada").post_json("/auth/organisations/engines", body, status=404)


def test_an_inactive_user_gets_no_notice(site):
    site.found("engines", "ada", mary="member")
    before, mary = len(site.texts()), site.user("mary")
    mary.is_active = False
    mary.save()
    site.change("engines", "ada", "mary")
    assert len(site.texts()) == before


def test_a_user_gets_a_few_notices_in_a_day(site):
    site.found("engines", "ada", mary="member")
    before = len(site.texts())
    for role in ("admin", "member") * 4:
        site.change("engines", "ada", "mary", role)
    assert len(site.texts()) - before == 5
