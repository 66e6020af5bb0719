"""Flask-SocketIO with a ticket for the connection, which a guarded view gives."""

import os

from flask import Flask, abort, request, session
from flask_socketio import ConnectionRefusedError, SocketIO, emit
from itsdangerous import BadSignature, URLSafeTimedSerializer

from wsgiauth.contrib.flask import WSGIAuth, current_user, login_required

app = Flask(__name__)
app.secret_key = os.environ["SECRET_KEY"]
WSGIAuth(app)
socketio = SocketIO(app)
tickets = URLSafeTimedSerializer(app.secret_key, salt="socket ticket")


@app.post("/ticket")
@login_required
def ticket():
    if request.environ["wsgiauth.key"]:
        abort(403)  # an event would not know what an API key is limited to
    return {"ticket": tickets.dumps(current_user.id)}


@socketio.on("connect")
def connect(auth):
    sent = auth.get("ticket") if isinstance(auth, dict) else None
    try:
        session["user_id"] = tickets.loads(str(sent), max_age=30)  # seconds
    except BadSignature:
        raise ConnectionRefusedError("Get a ticket first.") from None


@socketio.on("whoami")
def whoami():
    emit("you", session["user_id"])  # the session of this connection
