"""docs/user-data.md and docs/personal-data.md: their programs do what they say."""

import dataclasses
import json
import re
import runpy
from datetime import UTC, datetime

import pytest
from webtest import TestApp

from tests.docs.pages import PAGES, section
from tests.support.service_keys import write_key
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import Field, Group, User, storage, update_user
from wsgiauth.accounts.field_kinds import KINDS
from wsgiauth.accounts.registration import MAX_CHARACTERS, MAX_FIELDS
from wsgiauth.authentication.claims import MAX_DEPTH, RESERVED
from wsgiauth.authentication.id_claims import MAX_ID_CLAIMS, OF_THIS_SITE
from wsgiauth.feature import personal_data_of
from wsgiauth.features.registry import FEATURES
from wsgiauth.storage import context
from wsgiauth.testing import app_client, bearer, logged_in, make_user

PAGE = PAGES["docs/user-data.md"]


@pytest.fixture
def load(folder, environ, monkeypatch):
    """Return a function that returns what a program of the page defines, in a reader's folder."""
    for key in ("SECRET_KEY", "BCRYPT_ROUNDS"):
        monkeypatch.setenv(key, environ[key])
    monkeypatch.chdir(folder)
    yield lambda name: runpy.run_path(str(folder / f"{name}.py"))
    storage.discard_connection(storage.current())


def test_the_tenant_of_a_verified_address_is_in_the_token(load):
    site = load("tenants")["application"]
    with context.using(site.database):
        ada = make_user(site, groups=["editors"], email="ada@Example.org")
        assert TestApp(site).get("/", headers=bearer(site, ada)).text == "tenant: None\n"
        update_user(ada, email_verified_at=datetime.now(UTC), email_verified_by="link")
        headers = bearer(site, ada)
    assert TestApp(site).get("/", headers=headers).text == "tenant: 7\n"
    assert TestApp(site).get("/").text == "tenant: none\n"


def test_the_list_names_every_reserved_claim_and_the_depth():
    text = section(PAGE, "Claims")
    (row,) = [line for line in text.splitlines() if "a reserved name" in line]
    assert {*row.split("`")[1::2]} - {"wsgiauth"} == RESERVED
    assert f"more than {MAX_DEPTH} objects" in text


@pytest.mark.parametrize(("name", "role"), [("Wiki", "editor"), ("Forum", None)])
def test_an_app_learns_the_name_and_the_role(load, environ, tmp_path, monkeypatch, name, role):
    monkeypatch.setenv("SERVICE_KEYS", str(write_key(tmp_path / "key")))
    monkeypatch.setenv("PUBLIC_URL", "http://localhost")
    monkeypatch.setenv("OAUTH_SERVER", "on")
    site = load("staff_roles")["application"]
    ada = make_user(site, "ada", permissions=["wiki.edit"])
    tokens = app_client(site, name).log_in(ada)
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    claims = TestApp(site).get("/auth/userinfo", headers=headers).json
    expected = "ada" if role is None else "Ada Lovelace"
    assert (claims["name"], claims.get("role")) == (expected, role)


def test_the_list_names_every_claim_that_no_application_sets_for_apps():
    text = section(PAGE, "Claims for apps")
    (row,) = [line for line in text.splitlines() if "is left out" in line]
    assert {*row.split("`")[1::2]} - {"wsgiauth", "name"} == OF_THIS_SITE
    assert f"at most {MAX_ID_CLAIMS:,} characters" in text


def test_a_declared_permission_is_offered_and_a_mistyped_one_questioned(load, run):
    site = load("archive")["application"]
    root = make_user(site, "root", is_staff=True, is_superuser=True)
    ada, headers = make_user(site), bearer(site, root)
    panel, browser = "/auth/admin", logged_in(site, root)
    url = f"{panel}/users/{ada.id}"
    with context.using(site.database):
        group = Group.objects.create(name="editors")
    for page in (url, f"{panel}/groups/{group.id}"):
        browser.get(page, headers=BROWSER).mustcontain('value="archive.delete"')
    client = TestApp(site)
    assert client.get("/", headers=bearer(site, ada)).text == "You can read.\n"
    sent = {"permission": "archive.delte", "only_known": True}
    refused = client.post_json(f"{url}/grant", sent, headers=headers, status=422)
    assert "Did you mean archive.delete?" in refused.text
    sent = {"permission": "archive.delete", "only_known": True}
    client.post_json(f"{url}/grant", sent, headers=headers)
    assert client.get("/", headers=bearer(site, ada)).text == "You can delete.\n"
    key = {"name": "cleaner", "permissions": ["archive.delete"]}
    client.post_json("/auth/keys", key, headers=headers, status=201)
    assert "archive.delete" in run("python -m wsgiauth permissions --app archive:application")


def test_the_file_has_what_the_application_stores(load, run):
    site = load("library")["application"]
    ada = make_user(site, "ada")
    loans = [{"title": "Sketch of the Analytical Engine", "due": "2026-12-01"}]
    found = logged_in(site, ada).get("/auth/data").json
    assert found["application"] == {"loans": loans}
    printed = run("python -m wsgiauth personal-data ada --app library:application")
    assert json.loads(printed)["application"] == {"loans": loans}


def test_the_page_names_every_list_of_the_file():
    text = section(PAGES["docs/personal-data.md"], "What the file has")
    items = re.findall(r"^- (`.*?`): ", text, re.MULTILINE)
    named = {name for item in items for name in re.findall("`(.*?)`", item)}
    assert named == {each.name for each in personal_data_of(FEATURES).values()}


@pytest.mark.every_database
def test_a_profile_is_deleted_with_its_user(load, database_url, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url)
    program = load("profiles")
    site, profile = program["application"], program["Profile"]
    headers = bearer(site)
    client = TestApp(site)
    assert client.get("/", headers=headers).text == "plan: free\n"
    client.post_json("/auth/close", {}, headers=headers)
    assert not profile.select().exists()
    with context.using(site.database):
        assert not User.select().exists()
    profile.drop_table()


def test_an_account_with_orders_cannot_be_closed(load):
    program = load("orders")
    site, orders, engine = (program[name] for name in ("application", "Order", "engine"))
    ada = make_user(site)
    headers, client = bearer(site, ada), TestApp(site)
    with program["Session"](engine) as session:
        session.add(orders(user_id=ada.id, item="tea"))
        session.commit()
    assert client.get("/", headers=headers).text == "orders: tea\n"
    refused = client.post_json("/auth/close", {}, headers=headers, status=409)
    assert refused.json["code"] == "in_use"
    with program["Session"](engine) as session:
        session.delete(session.get(orders, 1))
        session.commit()
    client.post_json("/auth/close", {}, headers=headers)
    engine.dispose()


@pytest.mark.every_database
def test_a_new_member_is_asked_for_a_phone_number(load, database_url, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url)
    program = load("members")
    client, member = TestApp(program["application"]), program["Member"]
    phone = {"phone": "+49 30 1234567", "organisation": "Riverside Library"}
    ada = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
    refused = client.post_json("/auth/register", ada, status=422).json["errors"]
    assert refused == {"phone": ["This field is required."]}
    page = client.post("/auth/register", ada | {"phone": "030"}, headers=SAME_ORIGIN, status=422)
    assert "Begin with + and the code of the country" in page.html.find(id="phone-error").text
    client.post("/auth/register", ada | phone, headers=SAME_ORIGIN, status=303)
    assert client.get("/").text == "phone: +49 30 1234567\n"
    assert member.get().organisation == "Riverside Library"
    bob = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
    taken = client.post_json("/auth/register", bob | phone, status=422).json["errors"]
    assert taken == {"phone": ["Another member has this number."]}
    with context.using(program["application"].database):
        (user,) = User.select()
        assert user.has_permission("library.borrow")
        program["create_member"](make_user(program["application"], "bob"), {**phone, "phone": "+1"})
    member.drop_table()


def test_the_lists_name_every_argument_and_kind_of_a_field():
    arguments, kinds = (
        re.findall(r"^- `(\w+)`: ", section(PAGE, title), re.MULTILINE)
        for title in ("Arguments of a field", "Kinds of fields")
    )
    assert arguments == [each.name for each in dataclasses.fields(Field) if each.init]
    assert kinds == [*KINDS]


def test_the_limits_of_fields_are_those_of_the_code():
    text = section(PAGE, "Fields of registration")
    assert f"{MAX_FIELDS} fields, of {MAX_CHARACTERS} characters together" in text
    assert f"in characters, {Field('x', 'X').max_length} by default" in text
