"""Which target belongs to a path."""

import pytest

from wsgiauth.web.routing import ROUTING_ARGS, Router, routing_argument, routing_number

ROUTER = Router(
    {
        "/users": "users",
        "/users/{id}": "user",
        "/users/7": "seven",
        "/users/{id}/{action}": "action",
        "/users.csv": "csv",
    }
)


@pytest.mark.parametrize(
    ("path", "target", "arguments"),
    [
        ("/users", "users", {}),
        ("/users.csv", "csv", {}),
        ("/users/1", "user", {"id": "1"}),
        ("/users/7", "seven", {}),
        ("/users/999999999999999999", "user", {"id": "9" * 18}),
        ("/users/1/end-logins", "action", {"id": "1", "action": "end-logins"}),
    ],
)
def test_a_path_has_the_target_of_its_route(path, target, arguments):
    assert ROUTER.find(path) == (target, arguments)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/users/",
        "/users/0",
        "/users/01",
        "/users/-1",
        "/users/1/",
        "/users/1\n",
        "/users/٣",
        "/users/" + "9" * 19,
        "/usersXcsv",
        "/users/1/END",
        "/users/1/end_logins",
        "/users/1/" + "a" * 65,
        "/users/1/end/logins",
        "/site/users",
    ],
)
def test_another_path_has_none(path):
    assert ROUTER.find(path) is None


def test_the_arguments_are_read_from_the_environ():
    environ = {ROUTING_ARGS: ((), {"id": "7", "action": "delete"})}
    assert (routing_number(environ), routing_argument(environ, "action")) == (7, "delete")
