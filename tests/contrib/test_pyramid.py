"""Pyramid's requests, guards and ACLs with the users of wsgiauth; also run with Pyramid 2.0."""

import warnings
from itertools import count

import pytest
from webtest import TestApp

from tests.support.demands import BADGE, Badge, demanded
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from wsgiauth import (
    AuthMiddleware,
    Session,
    authenticate,
    delete_user,
    permission_required,
    storage,
    update_user,
)
from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.tables import Permission
from wsgiauth.exceptions import MiddlewareMissingError
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_group, make_settings, make_user

with warnings.catch_warnings():  # Pyramid still imports pkg_resources
    warnings.simplefilter("ignore")
    from pyramid import testing
    from pyramid.authorization import (
        ALL_PERMISSIONS,
        DENY_ALL,
        Allow,
        Authenticated,
        Deny,
        Everyone,
    )
    from pyramid.config import Configurator
    from pyramid.httpexceptions import HTTPForbidden, HTTPFound
    from pyramid.interfaces import ISecurityPolicy
    from pyramid.request import Request
    from pyramid.response import Response
    from pyramid.security import NO_PERMISSION_REQUIRED, forget, remember
    from pyramid.session import SignedCookieSessionFactory
    from pyramid.view import view_config, view_defaults

CHALLENGE = 'Bearer realm="wsgiauth"'
PASSWORD = "four unrelated words"


class Node(dict):
    """A resource of a tree, perhaps with an ACL."""

    def __init__(self, acl=None, **children):
        super().__init__(children)
        if acl is not None:
            self.__acl__ = acl
        for name, child in children.items():
            child.__name__, child.__parent__ = name, self


def seen(request):
    """Return what the request says about its caller."""
    return {
        "user": request.identity and request.identity.username,
        "id": request.authenticated_userid,
        "is_authenticated": request.is_authenticated,
    }


def home(request):
    return seen(request)


@view_defaults(route_name="desk", renderer="json", permission="desk.read")
class Desk:
    def __init__(self, request):
        self.request = request

    @view_config(request_method="GET")
    def show(self):
        return seen(self.request)

    @view_config(request_method="PUT", permission="desk.write")
    def write(self):
        return seen(self.request)

    @view_config(request_method="POST", permission="desk.sign", second_factor=True)
    @view_config(request_method="DELETE", fresh=True)
    def clear(self):
        return seen(self.request)

    @view_config(request_method="OPTIONS", permission=NO_PERMISSION_REQUIRED)
    def offer(self):
        return seen(self.request)


def own_refusal(request):
    raise HTTPForbidden("not on Mondays")


def enter(request):
    user = authenticate(request.environ, request.params["name"], request.params["password"])
    headers = remember(request, user, remember="keep" in request.params)
    request.response.headerlist.extend(headers)
    return seen(request)


def leave(request):
    return HTTPFound("/", headers=[*forget(request), ("X-Seen", str(request.identity))])


def stream(request):
    def chunks():
        for _ in range(3):
            yield request.identity.username.encode()

    return Response(app_iter=chunks())


def may(request):
    context = ACLS[request.params["acl"]]
    return {"may": bool(request.has_permission(request.params["permission"], context))}


def ask_again(request):
    copied = request.copy_get() if "copy" in request.params else Request.blank("/account")
    copied.path_info = "/account"
    return request.invoke_subrequest(copied)


def count_visits(request):
    request.session["visits"] = request.session.get("visits", 0) + 1
    return {"visits": request.session["visits"], "token": request.session.get_csrf_token()}


def members(config):
    config.add_route("news", "/news")
    config.add_view(lambda request: Response("for members"), route_name="news")


TREE = Node(
    [(Allow, Everyone, "view"), (Allow, Authenticated, "comment")],
    drafts=Node([(Allow, "group:Editors", ("view", "edit")), DENY_ALL]),
    public=Node(),
)


def make_policy():
    config = Configurator()
    config.include("wsgiauth.contrib.pyramid")
    config.commit()
    return config.registry.getUtility(ISecurityPolicy)


def make_config():
    config = Configurator(
        session_factory=SignedCookieSessionFactory("a secret of the application"),
        root_factory=lambda request: TREE,
    )
    config.include("wsgiauth.contrib.pyramid")
    views = {
        "home": (home, NO_PERMISSION_REQUIRED),
        "account": (home, None),
        "reports": (home, "reports.publish"),
        "own_refusal": (own_refusal, NO_PERMISSION_REQUIRED),
        "enter": (enter, NO_PERMISSION_REQUIRED),
        "leave": (leave, NO_PERMISSION_REQUIRED),
        "stream": (stream, None),
        "may": (may, NO_PERMISSION_REQUIRED),
        "again": (ask_again, NO_PERMISSION_REQUIRED),
        "visits": (count_visits, NO_PERMISSION_REQUIRED),
        "desk": (None, None),
    }
    for name, (view, permission) in views.items():
        config.add_route(name, "/" if name == "home" else f"/{name}")
        if view:
            config.add_view(view, route_name=name, permission=permission, renderer="json")
    config.add_route("cached", "/cached")
    config.add_view(home, route_name="cached", fresh=True, http_cache=3600, renderer="json")
    for permission in ("view", "edit", "comment"):
        config.add_view(home, name=permission, permission=permission, renderer="json", context=Node)
    config.set_default_permission(Authenticated)
    config.add_static_view("static", "tests:support")
    config.add_static_view("inner", "tests:support", permission=Authenticated)
    config.include(members, route_prefix="/members")
    config.scan(__name__)
    return config


@pytest.fixture(scope="module")
def site():
    site = AuthMiddleware(make_config().make_wsgi_app(), make_settings())
    yield site
    storage.discard_connection(site.database)


@pytest.fixture(autouse=True)
def _current(site):
    with context.using(site.database):
        yield


@pytest.fixture
def client(site):
    return TestApp(site)


numbers = count()


@pytest.fixture
def user(site):
    return make_user(site, f"user{next(numbers)}", password=PASSWORD)


# The identity


def test_an_anonymous_client_has_no_identity(client):
    assert client.get("/").json == {"user": None, "id": None, "is_authenticated": False}


def test_without_usernames_the_label_is_the_address():
    config = Configurator()
    config.include("wsgiauth.contrib.pyramid")
    config.add_route("home", "/")
    config.add_view(
        lambda request: {"label": request.identity.label, "remote": request.remote_user},
        route_name="home",
        renderer="json",
    )
    site = AuthMiddleware(config.make_wsgi_app(), make_settings(USERNAMES=False))
    user = make_user(site)
    seen = TestApp(site).get("/", headers=bearer(site, user)).json
    assert seen == {"label": "ada@example.org", "remote": user.username}
    storage.discard_connection(site.database)


@pytest.mark.parametrize("credentials", [bearer, api_key])
def test_the_identity_is_the_user(site, client, user, credentials):
    expected = {"user": user.username, "id": str(user.id), "is_authenticated": True}
    assert client.get("/", headers=credentials(site, user)).json == expected
    assert client.get("/").json["user"] is None


@pytest.mark.promise(62)
def test_the_session_of_a_browser_is_the_users(site, user):
    browser = logged_in(site, user)
    assert browser.get("/account").json["user"] == user.username
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert browser.get("/").json["user"] is None
    browser.get("/account", status=401)


def test_a_rename_is_seen_in_the_next_request_and_the_number_stays(site, client, user):
    headers = bearer(site, user)
    before = client.get("/", headers=headers).json
    update_user(user, username=f"{user.username}-new")
    after = client.get("/", headers=headers).json
    assert after == {**before, "user": user.username}
    heir = make_user(site, before["user"], email="heir@example.org")
    assert client.get("/", headers=bearer(site, heir)).json["id"] != before["id"]


@pytest.mark.promise(62)
@pytest.mark.parametrize("end", [delete_user, lambda user: update_user(user, is_active=False)])
def test_a_deleted_or_inactive_user_is_anonymous_in_the_next_request(site, client, user, end):
    headers, browser = bearer(site, user), logged_in(site, user)
    client.get("/account", headers=headers)
    end(user)
    client.get("/account", headers=headers, status=401)
    browser.get("/account", headers=BROWSER, status=302)
    assert client.get("/", headers=headers).json["user"] is None


def test_without_the_middleware_a_request_says_what_is_missing():
    client = TestApp(make_config().make_wsgi_app())
    for path in ("/", "/account"):
        with pytest.raises(
            MiddlewareMissingError, match="no AuthMiddleware around the application"
        ):
            client.get(path)


# permission=


def test_authenticated_as_the_permission_admits_every_user(site, client, user):
    for headers in (bearer(site, user), api_key(site, user)):
        assert client.get("/account", headers=headers).json["user"] == user.username
        assert client.get("/members/news", headers=headers).text == "for members"


def test_a_program_is_challenged_and_a_browser_sent_to_the_login_page(client):
    for path in ("/account", "/reports", "/members/news", "/drafts/edit"):
        refused = client.get(path, status=401)
        assert refused.headers["WWW-Authenticate"] == CHALLENGE
        assert refused.json["code"] == "unauthenticated"
        sent = client.get(path, headers=BROWSER, status=302)
        assert sent.headers["Location"] == f"/auth/login?next={path.replace('/', '%2F')}"
        refused = client.get(path, headers={"Authorization": "Bearer x"}, status=401)
        assert refused.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'


def test_below_a_prefix_and_another_mount_the_redirect_has_both():
    site = AuthMiddleware(make_config().make_wsgi_app(), make_settings(), mount="/accounts")
    prefix = {"SCRIPT_NAME": "/app"}
    sent = TestApp(site).get("/account", headers=BROWSER, extra_environ=prefix, status=302)
    assert sent.headers["Location"] == "/app/accounts/login?next=%2Fapp%2Faccount"
    storage.discard_connection(site.database)


def test_a_permission_counts_from_and_until_the_next_request(site, client, user):
    headers = bearer(site, user)
    group = make_group(site, "publishers", ["reports.publish"])
    make_user(site, f"root{next(numbers)}", is_superuser=True)  # the last one cannot be demoted
    for give, take in [
        (lambda: user.grant("reports.publish"), lambda: user.revoke("reports.publish")),
        (lambda: user.join(group), lambda: user.leave(group)),
        (
            lambda: update_user(user, is_superuser=True),
            lambda: update_user(user, is_superuser=False),
        ),
    ]:
        client.get("/reports", headers=headers, status=403)
        give()
        client.get("/reports", headers=headers, status=200)
        take()
    client.get("/reports", headers=headers, status=403)


def test_a_user_without_the_permission_gets_the_answer_of_permission_required(
    site, client, user, caplog
):
    headers = bearer(site, user)
    refused = client.get("/reports", headers=headers, status=403)
    with_guard = AuthMiddleware(permission_required("reports.publish")(echo), make_settings())
    expected = TestApp(with_guard).get("/reports", headers=bearer(with_guard), status=403)
    assert refused.json == expected.json
    for name in ("Content-Type", "Cache-Control", "Content-Security-Policy"):
        assert refused.headers[name] == expected.headers[name]
    assert "lacks reports.publish" in caplog.text
    page = logged_in(site, user).get("/reports", headers=BROWSER, status=403)
    page.mustcontain("You do not have permission to open this page", "login?switch=1")
    storage.discard_connection(with_guard.database)


def test_a_refusal_that_a_view_raises_stays_for_a_user(site, client, user):
    assert "not on Mondays" in client.get("/own_refusal", headers=bearer(site, user), status=403)
    assert "not on Mondays" not in client.get("/own_refusal", status=401)


def test_the_classes_of_views_have_permissions(site, client, user):
    headers = bearer(site, user)
    client.get("/desk", headers=headers, status=403)
    user.grant("desk.read")
    assert client.get("/desk", headers=headers).json["user"] == user.username
    client.put("/desk", headers=headers, status=403)
    user.grant("desk.write")
    client.put("/desk", headers=headers, status=200)
    client.options("/desk", status=200)


def test_fresh_and_second_factor_are_options_of_a_view(site, client, user):
    user.grant("desk.read")
    stale = bearer(site, user, confirmed_minutes_ago=60)
    refused = client.delete("/desk", headers=stale, status=401)
    assert 'max_age="900"' in refused.headers["WWW-Authenticate"]
    client.delete("/desk", headers=bearer(site, user), status=200)
    client.delete("/desk", status=401)
    client.post("/desk", headers=bearer(site, user), status=403)
    user.grant("desk.sign")
    refused = client.post("/desk", headers=bearer(site, user), status=401)
    assert "multi-factor" in refused.headers["WWW-Authenticate"]
    client.post("/desk", headers=bearer(site, user, second_factor=True), status=200)


@pytest.mark.promise(96)
def test_a_session_that_lacks_something_is_nobody(site, client, user):
    user.grant("desk.read")
    with demanded(site, Badge()):
        lacking = bearer(site, user, badge=False)
        assert client.get("/", headers=lacking).json["user"] is None
        browser = logged_in(site, user, badge=False)
        for path in ("/account", "/desk", "/members/news"):
            assert client.get(path, headers=lacking, status=403).json["code"] == BADGE
            led = browser.get(path, headers=BROWSER, status=302)
            assert led.location.startswith("/auth/badge?next=%2F")
        assert client.get("/desk", headers=bearer(site, user)).json["user"] == user.username


def test_a_cache_never_keeps_the_answer_for_those_who_are_refused(site, client, user):
    headers = bearer(site, user)
    assert "max-age=3600" in client.get("/cached", headers=headers).headers["Cache-Control"]
    for refused in (bearer(site, user, confirmed_minutes_ago=60), {}):
        answer = client.get("/cached", headers=refused, status=401)
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_pooled_connection_is_free_while_a_view_runs(tmp_path):
    config = make_config()
    config.add_route("pooled", "/pooled")
    config.add_view(
        lambda request: {"is_free": storage.current().is_closed()},
        route_name="pooled",
        permission="reports.publish",
        renderer="json",
    )
    settings = make_settings(DATABASE_URL=f"sqlite+pool:///{tmp_path}/accounts.db")
    site = AuthMiddleware(config.make_wsgi_app(), settings)
    with context.using(site.database):
        headers = bearer(site, make_user(site, permissions=["reports.publish"]))
        assert TestApp(site).get("/pooled", headers=headers).json == {"is_free": True}
    storage.discard_connection(site.database)


def test_the_permissions_of_views_are_known_to_the_staff_panel(site):
    assert {"reports.publish", "desk.read", "desk.sign"} <= known_permissions.asked_for()
    config = Configurator(default_permission="site.enter")
    config.include("wsgiauth.contrib.pyramid")
    config.add_view(home, renderer="json")
    config.commit()
    assert "site.enter" in known_permissions.asked_for()


def test_static_files_are_public_unless_they_have_a_permission(site, client, user):
    assert b"USERNAME" in client.get("/static/sites.py").body
    client.get("/inner/sites.py", status=401)
    client.get("/inner/sites.py", headers=bearer(site, user), status=200)
    client.get("/no/such/page", status=404)


def test_a_failed_database_is_a_503(caplog):
    site = AuthMiddleware(make_config().make_wsgi_app(), make_settings())
    headers = bearer(site)
    with context.using(site.database):
        Permission.drop_table()
    refused = TestApp(site).get("/reports", headers=headers, status=503)
    assert refused.json["code"] == "unavailable"
    assert "the account database failed: OperationalError" in caplog.text
    storage.discard_connection(site.database)


# ACLs


ACLS = {
    "none": Node(),
    "the group": Node([(Allow, "group:Editors", ("view", "blog.edit"))]),
    "the group, in other letters": Node([(Allow, "group:editors", "view")]),
    "everyone": Node([(Allow, Everyone, ("view", "blog.edit"))]),
    "users": Node([(Allow, Authenticated, ("view", "blog.edit"))]),
    "everything to the group": Node([(Allow, "group:Editors", ALL_PERMISSIONS)]),
    "the group is denied": Node(
        [(Deny, "group:Editors", ("view", "blog.edit")), (Allow, Everyone, ALL_PERMISSIONS)]
    ),
    "all but the group": Node([(Allow, "group:Editors", "blog.edit"), DENY_ALL]),
    "the child of one for the group": TREE["drafts"],
}
ACLS["called"] = Node(lambda: [(Allow, "group:Editors", "view")])
ACLS["another object"] = Node([(Allow, ("group", ["Editors"]), "view"), (Allow, 7, "view")])

# Which of them are admitted: an anonymous client, a user, one who has blog.edit, a member of the
# group, a superuser; and API keys of a member of the group who has blog.edit, with it and without.
WHO = ("anonymous", "user", "writer", "member", "superuser", "key", "bare key")
ADMITTED = {
    ("none", "view"): (),
    ("none", "blog.edit"): ("writer", "superuser", "key"),
    ("the group", "view"): ("member",),
    ("the group", "blog.edit"): ("writer", "member", "superuser", "key"),
    ("the group, in other letters", "view"): (),
    ("everyone", "view"): WHO,
    ("everyone", "blog.edit"): WHO,
    ("users", "view"): WHO[1:],
    ("users", "blog.edit"): ("user", "writer", "member", "superuser", "key"),
    ("everything to the group", "view"): ("member",),
    ("everything to the group", "blog.edit"): ("writer", "member", "superuser", "key"),
    ("the group is denied", "view"): ("anonymous", "user", "writer", "superuser"),
    ("the group is denied", "blog.edit"): ("anonymous", "user", "writer", "superuser"),
    ("all but the group", "view"): (),
    ("all but the group", "blog.edit"): ("member", "key"),
    ("called", "view"): ("member",),
    ("another object", "view"): (),
    ("another object", Authenticated): WHO[1:],
    ("all but the group", Authenticated): WHO[1:],
}


@pytest.fixture(scope="module")
def people(site):
    make_group(site, "Editors")
    writer = make_user(site, "writer", permissions=["blog.edit"])
    owner = make_user(site, "owner", permissions=["blog.edit"], groups=["Editors"])
    return {
        "anonymous": {},
        "user": bearer(site, make_user(site, "plain")),
        "writer": bearer(site, writer),
        "member": bearer(site, make_user(site, "member", groups=["Editors"])),
        "superuser": bearer(site, make_user(site, "superuser", is_superuser=True)),
        "key": api_key(site, owner, ["blog.edit"]),
        "bare key": api_key(site, owner),
    }


@pytest.mark.promise(62)
@pytest.mark.parametrize(("acl", "permission"), ADMITTED)
def test_the_acl_decides_first_and_then_the_permissions_of_the_user(
    client, people, acl, permission
):
    query = {"acl": acl, "permission": permission}
    admitted = [who for who in WHO if client.get("/may", query, headers=people[who]).json["may"]]
    assert admitted == list(ADMITTED[acl, permission])


@pytest.mark.promise(62)
def test_an_acl_names_users_by_their_numbers(site, client, user):
    key = api_key(site, user)
    for entry, by_session, by_key in [(Allow, True, False), (Deny, False, False)]:
        rest = [(Allow, Authenticated, "view")] if entry is Deny else []
        ACLS["one"] = Node([(entry, f"user:{user.id}", "view"), *rest])
        query = {"acl": "one", "permission": "view"}
        assert client.get("/may", query, headers=bearer(site, user)).json["may"] is by_session
        assert client.get("/may", query, headers=key).json["may"] is by_key
        other = bearer(site, make_user(site, f"other{next(numbers)}"))
        assert client.get("/may", query, headers=other).json["may"] is (entry is Deny)


def test_traversal_finds_the_acl_of_a_page(client, people):
    client.get("/public/view", status=200)
    client.get("/public/comment", status=401)
    client.get("/public/comment", headers=people["user"], status=200)
    client.get("/public/edit", headers=people["superuser"], status=403)
    client.get("/drafts/view", status=401)
    client.get("/drafts/view", headers=people["user"], status=403)
    client.get("/drafts/edit", headers=people["member"], status=200)
    refused = client.get("/drafts/edit", headers=people["key"], status=403)
    assert refused.json["code"] == "insufficient_scope"


def test_a_group_counts_from_and_until_the_next_request(site, client, user):
    headers = bearer(site, user)
    make_group(site, "Editors")
    client.get("/drafts/edit", headers=headers, status=403)
    user.join("Editors")
    client.get("/drafts/edit", headers=headers, status=200)
    user.leave("Editors")
    client.get("/drafts/edit", headers=headers, status=403)


def test_the_result_says_why(site, user):
    make_user(site, "reader", groups=["Editors"])
    request = testing.DummyRequest(environ={"wsgiauth.site": site.site, "wsgiauth.user": user})
    policy = make_policy()
    assert f"'system.Authenticated', 'user:{user.id}']" in str(
        policy.permits(request, TREE, "edit")
    )
    for permission in ("reports.publish", Authenticated):
        user.grant("reports.publish")
        assert repr(user) in str(policy.permits(request, TREE, permission))
    request.environ["wsgiauth.user"] = None
    assert str(policy.permits(request, TREE, Authenticated)) == "anonymous"
    assert "principals ['system.Everyone']" in str(policy.permits(request, TREE, "edit"))


# remember and forget


def test_remember_starts_a_session_of_the_same_request(site, client, user):
    form = {"name": user.username, "password": PASSWORD}
    entered = client.post("/enter", form, headers=SAME_ORIGIN)
    assert entered.json["user"] == user.username
    assert "no-store" in entered.headers["Cache-Control"]
    assert client.get("/account").json["user"] == user.username
    left = client.post("/leave", headers=SAME_ORIGIN, status=302)
    assert left.headers["X-Seen"] == "None"
    client.get("/account", status=401)
    assert not Session.select().where(Session.user == user.id).exists()


def test_remember_takes_what_log_in_does(site, client, user):
    form = {"name": user.username, "password": PASSWORD, "keep": "on"}
    assert "Max-Age" in client.post("/enter", form, headers=SAME_ORIGIN).headers["Set-Cookie"]


def test_forget_without_a_session_has_no_headers(client):
    assert "Set-Cookie" not in client.post("/leave", status=302).headers


def test_only_a_user_is_remembered(client, user):
    form = {"name": user.username, "password": "wrong"}
    with pytest.raises(TypeError, match="user must be a User of wsgiauth, not None"):
        client.post("/enter", form, headers=SAME_ORIGIN)


def test_an_inactive_user_is_not_remembered(site, user):
    update_user(user, is_active=False)
    environ = {"wsgiauth.site": site.site, "REMOTE_ADDR": "192.0.2.1", "wsgi.url_scheme": "http"}
    request = testing.DummyRequest(environ=environ)
    policy = make_policy()
    assert policy.remember(request, user) == []


# Pyramid's own


@pytest.mark.promise(63)
def test_the_sessions_of_pyramid_are_beside_those_of_wsgiauth(site, client, user):
    assert client.get("/visits").json["visits"] == 1
    form = {"name": user.username, "password": PASSWORD}
    client.post("/enter", form, headers=SAME_ORIGIN)
    assert client.get("/visits").json["visits"] == 2
    client.post("/leave", headers=SAME_ORIGIN)
    assert client.get("/visits").json["visits"] == 3


@pytest.mark.promise(63)
def test_the_csrf_tokens_of_pyramid_are_still_required(user):
    config = make_config()
    config.set_default_csrf_options(require_csrf=True)
    site = AuthMiddleware(config.make_wsgi_app(), make_settings())
    browser = logged_in(site)
    assert "CSRF" in browser.post("/account", status=400)
    token = browser.get("/visits").json["token"]
    assert browser.post("/account", {"csrf_token": token}, headers=SAME_ORIGIN).json["user"]
    form = browser.get("/auth/account", headers=BROWSER).forms[0]
    form.submit(headers=SAME_ORIGIN, status=303)  # those of wsgiauth need none of Pyramid
    storage.discard_connection(site.database)


def test_a_stream_is_sent_as_the_user_who_asked(site, client, user):
    assert client.get("/stream", headers=bearer(site, user)).text == user.username * 3


def test_a_subrequest_has_the_user_if_it_is_a_copy(site, client, user):
    headers = bearer(site, user)
    assert client.get("/again?copy=1", headers=headers).json["user"] == user.username
    with pytest.raises(MiddlewareMissingError):
        client.get("/again", headers=headers)


def test_views_are_tested_as_pyramid_documents_it(user):
    request = testing.DummyRequest()
    with testing.testConfig(request=request) as config:
        assert home(request)["user"] is None
        config.include("wsgiauth.contrib.pyramid")
        config.commit()
        with pytest.raises(MiddlewareMissingError):
            home(request)
        config.testing_securitypolicy(userid=str(user.id), identity=user, permissive=False)
        assert home(request)["user"] == user.username
        assert not request.has_permission("reports.publish")
