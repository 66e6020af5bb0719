"""Uses the feature of docs/architecture.md, in a wsgiauth that has it; prints what it answers.

`tests/docs/test_architecture_page.py` runs this with a copy of the package in PYTHONPATH.
"""

import json
import sys

from webtest import TestApp

from wsgiauth import AuthMiddleware
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

PASSWORD = "four unrelated words"
HTML = {"Accept": "text/html"}


def view(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b""]


def main():
    app = AuthMiddleware(view, make_settings())
    ada = make_user(app, password=PASSWORD)
    browser, another = logged_in(app, ada), logged_in(app, ada)
    account = browser.get("/auth/account", headers=HTML)
    page = browser.get(account.html.find("a", href="/auth/lockdown")["href"], headers=HTML)
    answer = page.form.submit(headers={"Sec-Fetch-Site": "same-origin"})
    statuses = [each.get("/auth/me", status="*").status_int for each in (browser, another)]
    program = browser.post_json("/auth/lockdown", {}, headers=bearer(app, ada))
    locked = [answer.status_int, answer.location, statuses, program.json]
    json.dump([*locked, *log_in_again(app)], sys.stdout)


def log_in_again(app):
    """Return what the next session lacks, and its answers before and after a new password."""
    client = TestApp(app)
    token = client.post_json("/auth/login", {"username": "ada", "password": PASSWORD}).json
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    refused = client.get("/auth/keys", headers=headers, status="*")
    fields = {"current_password": PASSWORD, "new_password": "some more unrelated words"}
    renewed = client.post_json("/auth/password", fields, headers=headers).json
    headers = {"Authorization": f"Bearer {renewed['access_token']}"}
    admitted = client.get("/auth/keys", headers=headers, status="*")
    described = client.get("/auth/openapi.json").json["paths"]["/keys"]["get"]["responses"]["403"]
    lacking = [token["restriction"], refused.json["code"], described["$ref"].rpartition("/")[2]]
    return [lacking, [refused.status_int, admitted.status_int]]


if __name__ == "__main__":
    main()
