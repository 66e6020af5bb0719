"""Radicale for users who can read, or read and write, their calendars."""

import radicale
import radicale.config

from wsgiauth import AuthMiddleware, permission_required

READING = ("GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT")
SETTINGS = {
    "auth": {"type": "remote_user"},
    "rights": {"type": "owner_only"},
    "storage": {"filesystem_folder": "calendars"},
    "web": {"type": "none"},
}
configuration = radicale.config.load()
configuration.update(SETTINGS)
calendars = radicale.Application(configuration)
change = permission_required("calendar.write")(calendars)


def site(environ, start_response):
    environ["REMOTE_USER"] = str(environ["wsgiauth.user"].id)  # also of an API key
    app = calendars if environ["REQUEST_METHOD"] in READING else change
    return app(environ, start_response)


application = AuthMiddleware(site, require="calendar.read")
