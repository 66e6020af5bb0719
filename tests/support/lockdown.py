"""Uses the feature of docs/architecture.md, in a wsgiauth that has it; prints what it answers.

`tests/docs/test_architecture_page.py` runs this with a copy of the package in PYTHONPATH.
"""

import json
import sys

from wsgiauth import AuthMiddleware
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

HTML = {"Accept": "text/html"}


def view(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b""]


def main():
    app = AuthMiddleware(view, make_settings())
    ada = make_user(app)
    browser, another = logged_in(app, ada), logged_in(app, ada)
    account = browser.get("/auth/account", headers=HTML)
    page = browser.get(account.html.find("a", href="/auth/lockdown")["href"], headers=HTML)
    answer = page.form.submit(headers={"Sec-Fetch-Site": "same-origin"})
    statuses = [each.get("/auth/me", status="*").status_int for each in (browser, another)]
    program = browser.post_json("/auth/lockdown", {}, headers=bearer(app, ada))
    json.dump([answer.status_int, answer.location, statuses, program.json], sys.stdout)


if __name__ == "__main__":
    main()
