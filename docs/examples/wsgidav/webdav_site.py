"""WsgiDAV for users who can read, or read and write."""

from webob.dec import wsgify
from webob.exc import HTTPForbidden
from wsgidav.wsgidav_app import WsgiDAVApp

from wsgiauth import AuthMiddleware

READING = ("GET", "HEAD", "OPTIONS", "PROPFIND")
USERS = {"trusted_auth_header": "REMOTE_USER", "accept_basic": False, "accept_digest": False}
files = WsgiDAVApp(
    {
        "provider_mapping": {"/": "files"},
        "http_authenticator": USERS,
        "simple_dc": {"user_mapping": {"*": {"unused": {}}}},  # otherwise, it asks for no user
    }
)


@wsgify
def site(request):
    if request.method not in READING and not request.user.has_permission("files.write"):
        raise HTTPForbidden
    request.remote_user = str(request.user.id)  # also of an API key
    response = request.get_response(files)
    response.headers["Content-Security-Policy"] = "sandbox allow-downloads"
    return response


application = AuthMiddleware(site, require="files.read", permissions=("files.write",))
