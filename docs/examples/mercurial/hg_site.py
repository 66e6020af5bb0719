"""hgweb for users who can pull, or pull and push."""

from mercurial.hgweb import hgweb

from wsgiauth import AuthMiddleware, permission_required

repositories = hgweb(b"hgweb.config")
push = permission_required("code.push")(repositories)


def site(environ, start_response):
    app = repositories if environ["REQUEST_METHOD"] in ("GET", "HEAD") else push
    return app(environ, start_response)


application = AuthMiddleware(site, require="code.pull")
