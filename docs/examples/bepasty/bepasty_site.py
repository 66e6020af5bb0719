"""bepasty with the permissions of wsgiauth's users."""

from pathlib import Path

from bepasty.app import create_app
from bepasty.config import Config
from bepasty.utils.permissions import permission_icons as icons
from flask import g, redirect, request, template_rendered

from wsgiauth import AuthMiddleware

Path("pastes").mkdir(exist_ok=True)
Config.STORAGE_FILESYSTEM_DIRECTORY = "pastes"
app = create_app()


@app.before_request  # after bepasty's own, which reads them from its session
def use_permissions():
    user = request.environ["wsgiauth.user"]
    g.permissions = [each for each in icons if user.has_permission(f"pastes.{each}")]
    g.icon_permissions = [(each, icons[each]) for each in g.permissions]
    g.logged_in = True  # shows the logout button instead of a password field


@template_rendered.connect_via(app)
def note_template(app, template, **_):
    g.template = template.name


@app.after_request  # a paste can be a page or, as a redirect, a link with a script
def forbid_scripts(response):
    if request.endpoint == "bepasty.inline" or g.get("template") == "redirect.html":
        response.headers["Content-Security-Policy"] = "sandbox"
    return response


app.view_functions["bepasty.logout"] = lambda: redirect("/auth/logout", 307)
application = AuthMiddleware(app, public=(), permissions=[f"pastes.{each}" for each in icons])
