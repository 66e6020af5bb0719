"""Django's permissions are those of wsgiauth; an API key gives no right beyond its own."""

import copy
import pickle

import pytest

from tests.contrib.django.conftest import change
from tests.frameworks.conftest import Visitor
from wsgiauth import User
from wsgiauth.accounts import known_permissions

WORDS = {"blog.add_post": ["add_post", "blog"], "shop.view_order": ["shop"]}  # on /page


def test_has_perm_asks_wsgiauth_on_every_request(browser, make):
    user = make()
    client = browser(user)
    for path in ("/writer", "/writers"):
        client.get(path, status=403)
        User.objects.get(id=user.id).grant("blog.add_post")
        client.get(path, status=200)
        User.objects.get(id=user.id).revoke("blog.add_post")
        client.get(path, status=403)


def test_permissions_of_groups_and_of_superusers_count(browser, make, site):
    from wsgiauth import testing

    testing.make_group(site.application, "bloggers", ["blog.add_post"])
    for user in (make(groups=["bloggers"]), make(is_superuser=True)):
        browser(user).get("/writer", status=200)


def test_templates_have_user_and_perms(browser, make):
    user = make(permissions=["blog.add_post"])
    assert browser(user).get("/page").text == f"{user.username} add_post blog"
    assert browser(make()).get("/page").text.count(" ") == 0


def test_class_based_views_are_guarded(browser, make, visitor):
    user = make()
    for path in ("/class", "/member"):
        assert visitor.get(path, status=302).location == f"/auth/login?next={path}"
        assert browser(user).get(path).json["user"] == user.username
    browser(user).get("/staff", status=403)
    assert browser(make(is_staff=True)).get("/staff").json["rights"][1]


@pytest.fixture
def row_of(rows, browser):
    """Return a function that returns the row of a user, as code outside their requests reads it."""

    def read(user):
        return rows.objects.get(pk=browser(user).get("/who").json["row"])

    return read


def test_other_rows_than_the_callers_have_the_permissions_of_their_user(make, row_of, rows, site):
    user = make(permissions=["blog.add_post"])
    row = row_of(user)
    assert row.has_perm("blog.add_post")
    assert row.has_perms(["blog.add_post"])
    assert row.has_module_perms("blog")
    assert row.get_all_permissions() == {"blog.add_post"}
    assert not row.has_module_perms("blo")
    assert not row.has_perm("blog.add_post", obj=row)
    assert row.get_all_permissions(obj=row) == set()
    for malformed in ("", "blog", "blog.add_post.now", "blog.ädd"):
        assert not row.has_perm(malformed)
    # A user whom another process deactivates: the row does not know it yet.
    User.update(is_active=False).where(User.id == user.id).execute()
    assert not row.has_perm("blog.add_post")
    assert row.get_all_permissions() == set()
    strangers = [rows.objects.create_user(f"own-{user.username}"), rows(username="unsaved")]
    for each in strangers:
        assert not each.has_perm("blog.add_post")
        assert not each.has_module_perms("blog")


def test_the_staff_panel_knows_the_permissions_of_models(site):
    assert {"auth.add_user", "auth.view_group"} <= known_permissions.asked_for()


@pytest.mark.promise(62)
def test_an_api_key_gives_no_right_beyond_its_own(make, key, browser, rows, site):
    permissions = ["blog.add_post", "shop.view_order"]
    user = make(is_staff=True, is_superuser=True, permissions=permissions)
    full = browser(user).get("/who").json
    assert full["rights"] == [True, True, True]
    for given, status in (([], 403), (["shop.view_order"], 403), (["blog.add_post"], 200)):
        headers = key(user, *given)
        visitor = Visitor(site.application)
        assert visitor.get("/who", headers=headers).json == {**full, "rights": [True, False, False]}
        for path in ("/writer", "/writers"):
            visitor.get(path, headers=headers, status=status)
        visitor.get("/staff", headers=headers, status=403)
        visitor.get("/admin/", headers=headers, status=302)
        page = visitor.get("/page", headers=headers).text
        assert page.split()[1:] == [word for name in given for word in WORDS[name]]


@pytest.mark.promise(62)
@pytest.mark.parametrize("given", [(), ("blog.add_post",)], ids=["no permission", "a permission"])
def test_an_api_key_is_in_no_group_of_djangos(make, key, browser, row_of, site, given):
    from django.contrib.auth.models import Group, Permission

    user = make(is_superuser=True)
    row = row_of(user)
    group, _ = Group.objects.get_or_create(name="editors")
    row.groups.add(group)
    row.user_permissions.add(Permission.objects.get(codename="add_group"))
    full = {"groups": "1 editors", "rights": ["add_group"]}
    assert browser(user).get("/groups").json == full
    seen = Visitor(site.application).get("/groups", headers=key(user, *given)).json
    assert seen == {"groups": "0", "rights": []}
    assert browser(user).get("/groups").json == full


@pytest.mark.promise(62)
def test_nothing_of_that_is_saved(make, key, rows, site, browser):
    user = make(is_staff=True, is_superuser=True)
    row = browser(user).get("/who").json["row"]
    headers = key(user)
    seen = Visitor(site.application).get("/save?name=Augusta", headers=headers).json
    assert seen["rights"] == [True, False, False]  # also after refresh_from_db
    stored = rows.objects.get(pk=row)
    assert [stored.first_name, stored.is_staff, stored.is_superuser] == ["Augusta", True, True]


@pytest.mark.promise(62)
def test_the_first_request_of_a_user_can_be_one_with_a_key(make, key, site, browser):
    user = make(is_staff=True)
    seen = Visitor(site.application).get("/who", headers=key(user)).json
    assert seen["rights"] == [True, False, False]
    assert browser(user).get("/who").json["rights"] == [True, True, False]


@pytest.fixture
def limited(make, site, rows, row_of):
    """Return a row of a superuser that is limited to one permission."""
    from wsgiauth.contrib.django.limited import limit_row

    row = row_of(make(is_staff=True, is_superuser=True))
    limit_row(row, frozenset({"blog.add_post"}))
    return row


READS = {
    "all": lambda groups: list(groups.all()),
    "a filter": lambda groups: list(groups.filter(name="editors")),
    "exists": lambda groups: groups.exists(),
    "count": lambda groups: groups.count(),
    "values": lambda groups: list(groups.values_list("name", flat=True)),
    "another database": lambda groups: list(groups.using("default")),
    "another manager": lambda groups: list(groups(manager="objects").all()),
    "a subquery": lambda groups: list(groups.model.objects.filter(pk__in=groups.all())),
}


@pytest.fixture
def editors(limited):
    """Return a group of Django's that the limited row is in."""
    from django.contrib.auth.models import Group

    group, _ = Group.objects.get_or_create(name="editors")
    group.user_set.add(limited)
    return group


@pytest.mark.promise(62)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_limited_row_is_in_no_group(limited, editors, rows, read):
    from django.db.models import prefetch_related_objects

    assert read(rows.objects.get(pk=limited.pk).groups)
    for row in (limited, copy.copy(limited)):
        assert not read(row.groups)
        prefetch_related_objects([row], "groups")
        assert not read(row.groups)


@pytest.mark.promise(62)
def test_changes_of_the_groups_of_a_limited_row_are_stored(limited, editors, rows):
    from django.contrib.auth.models import Group

    def stored():
        return [each.name for each in rows.objects.get(pk=limited.pk).groups.order_by("name")]

    authors, _ = Group.objects.get_or_create(name="authors")
    limited.groups.add(authors)
    assert stored() == ["authors", "editors"]
    limited.groups.set([authors])
    assert stored() == ["authors"]
    limited.groups.clear()
    assert stored() == []
    with pytest.raises(TypeError, match="Direct assignment"):
        limited.groups = [editors]
    assert type(limited).groups.through is rows.groups.through


@pytest.mark.promise(62)
def test_copies_are_limited_too(limited, rows):
    copies = [copy.copy(limited), copy.deepcopy(limited), pickle.loads(pickle.dumps(limited))]  # noqa: S301
    for row in [limited, *copies]:
        assert row == limited
        assert isinstance(row, rows)
        assert [row.is_staff, row.is_superuser] == [False, False]
        assert row.has_perm("blog.add_post")
        assert row.has_module_perms("blog")
        assert not row.has_perm("blog.delete_post")
        assert not row.has_perm("blog.add_post", obj=row)
        assert not row.has_module_perms("shop")
        assert row.get_all_permissions() == {"blog.add_post"}


@pytest.mark.promise(62)
def test_no_other_backend_gives_a_key_more(limited, site):
    from django.contrib.auth.models import Permission
    from django.test import override_settings

    permission = Permission.objects.get(codename="add_group")
    limited.user_permissions.add(permission)
    backends = [*site.settings.AUTHENTICATION_BACKENDS, "tests.contrib.django.views.Generous"]
    with override_settings(AUTHENTICATION_BACKENDS=backends):
        assert not limited.has_perm("auth.add_group")
        assert not limited.has_module_perms("auth")
        assert limited.get_all_permissions() == {"blog.add_post"}


@pytest.mark.promise(62)
def test_what_is_set_on_a_limited_row_is_saved_and_has_no_effect_on_it(limited, rows):
    limited.is_staff = False
    limited.save()
    assert not rows.objects.get(pk=limited.pk).is_staff
    limited.is_superuser = True
    assert not limited.is_superuser
    pk = limited.pk
    limited.delete()
    assert not rows.objects.filter(pk=pk).exists()


def test_a_deactivated_owner_has_no_key(make, key, site):
    make("boss", is_superuser=True)
    user = make()
    headers = key(user)
    change(user, is_active=False)
    assert Visitor(site.application).get("/who", headers=headers).json == {"user": None}
