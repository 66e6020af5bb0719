from html import escape

from webob.dec import wsgify
from webob.static import FileApp

from wsgiauth import AuthMiddleware

PAGE = """<!doctype html>
<title>Notes</title>
<script src="/static/htmx.min.js"></script>
<button hx-get="/latest" hx-target="#latest">Show the latest note</button>
<form hx-post="/notes" hx-target="#latest"><input name="text"><button>Save</button></form>
<p id="latest"></p>
<a href="/archive" hx-boost="true">Archive</a>
<a href="/auth/account">Your account</a>
"""
NOTES = ["none yet"]


@wsgify
def site(request):
    if request.path_info == "/static/htmx.min.js":
        return FileApp("htmx.min.js")
    if request.path_info == "/notes" and request.method == "POST":
        NOTES.append(request.POST["text"])
    return escape(NOTES[-1]) if request.path_info in ("/latest", "/notes") else PAGE


application = AuthMiddleware(site, public=("/static/",))
