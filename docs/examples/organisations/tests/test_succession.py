"""What happens to organisations when their people are deleted."""

from wsgiauth import User, delete_user


def test_the_oldest_admin_succeeds_the_last_owner(site):
    site.found("engines", "ada", mary="member", grace="admin", eve="admin")
    delete_user(site.user("ada"))
    assert site.roles("engines", "mary") == {"mary": "member", "grace": "owner", "eve": "admin"}
    assert any("is now: Owner." in each for each in site.texts())


def test_without_an_admin_the_oldest_member_does(site):
    site.found("engines", "ada", mary="member", eve="member")
    delete_user(site.user("ada"))
    assert site.roles("engines", "mary") == {"mary": "owner", "eve": "member"}


def test_another_owner_keeps_everything_as_it_is(site):
    site.found("engines", "ada", mary="member", grace="owner")
    delete_user(site.user("ada"))
    assert site.roles("engines", "grace") == {"mary": "member", "grace": "owner"}


def test_an_organisation_without_people_ends(site):
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    token = site.token()
    delete_user(site.user("ada"))
    site.client("grace").post_json("/auth/organisations/join", {"token": token}, status=410)
    site.found("engines", "grace")


def test_what_a_deleted_user_left_to_others_stays(site):
    site.found("engines", "ada", grace="admin")
    site.invite("engines", "grace", "eve@example.org")
    token = site.token()
    delete_user(site.user("grace"))
    assert site.roles("engines", "ada") == {"ada": "owner"}
    site.client("eve").post_json("/auth/organisations/join", {"token": token}, status=410)


def test_a_deletion_by_sql_is_made_good_at_the_next_one(site):
    site.found("engines", "ada", grace="admin")
    User.delete().where(User.id == site.user("ada").id).execute()
    assert site.roles("engines", "grace") == {"grace": "admin"}
    site.user("eve")
    delete_user(site.user("eve"))
    assert site.roles("engines", "grace") == {"grace": "owner"}
