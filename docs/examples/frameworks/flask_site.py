"""Flask with wsgiauth: the current user, a protected view, and a protected path."""

from flask import Blueprint, Flask

from wsgiauth.contrib.flask import WSGIAuth, current_user, guard_blueprint, login_required

app = Flask(__name__)
WSGIAuth(app)
members = Blueprint("members", __name__, url_prefix="/members")
guard_blueprint(members)


@app.get("/")
def home():
    return {"user": current_user.label if current_user else None}


@app.get("/account")
@login_required
def account():
    return {"user": current_user.label}


@members.get("/news")
def news():
    return {"news": "for members"}


app.register_blueprint(members)
