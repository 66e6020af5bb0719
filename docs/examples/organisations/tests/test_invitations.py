"""Invitations: who gets them, who can use them, and what they tell."""

from support import HTML, form_with, hello


def test_a_link_lets_the_invited_person_join(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org", "admin")
    site.user("grace")
    page = site.client("grace").get(site.links()[-1], headers=HTML)
    assert "You are invited to" in page.text
    assert "Engines" in page.text
    joined = form_with(page, "Join").submit(headers=HTML).follow(headers=HTML)
    assert "You are a member now." in joined.text
    assert site.roles("engines", "ada") == {"ada": "owner", "grace": "admin"}


def test_opening_a_link_changes_nothing(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    for _time in range(2):
        site.client("grace").get(site.links()[-1])
    assert site.roles("engines", "ada") == {"ada": "owner"}


def test_a_stranger_logs_in_first_and_comes_back(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    client = site.client("grace")
    client.reset()
    location = client.get(site.links()[-1], headers=HTML, status=302).location
    assert "/auth/login?next=" in location
    assert "organisations%2Fjoin%3Ftoken%3D" in location


def test_a_link_works_once(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    body = {"token": site.token()}
    site.client("grace").post_json("/auth/organisations/join", body)
    site.change("engines", "grace", "grace")
    refused = site.client("grace").post_json("/auth/organisations/join", body, status=410)
    assert refused.json["code"] == "link_expired"
    site.client("grace").get(site.links()[-1], headers=HTML, status=410)


def test_a_link_works_for_the_invited_address_alone(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    body = {"token": site.token()}
    refused = site.client("eve").post_json("/auth/organisations/join", body, status=403)
    assert refused.json["code"] == "other_account"
    assert "grace" not in refused.text
    site.user("big", email="GRACE@example.org")
    site.client("big").post_json("/auth/organisations/join", body)


def test_an_answer_does_not_tell_who_has_an_account(site):
    site.found("engines", "ada")
    site.user("grace")
    answers = [
        site.invite("engines", "ada", f"{name}@example.org").json["invitations"][-1]
        for name in ("grace", "nobody")
    ]
    kept = [{name: each[name] for name in each if name not in ("id", "email")} for each in answers]
    assert kept[0].keys() == kept[1].keys()
    assert kept[0]["role"] == kept[1]["role"]


def test_a_new_invitation_replaces_the_old_one(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org", "admin")
    former = site.token()
    seen = site.invite("engines", "ada", "Grace@example.org", "member").json
    assert [each["role"] for each in seen["invitations"]] == ["member"]
    join = "/auth/organisations/join"
    site.client("grace").post_json(join, {"token": former}, status=410)
    site.client("grace").post_json(join, {"token": site.token()})
    assert site.roles("engines", "ada")["grace"] == "member"


def test_a_member_is_not_invited_again(site):
    site.found("engines", "ada", grace="member")
    refused = site.invite("engines", "ada", "GRACE@example.org", status=409)
    assert refused.json["code"] == "already_member"


def test_a_malformed_address_is_refused(site):
    site.found("engines", "ada")
    for email in ("", "grace", "grace@example.org, eve@example.org"):
        refused = site.invite("engines", "ada", email, status=422)
        assert "email" in refused.json["errors"]


def test_admins_invite_up_to_their_own_role(site):
    site.found("engines", "ada", grace="admin", mary="member")
    site.invite("engines", "grace", "x@example.org", "admin")
    site.invite("engines", "grace", "y@example.org", "owner", status=403)
    site.invite("engines", "mary", "z@example.org", status=403)


def test_an_invitation_ends_with_the_right_of_its_inviter(site):
    site.found("engines", "ada", grace="admin", mary="admin")
    for name, role in (("grace", "member"), ("mary", "")):
        site.invite("engines", name, "eve@example.org", "admin")
        token = site.token()
        site.change("engines", "ada", name, role)
        body = {"token": token}
        site.client("eve").post_json("/auth/organisations/join", body, status=410)
    assert "eve" not in site.roles("engines", "ada")


def test_an_invitation_is_revoked_also_before_it_is_sent(site):
    site.found("engines", "ada")
    url = "/auth/organisations/engines"
    sent = len(site.links())
    (open_one,) = site.invite("engines", "ada", "grace@example.org").json["invitations"]
    seen = site.client("ada").post_json(url, {"end": open_one["id"]}).json
    assert (seen["invitations"], len(site.links())) == ([], sent)
    refused = site.client("ada").post_json(url, {"end": open_one["id"]}, status=404)
    assert refused.json["code"] == "no_such_invitation"


def test_an_admin_does_not_revoke_what_they_could_not_give(site):
    site.found("engines", "ada", grace="admin", mary="member")
    (open_one,) = site.invite("engines", "ada", "x@example.org", "owner").json["invitations"]
    url = "/auth/organisations/engines"
    for name in ("grace", "mary"):
        site.client(name).post_json(url, {"end": open_one["id"]}, status=403)


def test_a_browser_revokes_by_a_form_and_sees_mistakes(site):
    site.found("engines", "ada")
    page = site.client("ada").get("/auth/organisations/engines", headers=HTML)
    form = form_with(page, "Invite")
    form["email"] = "ada@example.org"
    refused = form.submit(headers=HTML, status=409)
    assert "A member has this email address." in refused.text
    form["email"] = "grace"
    assert "aria-invalid" in form.submit(headers=HTML, status=422).text
    form["email"] = "grace@example.org"
    page = form.submit(headers=HTML).follow(headers=HTML)
    revoke = form_with(page, "Revoke")
    page = revoke.submit(headers=HTML).follow(headers=HTML)
    assert "grace@example.org" not in page.text


def test_places_are_limited(make_site):
    site = make_site(hello, ORGANISATIONS_MEMBERS=2)
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    refused = site.invite("engines", "ada", "mary@example.org", status=409)
    assert refused.json["code"] == "organisation_full"
    site.invite("engines", "ada", "grace@example.org")  # replaces its former one


def test_invitations_are_limited_by_user_and_by_address(make_site):
    site = make_site(hello, ORGANISATIONS_INVITATIONS_PER_DAY=6)
    site.found("engines", "ada")
    for _time in range(5):
        site.invite("engines", "ada", "grace@example.org")
    site.invite("engines", "ada", "grace@example.org", status=429)  # the sixth of the user
    site.invite("engines", "ada", "mary@example.org", status=429)
    site.found("looms", "eve")
    site.invite("looms", "eve", "GRACE@example.org", status=429)
    site.invite("looms", "eve", "mary@example.org")


def test_a_link_expires(make_site):
    site = make_site(hello, ORGANISATIONS_INVITATION_HOURS=1)
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    assert "during the next hour" in site.texts()[-1] or "next 1 hour" in site.texts()[-1]


def test_an_email_has_nothing_that_an_inviter_typed_but_the_short_name(site):
    body = {"name": "You have won: call 0800", "slug": "engines"}
    site.client("ada").post_json("/auth/organisations", body)
    site.invite("engines", "ada", "grace@example.org")
    assert "won" not in site.texts()[-1]
    assert "engines" in site.texts()[-1]
