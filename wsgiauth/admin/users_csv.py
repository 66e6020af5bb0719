"""GET /auth/admin/users.csv: all users of a list as a file for spreadsheets, streamed."""

import csv
import io
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import chain, islice
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts.transfer import neutralize_formula
from wsgiauth.accounts.user_search import FoundUser, all_users
from wsgiauth.admin import PanelEndpoint, require_staff
from wsgiauth.admin.criteria import Query
from wsgiauth.site import Site
from wsgiauth.storage.models import json_fields
from wsgiauth.web.responses import Response

_ROWS = 500  # of one chunk of the file


class UsersCsv(PanelEndpoint):
    """Streams the users as RFC 4180 describes."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the file, whose rows are read while it is sent.

        The audit trail says who got it: without that event, there is no file.
        """
        require_staff(environ, site)
        query = Query.of(environ)
        chunks = _chunks(all_users(query.criteria))
        first = next(chunks)  # if the database fails, before the answer begins
        if environ["REQUEST_METHOD"] == "GET":  # HEAD gets no users
            events.emit("users_exported", reason=str(query))
        return Response(
            HTTPStatus.OK,
            content_type="text/csv; charset=utf-8; header=present",
            headers=(("Content-Disposition", 'attachment; filename="users.csv"'),),
            app_iter=chain([first], chunks),
        )


def _chunks(users: Iterator[FoundUser]) -> Iterator[bytes]:
    yield _encode([FoundUser._fields, *map(_cells, islice(users, _ROWS))])
    while rows := [_cells(each) for each in islice(users, _ROWS)]:
        yield _encode(rows)


def _cells(user: FoundUser) -> list[str]:
    return [_cell(value) for value in json_fields(user._asdict()).values()]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return neutralize_formula("" if value is None else str(value))


def _encode(rows: Iterable[Iterable[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
