"""A part that a URL needs, and the endpoint that a path leads to."""

import pytest

from wsgiauth.app import ROUTES
from wsgiauth.exceptions import NotFoundError
from wsgiauth.forms.endpoint import SiteMap, require_part
from wsgiauth.testing import make_user
from wsgiauth.web.urls import Router


def test_without_a_part_of_the_site_its_url_does_not_exist():
    assert require_part("part") == "part"
    with pytest.raises(NotFoundError):
        require_part(None)


@pytest.fixture
def nearest(site):
    """Return a function that returns the route that is nearest to a path."""
    staff = make_user(site, "Katherine", is_staff=True)
    names = {id(endpoint): route for route, endpoint in ROUTES.items()}

    def find(path):
        endpoint, arguments = SiteMap(ROUTES, {}).nearest(path, staff, site.site.settings)
        return names.get(id(endpoint)), dict(arguments)

    return find


def test_the_nearest_endpoint_is_at_the_path_or_above_it(nearest):
    for path, route, arguments in [
        ("/account", "/account", {}),
        ("/account/nowhere", "/account", {}),
        ("/admin/users/7", "/admin/users/{id}", {"id": "7"}),
        ("/admin/users/7/", "/admin/users/{id}", {"id": "7"}),
        ("/admin/users/07/grant", "/admin/users", {}),
        ("/admin/users/7/grant/x", "/admin/users/{id}/{action}", {"id": "7", "action": "grant"}),
        ("/admin/nowhere", "/admin", {}),
        ("/nowhere", None, {}),
        ("", None, {}),
    ]:
        assert nearest(path) == (route, arguments), (path, route, arguments)


@pytest.mark.parametrize("part", ["/", "/a", "/account"])
def test_a_path_of_many_parts_costs_a_few_look_ups(nearest, monkeypatch, part):
    paths, find = [], Router.find

    def counting(router, path):
        paths.append(path)
        return find(router, path)

    monkeypatch.setattr(Router, "find", counting)
    nearest(part * 100_000)
    assert len(paths) <= 5
    assert max(map(len, paths)) < 50
