"""A room for each organisation at /rooms/SLUG, and a vault for its admins at /vaults/SLUG."""

from wsgi_accounts_organisations import organisation_required

from wsgiauth import AuthMiddleware


def slug_of(environ):
    return environ["PATH_INFO"].rpartition("/")[2]


@organisation_required(slug_of, redirect_url="/auth/login")
def room(environ, start_response):
    membership = environ["organisations.membership"]
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{membership.name}: you are {membership.role}\n".encode()]


vault = organisation_required(slug_of, role="admin", redirect_url="/auth/login")(room)


def rooms(environ, start_response):
    view = vault if environ["PATH_INFO"].startswith("/vaults/") else room
    return view(environ, start_response)


application = AuthMiddleware(rooms)
