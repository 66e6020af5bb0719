"""What the staff and operators see."""

import json
import os
import subprocess
import sys

import pytest
from support import HTML, hello

from wsgiauth import delete_user
from wsgiauth.testing import logged_in


def wsgiauth(*arguments, folder):
    """Run a command on the database of a folder."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DATABASE_URL": f"sqlite:///{folder}/test.db",
        "FEATURES": "wsgi_accounts_organisations:FEATURE",
        "SECRET_KEY": "four-unrelated-words-and-a-few-more-of-them",
        "ORGANISATIONS_MEMBERS": "7",
    }
    command = [sys.executable, "-m", "wsgiauth", *arguments]
    return subprocess.run(  # noqa: S603 - our own command
        command, env=environ, capture_output=True, text=True, cwd=folder
    )


@pytest.fixture
def staff(site):
    """Return the browser of a member of the staff."""
    return logged_in(site.application, site.user("root", is_staff=True, is_superuser=True))


def test_the_panel_lists_organisations_a_page_at_a_time(site, staff, monkeypatch):
    monkeypatch.setattr("wsgi_accounts_organisations.panel.PAGE", 2)
    for slug in ("engines", "looms", "tables"):
        site.found(slug, "ada")
    first = staff.get("/auth/admin/organisations").json
    assert [each["slug"] for each in first["organisations"]] == ["engines", "looms"]
    assert first["organisations"][0]["members"] == 1
    last = staff.get(first["next"]).json
    assert ([each["slug"] for each in last["organisations"]], last["next"]) == (["tables"], None)
    page = staff.get("/auth/admin/organisations", headers=HTML)
    assert "Engines" in page.text
    assert "Tables" in page.click("Next page", extra_environ={"HTTP_ACCEPT": "text/html"}).text
    wrong = staff.get("/auth/admin/organisations?after=x", headers=HTML)
    assert "Engines" in wrong.text


def test_the_panel_says_that_there_are_none(staff):
    page = staff.get("/auth/admin/organisations", headers=HTML)
    assert "There are no organisations." in page.text


def test_the_panel_is_for_the_staff_alone(site):
    site.client("ada").get("/auth/admin/organisations", status=404)


def test_a_site_without_a_panel_has_no_section(make_site):
    make_site(hello, ADMIN_PANEL=False).client("ada").get("/auth/admin/organisations", status=404)


def test_the_trail_says_in_words_what_happened(site, staff):
    site.found("engines", "ada", grace="admin")
    site.change("engines", "ada", "grace")
    delete_user(site.user("ada"))
    names = [each["name"] for each in staff.get("/auth/admin/events").json["events"]]
    own = [each for each in names if each.startswith("organisations_")]
    ended = ("deleted", "left", "joined", "invited", "founded")
    assert own[:5] == [f"organisations_{each}" for each in ended]
    page = staff.get("/auth/admin/events", headers=HTML)
    assert "Joined an organisation" in page.text
    assert "engines: Admin" in page.text


def test_the_file_of_ones_own_data_has_what_is_about_oneself(site):
    site.found("engines", "ada", grace="admin")
    site.invite("engines", "grace", "mary@example.org")
    own = site.client("grace").get("/auth/data").json
    (membership,), (invitation,) = own["organisations"], own["organisation_invitations"]
    assert (membership["slug"], membership["role"]) == ("engines", "admin")
    assert invitation["slug"] == "engines"
    assert "mary" not in json.dumps(own)
    assert "ada" not in json.dumps(own["organisations"])


def test_a_command_lists_organisations(make_site, tmp_path):
    site = make_site(hello, DATABASE_URL=f"sqlite:///{tmp_path}/test.db")
    site.found("engines", "ada", grace="member")
    listed = wsgiauth("organisations", "--json", folder=tmp_path)
    assert listed.stderr == ""
    (found,) = json.loads(listed.stdout)
    assert (found["slug"], found["name"], found["members"]) == ("engines", "Engines", 2)
    assert "engines" in wsgiauth("organisations", folder=tmp_path).stdout


def test_the_settings_are_documented_and_checked(make_site, tmp_path):
    make_site(hello, DATABASE_URL=f"sqlite:///{tmp_path}/test.db")
    listed = wsgiauth("settings", folder=tmp_path).stdout
    assert "ORGANISATIONS_MEMBERS" in listed
    with pytest.raises(ValueError, match="ORGANISATIONS_MEMBERS must be a whole number"):
        make_site(hello, ORGANISATIONS_MEMBERS=0)


def test_check_finds_what_an_operator_should_know(make_site, tmp_path):
    site = make_site(hello, DATABASE_URL=f"sqlite:///{tmp_path}/test.db")
    site.found("engines", "ada", grace="owner")
    site.found("looms", "mary", grace="owner")
    site.user("ada").is_active = site.user("mary").is_active = False
    site.user("ada").save()
    found = wsgiauth("check", folder=tmp_path).stdout
    assert "inactive" not in found
    site.change("engines", "grace", "grace")
    assert "The owners of 1 organisation are inactive." in wsgiauth("check", folder=tmp_path).stdout


def test_a_restored_backup_has_no_open_invitations(make_site, tmp_path):
    site = make_site(hello, DATABASE_URL=f"sqlite:///{tmp_path}/test.db")
    site.found("engines", "ada")
    site.invite("engines", "ada", "grace@example.org")
    restored = wsgiauth("restored", "--yes", folder=tmp_path)
    assert "invitation" in restored.stdout
    fresh = logged_in(site.application, site.user("ada"))
    assert fresh.get("/auth/organisations/engines").json["invitations"] == []
