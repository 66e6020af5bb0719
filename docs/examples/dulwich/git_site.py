"""dulwich for users who can pull, or pull and push."""

import os

from dulwich.server import FileSystemBackend
from dulwich.web import make_wsgi_chain

from wsgiauth import AuthMiddleware


class Repositories(FileSystemBackend):
    def open_repository(self, path):
        return super().open_repository(os.fsdecode(path).lstrip("/"))


repositories = Repositories("repositories")
pull = make_wsgi_chain(repositories, handlers={b"git-receive-pack": None})
push = make_wsgi_chain(repositories)


def git(environ, start_response):
    app = push if environ["wsgiauth.user"].has_permission("code.push") else pull
    return app(environ, start_response)


application = AuthMiddleware(git, require="code.pull", permissions=("code.push",))
