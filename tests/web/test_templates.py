"""The templates of features of others: pages and emails find them, and a site replaces them."""

import base64
import hashlib
import shutil
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.badges.feature import FEATURE, SAMPLE
from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of
from wsgiauth.staff.frame import Frame, PanelPage
from wsgiauth.testing import logged_in, make_settings, make_user
from wsgiauth.web.pages import Pages, StaffSection


@pytest.fixture
def copy(tmp_path):
    """Return the feature in a folder of its own, whose files a test can change."""
    folder = tmp_path / "badges"
    shutil.copytree(FEATURE.folder, folder)
    return replace(FEATURE, folder=folder)


@pytest.fixture
def templates(tmp_path):
    """Return the folder of TEMPLATES."""
    folder = tmp_path / "templates"
    (folder / "mail").mkdir(parents=True)
    return folder


def page_of(*features, **settings):
    """Return how the page of the first feature is answered."""
    app = AuthMiddleware(echo, make_settings(FEATURES=features, **settings))
    return logged_in(app, make_user(app, "ada")).get("/auth/badges", headers=BROWSER)


def mail_of(*features, **settings):
    """Return the email of the first feature."""
    letters = Letters(make_settings(FEATURES=features, MAIL_URL="memory:", **settings))
    letters.check(SAMPLE)
    return letters.message(Addressed(SAMPLE, "ada@example.org", None))


def test_a_page_extends_our_layout():
    page = page_of(FEATURE)
    assert page.html.h1.text == "Badges"
    assert page.html.find("form", action="/auth/badges")
    assert page.html.find("a", href="/auth/account")


class PanelOfBadges(PanelPage):
    template = "panel_of_badges.html"


def test_a_page_of_the_panel_extends_its_frame(tmp_path):
    (tmp_path / "panel_of_badges.html").write_text(
        '{% extends "admin/frame.html" %}{% from "admin/macros.html" import address %}'
        '{% block content %}<p id="own">{{ address("ada@example.org") }}</p>{% endblock %}'
    )
    frame = Frame("/auth/admin", "badges", "ada", "/auth/account", "/")
    pages = Pages(
        "/auth", None, {"badges": tmp_path}, staff_sections=[StaffSection("badges", "Badges")]
    )
    html = TestApp(pages.render({"wsgiauth.root": ""}, PanelOfBadges(frame=frame))).get("/").html
    assert html.find("a", href="/auth/admin/badges")["aria-current"] == "true"
    assert html.find(id="own").text == "ada@example.org"


def test_an_email_extends_our_layout():
    mail = mail_of(FEATURE)
    assert mail["Subject"] == "Your new badge"
    assert plain_text_of(mail).startswith("You have the badge gold.\n")
    assert "You have the badge gold." in mail.get_body(("html",)).get_content()


def test_the_layout_of_a_site_is_around_the_page(templates):
    (templates / "layout.html").write_text("<h1>Ours</h1>{% block content %}{% endblock %}")
    assert page_of(FEATURE, TEMPLATES=templates).html.h1.text == "Ours"


@pytest.mark.parametrize("name", ["badges/badges.html", "badges.html"], ids=["extended", "alone"])
def test_a_site_replaces_a_template_or_extends_it_by_the_name_of_the_feature(templates, name):
    form = '<form method="post"><input type="hidden" name="account" value="{{ page.shown_to }}">'
    extended = f'{{% extends "{name}" %}}{{% block text %}}<p id="own">Ours</p>{{% endblock %}}'
    replaced = f'<p id="own">Ours</p>{form}</form>'
    source = extended if name != "badges.html" else replaced
    (templates / "badges.html").write_text(source)
    (templates / "mail/badge.txt").write_text("Ours\n\n{{ letter.badge }}\n")
    assert page_of(FEATURE, TEMPLATES=templates).html.find(id="own").text == "Ours"
    assert mail_of(FEATURE, TEMPLATES=templates)["Subject"] == "Ours"


def test_a_start_checks_what_a_site_makes_of_the_pages(templates):
    for source, reason in (
        ("{{ page.missing }}", "no attribute 'missing'"),
        ('<form method="post" action="{{ page.badges_url }}"></form>', "lacks this line"),
    ):
        (templates / "badges.html").write_text(source)
        with pytest.raises(ConfigurationError, match=rf"TEMPLATES: .*badges\.html.* {reason}"):
            page_of(FEATURE, TEMPLATES=templates)


def test_a_start_checks_what_a_site_makes_of_the_emails(templates):
    (templates / "mail/badge.txt").write_text("{{ letter.missing }}")
    with pytest.raises(ConfigurationError, match=r"TEMPLATES: .*badge\.txt, line 1: .*'missing'"):
        page_of(FEATURE, TEMPLATES=templates, MAIL_URL="memory:")


# Mistakes in templates of a feature.

MISTAKES = {
    "a value": ("{{ page.colour }}", ", line 1: ", "has no attribute 'colour'"),
    "a template that there is not": (
        '{% include "colour.html" %}',
        ", line 1: there is no colour.html",
        "",
    ),
    "no template": ("{% if %}", ", line 1: ", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("template", ["badges.html", "mail/badge.txt"])
def test_a_start_names_the_feature_with_a_mistake(copy, template, mistake):
    source, place, reason = MISTAKES[mistake]
    source = source.replace("page", "page" if template == "badges.html" else "letter")
    (copy.templates / template).write_text(source)
    with pytest.raises(ConfigurationError) as caught:
        page_of(copy, MAIL_URL="memory:")
    found = str(caught.value)
    assert found.startswith(f"The feature badges: {copy.templates / template}{place}")
    assert found.endswith(reason)


@pytest.mark.parametrize("template", ["badges.html", "mail/badge.txt"])
def test_a_start_names_the_feature_that_lacks_a_template(copy, template, tmp_path):
    (copy.templates / template).unlink()
    advice = ": check that its declaration has `folder`, and its package the template."
    shutil.copytree(copy.templates, tmp_path / "site")
    for settings in ({}, {"TEMPLATES": tmp_path / "site"}):
        with pytest.raises(ConfigurationError) as caught:
            page_of(copy, MAIL_URL="memory:", **settings)
        assert str(caught.value) == (
            f"The feature badges has no template {template} in {copy.templates}{advice}"
        )


def test_a_start_names_the_feature_that_lacks_its_folder():
    with pytest.raises(ConfigurationError, match=r"^The feature badges has no template \S+: check"):
        page_of(
            replace(FEATURE, folder=None, pages=lambda: (), expiring={}, personal_data={}),
            MAIL_URL="memory:",
        )


def test_a_start_names_the_feature_whose_email_has_no_subject(copy):
    (copy.templates / "mail/badge.txt").write_text("A badge.")
    with pytest.raises(
        ConfigurationError, match=r"^The feature badges: mail/badge\.txt: the first line must be"
    ):
        page_of(copy, MAIL_URL="memory:")


# A name is that of one template.


@pytest.mark.promise(105)
@pytest.mark.parametrize(
    "name", ["login.html", "consent.html", "mail/layout.txt", "style.css", "page.js", "icon.svg"]
)
def test_a_feature_cannot_replace_a_template_of_ours(copy, name):
    path = copy.templates / name
    path.write_text("Mine")
    with pytest.raises(ConfigurationError) as caught:
        page_of(copy)
    assert str(caught.value).startswith(
        f"The feature badges cannot replace the template {name}: {path} has the name of "
    )
    assert str(caught.value).endswith(f"/templates/{name}. Only TEMPLATES replaces templates.")


@pytest.mark.promise(105)
@pytest.mark.parametrize("prefix", ["wsgiauth", "other"])
def test_a_feature_cannot_have_the_full_name_of_a_template_of_others(copy, tmp_path, prefix):
    (tmp_path / "templates").mkdir()
    (copy.templates / prefix).mkdir()
    (copy.templates / prefix / "login.html").write_text("Mine")
    with pytest.raises(ConfigurationError) as caught:
        page_of(copy, Feature(name="other", folder=tmp_path))
    assert str(caught.value) == (
        f"The feature badges cannot have templates in {copy.templates / prefix}: the names of those"
        f" of {prefix} begin with it."
    )


@pytest.mark.promise(105)
def test_a_feature_cannot_replace_a_template_of_another_one(copy, tmp_path):
    other = Feature(name="other", folder=tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/badges.html").write_text("Mine")
    with pytest.raises(ConfigurationError, match=r"^The feature other cannot replace the template"):
        page_of(copy, other)


def test_files_that_are_no_templates_can_have_the_same_name(copy, tmp_path):
    other = Feature(name="other", folder=tmp_path)
    (tmp_path / "templates").mkdir()
    for feature in (copy, other):
        (feature.templates / "README").write_text("Mine")
    assert page_of(copy, other).html.h1.text == "Badges"


def test_ours_are_found_by_our_name_alone(copy, templates):
    (templates / "badges.html").write_text('{% extends "wsgiauth/badges.html" %}')
    with pytest.raises(ConfigurationError, match=r"there is no wsgiauth/badges\.html"):
        page_of(copy, TEMPLATES=templates)


# Scripts.


def test_a_page_runs_the_script_beside_its_template_as_it_is():
    page = page_of(FEATURE)
    script = page.html.find_all("script")[-1].string
    assert script == (FEATURE.templates / "badges.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["Content-Security-Policy"]


def test_other_pages_do_not_run_it():
    app = AuthMiddleware(echo, make_settings(FEATURES=[FEATURE]))
    page = logged_in(app, make_user(app, "ada")).get("/auth/sessions", headers=BROWSER)
    assert "dataset.clicks" not in page.text


def test_a_site_replaces_the_script(templates):
    (templates / "badges.js").write_text("1;\n")
    assert page_of(FEATURE, TEMPLATES=templates).html.find_all("script")[-1].string == "1;\n"


def test_a_script_that_is_missing_is_named(copy, templates):
    (copy.templates / "badges.js").unlink()
    with pytest.raises(
        ConfigurationError,
        match=r"feature badges: badges\.html needs badges\.js, which",
    ):
        page_of(copy, TEMPLATES=templates)
