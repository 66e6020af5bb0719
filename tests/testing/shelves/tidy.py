"""GET, POST /auth/shelf/tidy: the books that are overdue."""

import time

from shelves.tables import Book

from wsgiauth.extend import (
    Endpoint,
    json_response,
    problems_of_session,
    require_login,
    require_same_origin,
)
from wsgiauth.extend.openapi import SESSION


class Tidy(Endpoint):
    """Counts them for users, and lets everyone delete them."""

    def get(self, environ, site):
        """Count them."""
        require_login(environ, site)
        return json_response({"books": Book.select().where(is_overdue()).count()})

    def post(self, environ, site):
        """Delete them."""
        require_same_origin(environ, site)
        return json_response({"books": Book.delete().where(is_overdue()).execute()})

    def security(self, method):
        """Return the schemes of a session for GET."""
        return SESSION if method == "get" else ()

    def problems(self, method):
        """Return what `require_login` answers to GET."""
        of_session = problems_of_session(method) if method == "get" else ()
        return (*of_session, *super().problems(method))


def is_overdue():
    """Return the condition of books that are overdue."""
    return Book.expires_at < int(time.time())
