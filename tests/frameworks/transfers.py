"""A site for each framework that streams without end at /stream and takes a file at /upload.

Each function makes one of a `Source`; the answer to an upload is what `receipt` says about it.
"""

import hashlib
import threading
from types import ModuleType

CHUNK = b"0123456789abcdef" * 4096


class Source:
    """What is streamed: how many chunks were asked for, and whether it was closed."""

    def __init__(self):
        self.asked = 0
        self.closed = threading.Event()

    def chunks(self):
        """Yield chunks until closed."""
        try:
            while True:
                self.asked += 1
                yield CHUNK
        finally:
            self.closed.set()


def receipt(user, data):
    """Say who sent what."""
    return f"{user.username} {hashlib.sha256(data).hexdigest()}"


def uploaded(request):
    """Return the file in a request of WebOb's; what that keeps, it leaves to us to close."""
    file = request.POST["file"].file
    with file, request.body_file_raw:
        return file.read()


def plain(source):
    from webob import Request, Response

    def site(environ, start_response):
        if environ["PATH_INFO"] == "/stream":
            start_response("200 OK", [("Content-Type", "application/octet-stream")])
            return source.chunks()
        data = uploaded(Request(environ))
        return Response(receipt(environ["wsgiauth.user"], data))(environ, start_response)

    return site


def flask(source):
    from flask import Flask, request

    app = Flask(__name__)
    app.get("/stream")(lambda: source.chunks())

    @app.post("/upload")
    def upload():
        return receipt(request.environ["wsgiauth.user"], request.files["file"].read())

    return app


def django(source):
    """Return a handler; the recipe has set Django up, and the test has `paths_of` in use."""
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def paths_of(source):
    """Return Django's paths, as a module."""
    from django.http import HttpResponse, StreamingHttpResponse
    from django.urls import path
    from django.views.decorators.csrf import csrf_exempt

    def stream(request):
        return StreamingHttpResponse(source.chunks())

    @csrf_exempt  # the program has a token, and no form of Django's
    def upload(request):
        return HttpResponse(receipt(request.user, request.FILES["file"].read()))

    paths = ModuleType("paths")
    paths.urlpatterns = [path("stream", stream), path("upload", upload)]
    return paths


def pyramid(source):
    from pyramid.config import Configurator
    from pyramid.response import Response

    def stream(request):
        return Response(app_iter=source.chunks())

    def upload(request):
        data = uploaded(request)
        return Response(receipt(request.identity, data))

    config = Configurator()
    config.include("wsgiauth.contrib.pyramid")
    for view in (stream, upload):
        config.add_route(view.__name__, f"/{view.__name__}")
        config.add_view(view, route_name=view.__name__)
    return config.make_wsgi_app()


def bottle(source):
    from bottle import Bottle, request

    app = Bottle()
    app.get("/stream", callback=lambda: source.chunks())

    @app.post("/upload")
    def upload():
        return receipt(request.user, request.files["file"].file.read())

    return app


def falcon(source):
    from falcon import App

    class Stream:
        def on_get(self, req, resp):
            resp.stream = source.chunks()

    class Upload:
        def on_post(self, req, resp):
            (data,) = (part.stream.read() for part in req.get_media())
            resp.text = receipt(req.env["wsgiauth.user"], data)

    app = App()
    app.add_route("/stream", Stream())
    app.add_route("/upload", Upload())
    return app


def cherrypy(source):
    import cherrypy

    class Site:
        @cherrypy.expose
        @cherrypy.config(**{"response.stream": True})
        def stream(self):
            return source.chunks()

        @cherrypy.expose
        def upload(self, file):
            user = cherrypy.request.wsgi_environ["wsgiauth.user"]
            with file.file:  # CherryPy leaves that to us
                return receipt(user, file.file.read())

    return cherrypy.Application(Site())
