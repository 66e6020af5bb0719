"""`flask_login_before.py` with wsgiauth."""

from flask import Flask, render_template_string

from wsgiauth.contrib.flask import WSGIAuth, login_required

app = Flask(__name__)
WSGIAuth(app)


@app.get("/account")
@login_required
def account():
    return render_template_string("Hello, {{ current_user.username }}!")
