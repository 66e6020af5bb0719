"""Two changes at the same moment: each decides by what the other has left."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from support import DATABASE_URL, hello
from webtest import TestApp

from wsgiauth import User, delete_user

ROUNDS = range(5)


@pytest.fixture
def site(make_site, tmp_path):
    """Return a site whose database several threads can use."""
    is_memory = DATABASE_URL.endswith(":memory:")
    url = f"sqlite:///{tmp_path}/test.db" if is_memory else DATABASE_URL
    return make_site(hello, DATABASE_URL=url, ORGANISATIONS_PER_USER=0)


def at_once(*changes):
    """Make changes in threads that begin together; return their results."""
    barrier = Barrier(len(changes))

    def begin(change):
        barrier.wait(timeout=10)
        return change()

    with ThreadPoolExecutor(len(changes)) as threads:
        return [*threads.map(begin, changes)]


def posting(site, name, path, body):
    """Return a function that sends JSON as a user, and returns the status."""
    headers, client = site.bearer(name), TestApp(site.application)
    url = f"/auth/organisations/{path}".rstrip("/")
    return lambda: client.post_json(url, body, headers=headers, status="*").status_int


def changing(site, slug, actor, name, role):
    """Return a function that changes a member, as `posting`."""
    return posting(
        site, actor, slug, {"user": site.user(name).id, "role": role, "remove": not role}
    )


def test_one_of_two_admins_demotes_the_other(site):
    for number in ROUNDS:
        slug = f"engines-{number}"
        site.found(slug, "ada", grace="admin", mary="admin")
        statuses = at_once(
            changing(site, slug, "grace", "mary", "member"),
            changing(site, slug, "mary", "grace", "member"),
        )
        assert sorted(statuses) == [200, 403]
        assert sorted(site.roles(slug, "ada").values()) == ["admin", "member", "owner"]


def test_one_of_the_last_two_owners_leaves(site):
    for number in ROUNDS:
        slug = f"engines-{number}"
        site.found(slug, "ada", grace="owner", mary="member")
        statuses = at_once(
            changing(site, slug, "ada", "ada", ""), changing(site, slug, "grace", "grace", "")
        )
        assert sorted(statuses) == [200, 409]
        assert sorted(site.roles(slug, "mary").values()) == ["member", "owner"]


def test_an_invitation_is_accepted_once(site):
    for number in ROUNDS:
        slug = f"engines-{number}"
        site.found(slug, "ada")
        site.invite(slug, "ada", "grace@example.org")
        body = {"token": site.token()}
        statuses = at_once(*[posting(site, "grace", "join", body)] * 2)
        assert sorted(statuses) == [200, 410]
        assert site.roles(slug, "ada") == {"ada": "owner", "grace": "member"}


def test_one_of_two_founds_the_organisation(site):
    for number in ROUNDS:
        body = {"name": "Engines", "slug": f"engines-{number}"}
        statuses = at_once(*(posting(site, name, "", body) for name in ("ada", "grace")))
        assert sorted(statuses) == [200, 409]


def test_an_owner_is_left_when_one_leaves_and_the_other_is_deleted(site):
    for number in ROUNDS:
        slug, name = f"engines-{number}", f"grace{number}"
        site.found(slug, "ada", **{name: "owner", "mary": "member"})
        user = User.objects.get(id=site.user(name).id)
        leave = changing(site, slug, "ada", "ada", "")
        _nothing, status = at_once(lambda: delete_user(user), leave)  # noqa: B023 - run at once
        roles = site.roles(slug, "mary")
        assert "owner" in roles.values()
        assert (status, "ada" in roles) in ((200, False), (409, True))
