"""The adapter of Flask. These tests also run with an older Flask: see test_flask_versions.py."""

import asyncio
import functools
import json
import threading
from http import HTTPStatus

import flask
import pytest
from flask import abort, render_template_string, request, session, stream_with_context
from flask.views import MethodView, View

from tests.support.demands import BADGE, Badge, demanded
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import Group, User, log_in, log_out
from wsgiauth.contrib.flask import (
    WSGIAuth,
    current_user,
    guard_blueprint,
    login_required,
    permission_required,
)
from wsgiauth.exceptions import ConfigurationError, MiddlewareMissingError
from wsgiauth.testing import (
    add_authenticator,
    api_key,
    bearer,
    logged_in,
    make_settings,
    make_user,
)


def make_app(*, settings=None, **arguments):
    app = flask.Flask(__name__)
    app.config.from_object(settings or make_settings())
    WSGIAuth(app, **arguments)
    return app


@pytest.fixture
def app():
    return make_app()


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def ada(app):
    return make_user(app.wsgi_app)


@pytest.fixture
def headers(app, ada):
    """Return the headers of Ada's program."""
    return bearer(app.wsgi_app, ada)


def whoami():
    return {"user": current_user.username if current_user else None}


# The current user


@pytest.fixture
def who(app, client):
    """Return a function that asks the app who is calling."""
    app.get("/who")(whoami)
    return lambda headers=None: client.get("/who", headers=headers).json["user"]


def test_the_current_user_is_that_of_the_request(who, headers):
    assert who(headers) == "ada"
    assert who() is None


def test_without_usernames_the_label_is_the_address():
    app = make_app(settings=make_settings(USERNAMES=False))
    user = make_user(app.wsgi_app)
    names = "{{ current_user.label }} {{ request.remote_user }}"
    app.get("/")(lambda: render_template_string(names))
    shown = app.test_client().get("/", headers=bearer(app.wsgi_app, user))
    assert shown.text == f"ada@example.org {user.username}"


def test_the_proxy_is_a_user_or_none(app, client, headers):
    @app.get("/")
    def home():
        return {
            "is_user": isinstance(current_user, User),
            "is_none": current_user == None,  # noqa: E711 - `is` is never true of a proxy
            "is_true": bool(current_user),
        }

    assert client.get("/", headers=headers).json == {
        "is_user": True,
        "is_none": False,
        "is_true": True,
    }
    assert client.get("/").json == {"is_user": False, "is_none": True, "is_true": False}


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        pytest.param(bool, False, id="bool"),
        pytest.param(lambda user: f"by {user}", "by None", id="f-string"),
        pytest.param(lambda user: f"by {user!r}", "by None", id="repr"),
        pytest.param(lambda user: user == None, True, id="equality"),  # noqa: E711 - as above
        pytest.param(lambda user: isinstance(user, User), False, id="class"),
        pytest.param(lambda user: getattr(user, "id", 0), 0, id="attribute"),
    ],
)
def test_outside_a_request_there_is_no_user(app, use, expected):
    assert use(current_user) == expected
    with app.app_context():
        assert use(current_user) == expected


def test_outside_a_request_a_guard_is_an_error():
    with pytest.raises(RuntimeError, match="was used outside of a request"):
        login_required(lambda: "")()


@pytest.mark.parametrize("use", [bool, str, lambda user: user.id])
def test_without_the_middleware_every_use_is_an_error(use):
    with (
        flask.Flask(__name__).test_request_context(),
        pytest.raises(MiddlewareMissingError, match="did not pass through WSGIAuth"),
    ):
        use(current_user)


def test_a_request_that_a_test_makes_itself_has_no_user(app):
    with app.test_request_context(), pytest.raises(MiddlewareMissingError, match="a test makes"):
        bool(current_user)


PAGE = "{% if current_user %}{{ current_user.username }}{% else %}-{% endif %}"


def test_templates_know_the_user(app, client, headers):
    app.get("/")(lambda: render_template_string(PAGE + "{{ current_user is none }}"))
    assert client.get("/", headers=headers).text == "adaFalse"
    assert client.get("/").text == "-True"


def test_templates_outside_a_request_know_no_user(app):
    with app.app_context():
        assert render_template_string(PAGE + "{{ current_user is none }}") == "-True"


@pytest.mark.parametrize(
    ("change", "user"),
    [
        ({"username": "augusta"}, "augusta"),
        ({"is_active": False}, None),
        ({"hashed_password": "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqz"}, None),
    ],
    ids=["a new name", "a deactivation", "a new password"],
)
def test_the_next_request_knows_of(change, user, who, ada, headers):
    assert who(headers) == "ada"
    for name, value in change.items():
        setattr(ada, name, value)
    ada.save()
    assert who(headers) == user


def test_the_next_request_knows_of_a_deletion(who, ada, headers):
    assert who(headers) == "ada"
    ada.delete_instance()
    assert who(headers) is None


# After a logout, nobody


@pytest.mark.promise(62)
def test_after_a_logout_the_next_request_of_the_client_is_anonymous(app, who, client, headers):
    assert who(headers) == "ada"
    assert client.post("/auth/logout", headers=headers).status_code == 200
    assert who(headers) is None


@pytest.mark.promise(62)
def test_a_client_that_keeps_its_contexts_has_the_user_of_its_last_request(app, headers):
    app.get("/who")(whoami)
    with app.test_client() as client:
        client.get("/who", headers=headers)
        assert current_user.username == "ada"
        client.get("/who")
        assert not current_user
    assert not current_user


@pytest.mark.promise(62)
def test_a_view_that_logs_in_and_out_sees_it_at_once(app, client, ada):
    @app.post("/in")
    def enter():
        sent = log_in(request.environ, User.objects.get(username="ada"))
        return whoami(), sent

    @app.post("/out")
    @login_required
    def leave():
        sent = log_out(request.environ)
        return whoami(), sent

    app.get("/who")(whoami)
    assert client.post("/in", headers=SAME_ORIGIN).json == {"user": "ada"}
    assert client.get("/who").json == {"user": "ada"}
    assert client.post("/out", headers=SAME_ORIGIN).json == {"user": None}
    assert client.get("/who").json == {"user": None}


@pytest.mark.promise(62)
def test_a_thread_with_the_context_of_a_request_has_its_user_and_leaves_nothing(app, who, headers):
    seen, is_over = [], threading.Event()

    @app.get("/start")
    def start():
        @flask.copy_current_request_context
        def work():
            is_over.wait()
            seen.append(current_user.username)

        def begin():
            work()
            seen.append("a user" if current_user else "and then nobody")

        threads.append(threading.Thread(target=begin))
        threads[0].start()
        return {}

    threads = []
    app.test_client().get("/start", headers=headers)
    assert who() is None
    is_over.set()
    threads[0].join()
    assert seen == ["ada", "and then nobody"]


def test_a_streamed_response_has_the_user_of_its_request(app, client, headers):
    @app.get("/")
    def stream():
        return app.response_class(
            stream_with_context(current_user.username for _ in range(2)), mimetype="text/plain"
        )

    @app.teardown_request
    def note(error):
        noted.append(current_user.username if current_user else None)

    noted = []
    assert client.get("/", headers=headers).text == "adaada"
    assert set(noted) == {"ada"}  # once or twice, with the version of Flask


@pytest.mark.promise(62)
def test_an_api_key_has_only_its_own_permissions(app, client, ada):
    ada.is_superuser = ada.is_staff = True
    ada.save()
    ada.grant("reports.read", "reports.write")

    @app.get("/")
    @permission_required("reports.read")
    def home():
        return {
            "write": current_user.has_permission("reports.write"),
            "flags": [current_user.is_superuser, current_user.is_staff],
            "groups": [each.name for each in current_user.groups],
        }

    ada.join(Group.objects.create(name="editors"))
    key = api_key(app.wsgi_app, ada, ["reports.read"])
    assert client.get("/", headers=key).json == {
        "write": False,
        "flags": [False, False],
        "groups": [],
    }
    other = api_key(app.wsgi_app, ada, ["reports.write"])
    refused = client.get("/", headers=other)
    assert (refused.status_code, refused.json["code"]) == (403, "insufficient_scope")


# Guards of views


@login_required
class Guarded(MethodView):
    def get(self):
        return whoami()


class Inheriting(Guarded):
    decorators = ()

    def get(self):
        return whoami()


class Decorated(View):
    decorators = (login_required,)

    def dispatch_request(self):
        return whoami()


class Methods(MethodView):
    @login_required
    def get(self):
        return whoami()

    @permission_required("reports.publish")
    async def put(self):
        return whoami()


@login_required
def plain():
    return whoami()


@login_required()
async def asynchronous():
    return whoami()


def of_class(view_class):
    return view_class.as_view("view")


@pytest.fixture(
    params=[plain, asynchronous, *map(of_class, (Guarded, Inheriting, Decorated, Methods))],
    ids=["function", "async", "class", "subclass", "decorators", "method"],
)
def view(request, app):
    app.add_url_rule("/account", view_func=request.param, endpoint="account")


def test_a_guarded_view_is_for_users(view, client, headers):
    assert client.get("/account", headers=headers).json == {"user": "ada"}


def test_a_class_has_the_guards_of_all_its_bases(app, client, ada, headers):
    @permission_required("reports.publish")
    class Publishing(MethodView):
        def put(self):
            return "published"

    class Both(Guarded, Publishing):
        """Its first base is for users alone."""

    app.add_url_rule("/both", view_func=Both.as_view("both"))
    assert client.put("/both", headers=headers).status_code == 403
    ada.grant("reports.publish")
    assert client.put("/both", headers=headers).text == "published"
    assert client.put("/both").status_code == 401


def test_a_browser_is_sent_to_log_in_and_back(view, app, ada):
    client = app.test_client()
    refused = client.get("/account?tab=2", headers=BROWSER)
    assert (refused.status_code, refused.location) == (302, "/auth/login?next=%2Faccount%3Ftab%3D2")
    assert logged_in(app.wsgi_app, ada).get("/account").json == {"user": "ada"}


def test_a_program_is_asked_for_a_token(view, client):
    for method in (client.get, client.head):
        refused = method("/account")
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert client.get("/account").json["code"] == "unauthenticated"


def test_the_login_page_is_where_the_mount_puts_it():
    app = make_app(mount="/members")
    app.get("/account")(plain)
    assert app.test_client().get("/account", headers=BROWSER).location.startswith("/members/login?")


def test_htmx_opens_the_login_page(app, client):
    app.get("/account")(plain)
    htmx = {**BROWSER, "HX-Request": "true", "HX-Current-URL": "http://localhost/list"}
    refused = client.get("/account", headers=htmx)
    assert refused.status_code == 401
    assert refused.headers["HX-Redirect"].startswith("/auth/login?next=%2Flist")


def test_a_permission_is_needed(app, client, ada, headers):
    app.add_url_rule("/", view_func=Methods.as_view("methods"))
    refused = client.put("/", headers=headers)
    assert (refused.status_code, refused.json["code"]) == (403, "forbidden")
    ada.grant("reports.publish")
    assert client.put("/", headers=headers).json == {"user": "ada"}
    ada.revoke("reports.publish")
    assert client.put("/", headers=headers).status_code == 403
    assert client.put("/").status_code == 401


def test_a_recent_proof_and_a_second_factor_can_be_needed(app, client, ada):
    app.get("/fresh")(login_required(fresh=True)(lambda: "fresh"))
    app.get("/factor", endpoint="factor")(login_required(second_factor=True)(lambda: "factor"))
    old = bearer(app.wsgi_app, ada, confirmed_minutes_ago=60)
    assert client.get("/fresh", headers=old).status_code == 401
    assert client.get("/fresh", headers=bearer(app.wsgi_app, ada)).text == "fresh"
    assert client.get("/factor", headers=bearer(app.wsgi_app, ada)).status_code == 401
    add_authenticator(app.wsgi_app, ada)
    assert client.get("/factor", headers=bearer(app.wsgi_app, ada)).text == "factor"


@pytest.mark.promise(96)
def test_a_session_that_lacks_something_is_nobody(app, client, ada):
    ada.grant("reports.publish")
    app.get("/who")(lambda: str(current_user and current_user.username))
    app.get("/mine", endpoint="mine")(login_required(lambda: "mine"))
    app.get("/reports", endpoint="reports")(permission_required("reports.publish")(lambda: "r"))
    with demanded(app.wsgi_app, Badge()):
        lacking = bearer(app.wsgi_app, ada, badge=False)
        assert "ada" not in client.get("/who", headers=lacking).text
        browser = logged_in(app.wsgi_app, ada, badge=False)
        for path in ("/mine", "/reports"):
            refused = client.get(path, headers=lacking)
            assert (refused.status_code, refused.json["code"]) == (403, BADGE)
            led = browser.get(path, headers=BROWSER, status=302)
            assert led.location == f"/auth/badge?next=%2F{path[1:]}"
        assert client.get("/mine", headers=bearer(app.wsgi_app, ada)).text == "mine"


def test_handlers_of_the_app_get_the_refusal(app, client, ada, headers):
    app.get("/")(permission_required("reports.publish")(lambda: ""))

    @app.errorhandler(401)
    @app.errorhandler(403)
    def refuse(error):
        response = error.get_response()
        response.data = json.dumps({"of the app": response.json["code"]})
        return response

    refused = client.get("/", headers=headers)
    assert (refused.status_code, refused.json) == (403, {"of the app": "forbidden"})
    refused = client.get("/")
    assert (refused.status_code, refused.json) == (401, {"of the app": "unauthenticated"})
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert client.get("/", headers=BROWSER).status_code == 302


def test_abort_is_the_challenge_if_that_is_asked_for():
    app = make_app(challenge=True)
    app.get("/")(lambda: abort(HTTPStatus.UNAUTHORIZED))
    assert app.test_client().get("/", headers=BROWSER).location == "/auth/login?next=%2F"


@pytest.mark.parametrize(
    "no_view",
    [None.__class__, 7, flask.Blueprint("b", __name__), flask.Flask(__name__), dict],
    ids=["class", "number", "blueprint", "app", "another class"],
)
def test_what_is_no_view_is_refused(no_view):
    with pytest.raises(TypeError, match="A guard needs a view"):
        login_required(no_view)


@pytest.mark.parametrize(
    "view", [Methods().get, functools.partial(whoami)], ids=["bound", "partial"]
)
def test_any_callable_is_a_view(view, app, client, headers):
    app.add_url_rule("/", "view", login_required(view))
    assert client.get("/", headers=headers).json == {"user": "ada"}
    assert client.get("/").status_code == 401


def test_a_wrong_permission_is_refused():
    with pytest.raises(ValueError, match="must have the form"):
        permission_required(whoami)
    with pytest.raises(ValueError, match="must have the form"):
        guard_blueprint(flask.Blueprint("b", __name__), "publish")


def test_a_guard_in_an_app_without_the_middleware_is_an_error():
    app = flask.Flask(__name__)
    app.testing = True
    app.get("/")(plain)
    with pytest.raises(MiddlewareMissingError, match=r"The guard of <function plain .*WSGIAuth"):
        app.test_client().get("/")


# A guard above the route


def above_the_route(app):
    @login_required
    @app.get("/secret")
    def secret():
        return "secret"


def above_the_route_of_a_blueprint(app):
    blueprint = flask.Blueprint("members", __name__)

    @permission_required("reports.read")
    @blueprint.get("/secret")
    def secret():
        return "secret"

    app.register_blueprint(blueprint)


def above_another_guard_and_the_route(app):
    @login_required(fresh=True)
    @app.get("/secret")
    @login_required
    def secret():
        return "secret"


@pytest.mark.parametrize(
    "make", [above_the_route, above_the_route_of_a_blueprint, above_another_guard_and_the_route]
)
def test_a_guard_above_the_route_fails_every_request(make, app, client, headers):
    app.get("/")(whoami)
    make(app)
    for path in ("/secret", "/"):
        with pytest.raises(ConfigurationError, match="secret' has lost its guard"):
            client.get(path, headers=headers)


def test_a_function_can_have_a_guarded_route_and_another(app, client):
    def news():
        return "news"

    app.get("/news")(news)
    app.get("/members/news", endpoint="members")(login_required(news))
    assert client.get("/news").text == "news"
    assert client.get("/members/news").status_code == 401


def test_another_app_can_have_the_guarded_route(app, client):
    def news():
        return "news"

    members = make_app()
    members.get("/news")(login_required(news))
    app.get("/news")(news)
    assert client.get("/news").text == "news"
    assert members.test_client().get("/news").status_code == 401


# Blueprints


@pytest.fixture
def members(app):
    """Return a guarded blueprint with another one in it, registered; the order of its calls."""
    calls = []
    outer = flask.Blueprint(
        "members", __name__, url_prefix="/members", static_folder=".", static_url_path="/static"
    )
    inner = flask.Blueprint("inner", __name__, url_prefix="/inner")
    outer.before_request(lambda: calls.append("before"))
    guard_blueprint(outer, "site.enter")
    outer.get("/news")(whoami)
    outer.get("/broken", endpoint="broken")(lambda: 1 / 0)
    outer.errorhandler(ZeroDivisionError)(lambda error: ("handled", 418))
    inner.get("/news")(whoami)
    outer.register_blueprint(inner)
    app.register_blueprint(outer)
    return calls


@pytest.mark.parametrize(
    "path", ["/members/news", "/members/inner/news", "/members/static/__init__.py"]
)
def test_everything_in_a_guarded_blueprint_is_guarded(path, members, client, ada, headers):
    assert client.get(path).status_code == 401
    assert client.get(path, headers=BROWSER).status_code == 302
    assert client.get(path, headers=headers).status_code == 403
    assert members == []
    ada.grant("site.enter")
    with client.get(path, headers=headers) as answer:
        assert answer.status_code == 200
    assert members == ["before"]


@pytest.mark.promise(21)
def test_no_shared_cache_keeps_the_files_of_a_guarded_blueprint(app, members, client, ada, headers):
    ada.grant("site.enter")
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 60
    with client.get("/members/static/__init__.py", headers=headers) as answer:
        said = set(answer.headers["Cache-Control"].split(", "))
    assert said == {"private", "max-age=60"}
    news = client.get("/members/news", headers=headers)
    assert news.headers["Cache-Control"] == "private"


def test_errors_of_a_guarded_blueprint_are_its_own(members, client, ada, headers):
    ada.grant("site.enter")
    assert client.get("/members/broken", headers=headers).status_code == 418
    assert client.get("/members/broken").status_code == 401
    assert client.get("/members/nothing").status_code == 404


def test_a_blueprint_that_is_registered_can_no_longer_be_guarded(app):
    blueprint = flask.Blueprint("members", __name__)
    app.register_blueprint(blueprint)
    with pytest.raises(AssertionError, match="already been registered"):
        guard_blueprint(blueprint)


def test_an_app_is_no_blueprint(app):
    with pytest.raises(TypeError, match="pass `public` to WSGIAuth"):
        guard_blueprint(app)


# The app


def test_an_app_can_be_closed_but_for_public_paths(ada, app):
    app = make_app(public=("/",))
    app.get("/")(whoami)
    app.get("/other", endpoint="other")(whoami)
    client = app.test_client()
    assert client.get("/").json == {"user": None}
    assert client.get("/other").status_code == 401
    assert client.get("/static/none.css").status_code == 401


def test_the_middleware_is_an_extension_of_the_app(app):
    assert app.extensions["wsgiauth"] is app.wsgi_app


def test_several_apps_share_the_object_and_nothing_else():
    auth = WSGIAuth(mount="/members")
    apps = []
    for _ in range(2):
        apps.append(flask.Flask(__name__))
        apps[-1].config.from_object(make_settings())
        auth.init_app(apps[-1])
        apps[-1].get("/")(whoami)
    headers = bearer(apps[0].wsgi_app, make_user(apps[0].wsgi_app))
    assert apps[0].test_client().get("/", headers=headers).json == {"user": "ada"}
    assert apps[1].test_client().get("/", headers=headers).json == {"user": None}


def test_accounts_twice_are_refused(app):
    with pytest.raises(ConfigurationError, match="WSGIAuth of Flask adds one, too"):
        WSGIAuth(app)


# Settings


@pytest.fixture
def environment(monkeypatch):
    """Set the environment of a site in it."""
    for name, value in vars(make_settings(SITE_NAME="of the environment")).items():
        if isinstance(value, str):
            monkeypatch.setenv(name, value)


def site_name(app):
    return app.wsgi_app.site.settings.SITE_NAME


def test_a_setting_is_a_keyword_else_in_the_config_else_in_the_environment(environment):
    app = flask.Flask(__name__)
    WSGIAuth(app)
    assert site_name(app) == "of the environment"
    app = flask.Flask(__name__)
    app.config["SITE_NAME"] = "of the config"
    WSGIAuth(app)
    assert site_name(app) == "of the config"
    app = flask.Flask(__name__)
    app.config["SITE_NAME"] = "of the config"
    WSGIAuth(app, SITE_NAME="of the keyword")
    assert site_name(app) == "of the keyword"


def test_a_misspelt_setting_in_the_config_is_warned_of(environment, caplog):
    app = flask.Flask(__name__)
    WSGIAuth(app)
    assert "is not a setting" not in caplog.text
    app = flask.Flask(__name__)
    app.config["REGISTRATON"] = False
    WSGIAuth(app)
    assert "REGISTRATON is not a setting and is ignored" in caplog.text


def test_a_none_in_the_config_means_unset(environment):
    app = flask.Flask(__name__)
    app.config["SITE_NAME"] = None
    WSGIAuth(app)
    assert site_name(app) is None


def test_a_short_key_of_flask_is_refused(environment):
    app = flask.Flask(__name__)
    app.secret_key = "dev"
    with pytest.raises(ConfigurationError, match="SECRET_KEY must"):
        WSGIAuth(app)


def test_a_good_key_of_flask_is_used(environment):
    app = flask.Flask(__name__)
    app.secret_key = make_settings().SECRET_KEY
    WSGIAuth(app)
    assert app.secret_key == app.wsgi_app.site.settings.SECRET_KEY


def test_unknown_arguments_and_settings_are_refused():
    with pytest.raises(TypeError, match="no_such"):
        make_app(no_such=1)
    with pytest.raises(ConfigurationError, match="NO_SUCH: wsgiauth has no setting with this name"):
        make_app(NO_SUCH=1)


def test_a_keyword_can_be_a_setting_of_a_feature(environment):
    app = flask.Flask(__name__)
    app.config["FEATURES"] = "tests.support.badges.feature:FEATURE"
    WSGIAuth(app, BADGES_COLOURS=7)
    assert app.wsgi_app.site.settings.BADGES_COLOURS == 7


# What is Flask's own


@pytest.mark.promise(63)
def test_flasks_session_stays_as_it_is(app, ada):
    app.add_url_rule("/put", view_func=lambda: session.update(cart="tea") or "", endpoint="put")
    app.add_url_rule("/cart", view_func=lambda: session.get("cart", "-"), endpoint="cart")
    browser = logged_in(app.wsgi_app, ada)
    browser.get("/put")
    browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert browser.get("/cart").text == "tea"


def test_a_person_logs_in_by_the_page(app):
    make_user(app.wsgi_app, "grace", password=PASSWORD)
    app.get("/account")(plain)
    client = app.test_client()
    form = {"username": "grace", "password": PASSWORD, "next": "/account"}
    sent = client.post("/auth/login", data=form, headers=SAME_ORIGIN)
    assert (sent.status_code, sent.location) == (303, "/account")
    assert client.get("/account").json == {"user": "grace"}


# Async views


async def ask_permission():
    return {"may": current_user.has_permission("reports.read")}


def assert_answers(app, times=3):
    headers, client = bearer(app.wsgi_app), app.test_client()
    for _ in range(times):
        assert client.get("/async", headers=headers).json == {"may": False}


@pytest.fixture
def pooled(tmp_path):
    """Return an app whose pool has a single connection."""
    tmp_path.chmod(0o700)
    url = f"sqlite+pool:///{tmp_path}/accounts.db?max_connections=1"
    app = make_app(settings=make_settings(DATABASE_URL=url))
    app.get("/async")(ask_permission)
    yield app
    app.wsgi_app.database.close_all()


def test_an_async_view_returns_its_connection_to_the_pool(pooled):
    assert_answers(pooled)


def test_an_async_view_leaves_no_transaction_open(pooled, caplog):
    @pooled.get("/begin")
    async def begin():
        pooled.wsgi_app.database.begin()
        return {}

    assert pooled.test_client().get("/begin").json == {}
    assert "left a transaction open" in caplog.text
    assert_answers(pooled)


def test_an_app_can_run_its_coroutines_itself():
    class App(flask.Flask):
        def async_to_sync(self, function):
            return lambda *args: asyncio.run(function(*args))

    app = App(__name__)
    app.config.from_object(make_settings())
    WSGIAuth(app)
    app.get("/async")(ask_permission)
    assert_answers(app)
