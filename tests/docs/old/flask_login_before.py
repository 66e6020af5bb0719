"""A site with Flask-Login, a login page, a logout and one page for users."""

import os

from flask import Flask, flash, redirect, render_template_string, request, url_for
from flask_bcrypt import Bcrypt
from flask_login import LoginManager, UserMixin, login_required, login_user, logout_user
from sqlalchemy import MetaData, Table, create_engine, select

app = Flask(__name__)
app.secret_key = os.environ["SECRET_KEY"]
bcrypt = Bcrypt(app)
login_manager = LoginManager(app)
login_manager.login_view = "login"
engine = create_engine(os.environ["OLD_DATABASE_URL"])
users = Table("users", MetaData(), autoload_with=engine)

LOGIN = """
{% for message in get_flashed_messages() %}<p>{{ message }}</p>{% endfor %}
<form method="post">
  <input name="username"> <input name="password" type="password">
  <button>Log in</button>
</form>
"""


class Account(UserMixin):
    def __init__(self, row):
        self.id = row.id
        self.username = row.username
        self.password_hash = row.password_hash
        self.active = row.active

    @property
    def is_active(self):
        return self.active


def find_account(condition):
    with engine.connect() as connection:
        row = connection.execute(select(users).where(condition)).first()
    return Account(row) if row else None


@login_manager.user_loader
def load_user(user_id):
    return find_account(users.c.id == int(user_id))


@app.route("/login", methods=["GET", "POST"])
def login():
    if request.method == "POST":
        user = find_account(users.c.username == request.form["username"])
        if user and bcrypt.check_password_hash(user.password_hash, request.form["password"]):
            login_user(user)
            return redirect(url_for("account"))
        flash("Wrong name or password.")
    return render_template_string(LOGIN)


@app.post("/logout")
@login_required
def logout():
    logout_user()
    return redirect(url_for("login"))


@app.get("/account")
@login_required
def account():
    return render_template_string("Hello, {{ current_user.username }}!")
