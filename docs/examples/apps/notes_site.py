from webob import Response
from webob.dec import wsgify
from webob.exc import HTTPNotFound
from webob.static import FileApp

from wsgiauth import AuthMiddleware, login_required

NOTES = {}  # by the id of the user


@login_required
@wsgify
def notes(request):
    own = NOTES.setdefault(request.user.id, [])
    if request.method == "POST":
        own.append(request.json["text"])
    return Response(json=own)


VIEWS = {
    "/": FileApp("app.html"),
    "/app.js": FileApp("app.js"),
    "/account.js": FileApp("cookie.js"),
    "/notes": notes,
}


def site(environ, start_response):
    view = VIEWS.get(environ["PATH_INFO"], HTTPNotFound())
    return view(environ, start_response)


application = AuthMiddleware(site)
