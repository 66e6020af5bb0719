"""Extensions of Flask beside the adapter: Flask-SocketIO, Flask-DebugToolbar and Flask-WTF.

The tests of docs/flask.md have Flask-Admin, and a ticket for Flask-SocketIO.
"""

import flask
import pytest

from tests.conftest import require
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth import current_user as environ_user
from wsgiauth.contrib.flask import WSGIAuth, current_user, login_required
from wsgiauth.exceptions import ConfigurationError, MiddlewareMissingError
from wsgiauth.testing import bearer, logged_in, make_settings

POLLING = "/socket.io/?EIO=4&transport=polling"


@pytest.fixture
def app():
    app = flask.Flask(__name__)
    app.config.from_object(make_settings())
    return app


@pytest.fixture
def sockets():
    """Return a Flask-SocketIO whose events note what they know of the user, and those notes."""
    require("flask_socketio")
    from flask_socketio import SocketIO

    sockets, notes = SocketIO(async_mode="threading", logger=False), []

    @sockets.on("connect")
    def connect(auth):
        for ask in (lambda: bool(current_user), login_required(lambda: "")):
            with pytest.raises(MiddlewareMissingError, match="Events of Flask-SocketIO"):
                ask()
        with pytest.raises(MiddlewareMissingError):
            environ_user(flask.request.environ)
        notes.append("connected")

    return sockets, notes


def connect_by_polling(client, headers):
    """Connect as a client does whose requests all carry a login."""
    opened = flask.json.loads(client.get(POLLING, headers=headers).text[1:])
    client.post(f"{POLLING}&sid={opened['sid']}", data="40", headers=headers)


@pytest.mark.promise(62)
def test_events_of_sockets_have_no_user(app, sockets):
    sockets, notes = sockets
    WSGIAuth(app)
    sockets.init_app(app)
    app.get("/")(login_required(lambda: current_user.username))
    headers = bearer(app.extensions["wsgiauth"])
    assert app.test_client().get("/", headers=headers).text == "ada"
    connect_by_polling(app.test_client(), headers)
    sockets.test_client(app, flask_test_client=app.test_client(), headers=headers)
    assert notes == ["connected", "connected"]


def test_sockets_before_the_middleware_are_refused(app, sockets):
    sockets[0].init_app(app)
    with pytest.raises(ConfigurationError, match="Call WSGIAuth before SocketIO"):
        WSGIAuth(app)


@pytest.mark.parametrize("gate", [{"public": ("/",)}, {"require": "site.enter"}], ids=str)
def test_sockets_that_a_gate_cannot_protect_are_refused(gate, app, sockets):
    sockets, notes = sockets
    WSGIAuth(app, **gate)
    sockets.init_app(app)
    with pytest.raises(ConfigurationError, match="cannot protect them"):
        sockets.test_client(app)
    assert notes == []


def test_the_debug_toolbar_works(app):
    require("flask_debugtoolbar")
    from flask_debugtoolbar import DebugToolbarExtension

    app.debug = True
    app.config["DEBUG_TB_INTERCEPT_REDIRECTS"] = False
    WSGIAuth(app)
    DebugToolbarExtension(app)
    page = "<html><body>{{ current_user.username }}</body></html>"
    app.get("/")(login_required(lambda: flask.render_template_string(page)))
    with_toolbar = logged_in(app.wsgi_app).get("/")
    assert "<body>ada" in with_toolbar
    assert "flDebug" in with_toolbar
    assert app.test_client().get("/", headers=BROWSER).location == "/auth/login?next=%2F"


@pytest.mark.promise(63)
def test_flask_wtf_still_asks_for_its_token(app):
    require("flask_wtf")
    from flask_wtf.csrf import CSRFProtect

    WSGIAuth(app)
    CSRFProtect(app)
    form = '<form method="post"><input name="csrf_token" value="{{ csrf_token() }}"></form>'
    app.get("/")(lambda: flask.render_template_string(form))
    app.post("/", endpoint="send")(login_required(lambda: current_user.username))
    browser = logged_in(app.wsgi_app)
    browser.post("/", headers=SAME_ORIGIN, status=400)
    assert browser.get("/").form.submit(headers=SAME_ORIGIN).text == "ada"
