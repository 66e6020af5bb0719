"""sqlite-web for users with one permission."""

import os
import sqlite3

from sqlite_web.sqlite_web import app, initialize_app

from wsgiauth import AuthMiddleware


class OneFile(sqlite3.Connection):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


def open_only_this_file(database):
    database.init(database.database, factory=OneFile)


initialize_app(["library.db"], startup_hook=open_only_this_file)
app.secret_key = os.urandom(32)
application = AuthMiddleware(app, require="library.browse")
