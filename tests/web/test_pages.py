"""The pages, their layout, and templates of a host's own."""

import base64
import dataclasses
import gzip
import hashlib
import re
from importlib import import_module
from pathlib import Path

import jinja2
import pytest
from webtest import TestApp

from tests.support.own_templates import OWN
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, echo
from tests.support.tables import row_by_row
from tests.web.pages import ERROR, EXAMPLES, PAGES, REQUEST, check_template
from wsgiauth import AuthMiddleware
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.language import ENGLISH
from wsgiauth.settings.oidc import ICONS
from wsgiauth.testing.feature_rules.markup import faults, structure
from wsgiauth.testing.feature_rules.pages import filled
from wsgiauth.testing.feature_rules.pages import shown as shown_to_user
from wsgiauth.web import brand
from wsgiauth.web.pages import Pages, ProviderButton
from wsgiauth.web.templates import Templates

KEYS = next(page.keys for page in EXAMPLES if page.template == "keys.html" and page.keys)
SET_UP = next(page for page in EXAMPLES if page.template == "totp.html" and page.set_up)
APPS = SET_UP.devices
LOGIN, REGISTER = PAGES["login.html"], PAGES["register.html"]
HOSTILE = (
    """</title></p>"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;{{7*7}}{%if%}"""
)


def answered(pages, page):
    """Return how a page is answered."""
    return TestApp(pages.render(REQUEST, page)).get("/", expect_errors=True)


def shown(page, folder=None, **options):
    """Return how a page of a site is answered."""
    return answered(Pages("/auth", folder, **options), page)


def shown_each(folder=None, **options):
    """Return how each page of a site is answered, by its template."""
    pages = Pages("/auth", folder, **options)
    return {name: answered(pages, page) for name, page in PAGES.items()}


MAX_LOGIN = 14_848  # bytes, compressed


@pytest.fixture(scope="module")
def answers():
    """Return how each page is answered, by its template; not to be changed."""
    return shown_each()


@pytest.fixture(scope="module")
def named_answers():
    """Return the same for a site with a name."""
    return shown_each(site_name="Ada & Sons")


def policy_of(answer):
    policy = answer.headers["Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in policy.split(";"))


def style_hash(answer):
    (style,) = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def script_source(answer):
    """Return the policy of the scripts that stand in a page."""
    scripts = re.findall("<script>(.*?)</script>", answer.text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def contents(html):
    for monogram in html.select(".monogram"):  # the first character alone
        monogram.decompose()
    values = [value for element in html.find_all() for value in element.attrs.values()]
    # A monogram has the first letter alone: `structure` shows that it is text.
    whole = (each for each in html.main.strings if "monogram" not in each.parent.get("class", ()))
    return [*map(str, values), *whole, str(html.title.string)]


def test_there_is_a_page_for_every_template():
    templates = {name for name in OWN if name.endswith(".html")}
    shared = {
        "layout.html",
        "macros.html",
        "member.html",
        "admin/frame.html",
        "admin/macros.html",
        "admin/credentials.html",
        "admin/failed_logins.html",
        "mail/layout.html",  # of the HTML of emails
    }
    assert templates == PAGES.keys() | shared


def test_a_template_names_the_class_of_its_page():
    for name, page in PAGES.items():
        named = re.search(r"{# page: (\S+)\.(\w+)", OWN[name].read_text(encoding="utf-8"))
        assert getattr(import_module(f"wsgiauth.{named[1]}"), named[2]) is type(page), name


# What every page is


@pytest.mark.promise(20)
def test_a_page_lets_only_itself_be_shown_and_styled(answers):
    for name, page in PAGES.items():
        answer = answers[name]
        assert policy_of(answer) == {
            "default-src": "'none'",
            "script-src": script_source(answer),
            "style-src": f"'self' 'sha256-{style_hash(answer)}'",
            "img-src": "'self' data:",
            "font-src": "'self'",
            "form-action": "'self' https:" if page.providers else "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
            **({"connect-src": "'self'"} if page.script else {}),  # of passkeys
        }, name


@pytest.mark.promise(20)
def test_a_page_leads_to_other_sites_only_by_the_buttons_of_providers():
    origin = "http://127.0.0.1:8080"
    for name, answer in shown_each(provider_origins=(origin,)).items():
        by_url, by_name = (
            answer.html.select(each)
            for each in (
                "button[formaction]:not([formaction='/auth/code'])",
                "button[name=connect]:not([value=on]), button[name=provider]",
            )
        )
        buttons = by_url or by_name
        found = [(each.get("value"), each.get("formaction")) for each in buttons]
        providers = PAGES[name].providers
        expected = [(None, each.url) if by_url else (each.name, None) for each in providers]
        assert found == expected, name
        expected = f"'self' https: {origin}" if buttons else "'self'"
        assert policy_of(answer)["form-action"] == expected, name


@pytest.mark.promise(20)
@pytest.mark.promise(58)
def test_only_pages_with_a_passkey_button_have_a_script_of_their_own():
    assert {each.script for each in PAGES.values()} == {"", "passkeys.js"}
    templates = Templates(None, autoescape=True)
    scripts = {name: brand.script(templates, name) for name in ("page.js", "passkeys.js")}
    pages = Pages("/auth")
    for page in EXAMPLES:
        html = pages.render(REQUEST, page).body.decode()
        assert bool(page.script) is (" data-options=" in html), page.template
        found = re.findall("<script>(.*?)</script>", html, re.DOTALL)
        assert found == [scripts[name] for name in ("page.js", page.script) if name]


def test_the_login_with_everything_on_is_small():
    page = Pages("/auth", site_name="Riverside Library").render(REQUEST, PAGES["login.html"])
    assert len(gzip.compress(page.body)) <= MAX_LOGIN


@pytest.mark.promise(20)
def test_a_page_has_nothing_from_elsewhere(answers):
    for name, answer in answers.items():
        html = answer.html
        assert html.find_all(["iframe", "object", "embed", "base", "img"]) == [], name
        (link,) = html.find_all("link")
        icon = (link["rel"], link["href"].partition(",")[0])
        assert icon == (["icon"], "data:image/svg+xml"), name
        attributes = {each for element in html.find_all() for each in element.attrs}
        handlers = {each for each in attributes if each.startswith("on")}
        assert not handlers | attributes & {"style", "src"}, name


@pytest.mark.slow
def test_a_page_keeps_the_rules_that_need_no_browser():
    pages = Pages("/auth")
    found = [
        (page.template, advice)
        for page in EXAMPLES
        for advice in faults(*shown_to_user(pages, page, ENGLISH))
    ]
    assert found == []


@pytest.mark.promise(20)
@pytest.mark.slow
def test_every_value_is_escaped():
    pages = Pages("/auth")
    for name, page in PAGES.items():
        plain, hostile = (answered(pages, filled(page, value)).html for value in ("plain", HOSTILE))
        assert structure(hostile) == structure(plain), name
        # "P" is a monogram, of the first letter.
        expected = [
            HOSTILE[0] if text == "P" else text.replace("plain", HOSTILE)
            for text in contents(plain)
        ]
        assert contents(hostile) == expected, name


def test_a_provider_has_its_mark_or_the_first_letter_of_its_title():
    firm = LOGIN.providers[0]._replace(title="étoile", icon="")
    own = LOGIN.providers[0]._replace(icon="/static/firm.svg")
    page = answered(Pages("/auth"), LOGIN.replaced(providers=(*LOGIN.providers, firm, own)))
    marks = [each.find(class_="mark") for each in page.html.select("[data-way^=at]")]
    assert [each.name for each in marks] == ["span", "svg", "span", "img"]
    assert [each.get("data-letter") for each in marks] == ["G", None, "É", None]
    assert page.html.select_one("[data-way^=at]").text == "Log in with Google"


def test_the_name_of_the_site_is_in_the_title_and_above_the_heading(answers, named_answers):
    for name, answer in named_answers.items():
        html, unnamed = answer.html, answers[name].html
        assert html.title.text.endswith(" · Ada & Sons"), name
        assert html.select_one(".site > :last-child").text == "Ada & Sons", name
        assert (unnamed.select_one(".site"), "·" in unnamed.title.text) == (None, False), name


@pytest.mark.promise(20)
def test_the_name_of_the_site_is_escaped(named_answers):
    for name, answer in shown_each(site_name=HOSTILE).items():
        assert structure(answer.html) == structure(named_answers[name].html), name
        assert answer.html.select_one(".site > :last-child").text == HOSTILE, name


def test_the_name_of_the_site_may_be_of_another_encoding():
    name = b"Caf\xe9".decode(errors="surrogateescape")  # as os.environ decodes it
    assert shown(LOGIN, site_name=name).html.select_one(".site > :last-child").text == "Caf?"


def test_the_logo_stands_for_the_name_above_the_heading():
    for name, answer in shown_each(site_name="Ada & Sons", logo="/logo.svg").items():
        html = answer.html
        (logo,) = html.find_all("img")
        assert (logo["src"], logo["alt"]) == ("/logo.svg", "Ada & Sons"), name
        assert logo.parent == html.hgroup.p, name
        assert html.hgroup.p.text == "", name
        assert html.title.text.endswith(" · Ada & Sons"), name


def test_a_dark_page_has_a_logo_of_its_own():
    logos = {"logo": "/logo.svg", "logo_dark": "/dark.svg"}
    for name in ("login.html", "error.html", "account.html", "admin/user.html"):
        answer = shown(PAGES[name], site_name="Ada & Sons", **logos)
        (picture,) = answer.html.hgroup.p.find_all("picture")
        expected = [("source", ["media", "srcset"]), ("img", ["alt", "src"])]
        assert structure(picture) == expected, name
        assert picture.source["srcset"] == "/dark.svg", name
        assert picture.source["media"] == "screen and (prefers-color-scheme: dark)", name
        assert (picture.img["src"], picture.img["alt"]) == ("/logo.svg", "Ada & Sons"), name


def test_a_logo_without_a_name_is_decorative():
    assert shown(LOGIN, logo="/logo.svg").html.img["alt"] == ""


@pytest.mark.promise(20)
def test_the_logos_and_their_name_are_escaped():
    hostile, plain = (
        shown(LOGIN, site_name=each, logo=f"/{each}", logo_dark=f"/{each}").html
        for each in (HOSTILE, "plain")
    )
    assert structure(hostile) == structure(plain)
    assert (hostile.img["src"], hostile.img["alt"]) == (f"/{HOSTILE}", HOSTILE)
    assert hostile.source["srcset"] == f"/{HOSTILE}"


@pytest.mark.promise(20)
def test_sources_add_to_the_policy_for_fonts_and_images_alone(answers):
    sources = ("https://fonts.example.org", "https://images.example.org")
    added = " ".join(sources)
    for name, answer in shown_each(sources=sources).items():
        assert policy_of(answer) == policy_of(answers[name]) | {
            "img-src": f"'self' data: {added}",
            "font-src": f"'self' {added}",
        }, name


def test_a_provider_has_one_of_the_shapes():
    for icon in ICONS:
        button = ProviderButton("a", "Example", "/auth/oidc/a", icon)
        html = shown(LOGIN.replaced(providers=(button,))).html
        drawn = html.find("button", formaction="/auth/oidc/a")
        assert drawn.svg.path["d"], icon
        assert drawn.text == "Log in with Example", icon


def test_a_provider_has_an_image_of_the_site_or_none():
    buttons = [ProviderButton(each, each, f"/{each}", f"/{each}.svg") for each in "ab"]
    html = shown(LOGIN.replaced(providers=(buttons[0], buttons[1]._replace(icon="")))).html
    with_image, without = html.find_all("button", formaction=["/a", "/b"])
    assert (with_image.img["src"], with_image.img["alt"]) == ("/a.svg", "")
    assert without.find(["img", "svg"]) is None


@row_by_row("is_above", [False, True], ids=["below", "above"])
def test_the_buttons_of_providers_are_below_or_above_the_form(is_above):
    for template in ("login.html", "register.html", "verified_register.html"):
        html = shown(PAGES[template], providers_above=is_above).html
        buttons = html.find("div", class_="providers")
        assert bool(buttons.find_next("input", id="username")) is is_above, template
        assert bool(buttons.find_previous("input", id="username")) is not is_above, template
        assert len(html.find_all("div", class_="above")) == is_above, template


def test_the_login_has_one_main_way_and_the_forgotten_password_beside_its_field():
    html = shown(LOGIN.replaced(code_url="/auth/code", forgot_url="/auth/forgot")).html
    form = html.main.form
    assert form.find("a", href="/auth/forgot").parent == form.find(id="password").find_parent(
        class_="field"
    )
    assert [each.text for each in form.find_all(class_="or")] == ["or"]
    before = [each.text for each in form.find(class_="or").find_all_previous("button")]
    assert before == ["Log in", "Show"]
    later = form.find(class_="or").find_all_next("button", type="submit")
    assert all("quiet" in each["class"] for each in later if each.find_parent("form") == form)


def test_without_passwords_enter_asks_for_a_code_below_the_buttons_of_providers():
    options = {"providers_above": True, "password_login": False}
    html = shown(LOGIN.replaced(code_url="/auth/code"), **options).html
    assert html.main.form.button["formaction"] == "/auth/code"


def test_the_settings_name_the_logos_the_colour_and_the_sources(settings):
    changes = {"SITE_LOGO": "/logo.svg", "SITE_LOGO_DARK": "/dark.svg", "SITE_COLOR": "#FF6600"}
    changes |= {"PAGE_SOURCES": ("https://fonts.example.org",)}
    app = AuthMiddleware(echo, dataclasses.replace(settings, **changes))
    answer = TestApp(app).get("/auth/login")
    assert answer.html.img["src"] == "/logo.svg"
    assert answer.html.source["srcset"] == "/dark.svg"
    assert "--accent: #be4c00" in answer.html.style.string
    assert policy_of(answer)["font-src"] == "'self' https://fonts.example.org"


# Forms


@pytest.mark.promise(20)
def test_a_form_that_comes_back_holds_what_was_typed_but_no_password(client):
    for path, fields in (
        ("/auth/login", {"username": HOSTILE, "password": PASSWORD}),
        ("/auth/register", {"username": HOSTILE, "email": EMAIL, "password": PASSWORD}),
        ("/auth/register", {"username": "Eve", "email": HOSTILE, "password": PASSWORD}),
    ):
        answer = client.post(path, fields, headers=SAME_ORIGIN, status="4*")
        assert answer.form["password"].value == ""
        assert PASSWORD not in answer.text
        for name in fields.keys() - {"password"}:
            assert answer.form[name].value == fields[name]


@pytest.mark.promise(20)
def test_a_query_cannot_put_anything_into_a_page(client):
    answer = client.get("/auth/login", {"next": HOSTILE, "username": HOSTILE, "message": HOSTILE})
    assert "onerror" not in answer.text


def test_a_form_is_without_messages_until_it_was_refused(client):
    for path in ("/auth/login", "/auth/register"):
        html = client.get(path).html
        assert html.find_all(class_=["notice", "error"]) == []
        assert html.find_all(attrs={"aria-invalid": True}) == []


def test_the_title_of_a_page_whose_form_was_refused_says_so():
    action = PAGES["admin/action.html"].replaced(errors={})
    button = action.action.button
    titles = {
        "Error: Log in": LOGIN,  # refused with a message
        "Error: Create an account": REGISTER,  # with a message for a field
        f"Error: {button}": action.replaced(message="No."),
        button: action,
        "Log in": LOGIN.replaced(message="", notice="Done."),
        "No such page": ERROR,
    }
    for title, page in titles.items():
        html = shown(page).html
        assert html.title.text == title
        assert html.h1.text == title.removeprefix("Error: ")


def test_a_number_chooses_singular_or_plural():
    for page, text in (
        (LOGIN.replaced(remember_days=1), "for up to 1 day\n"),
        (LOGIN.replaced(remember_days=2), "for up to 2 days\n"),
        (PAGES["forgot_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["forgot_sent.html"].replaced(minutes=2), "within the next 2 minutes."),
        (PAGES["email_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["complete_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["verified_register_sent.html"].replaced(minutes=1), "within the next 1 minute."),
    ):
        assert text in shown(page).html.main.text, page.template


@row_by_row("page", [LOGIN, REGISTER], ids=["login", "register"])
def test_every_field_names_the_text_that_says_why_it_was_refused(page):
    html = shown(filled(page, "No.")).html
    for field in html.find_all("input", id=True):
        reason, *_ = field["aria-describedby"].split()
        assert html.find(id=reason).text == "No."


@row_by_row(
    ("page", "kinds"),
    [
        pytest.param(LOGIN, ["username webauthn", "current-password"], id="login"),
        pytest.param(REGISTER, ["username", "email", "new-password"], id="register"),
    ],
)
def test_password_managers_learn_what_each_field_is_for(page, kinds):
    fields = shown(page).html.find_all("input", id=True)
    assert [field["autocomplete"] for field in fields] == kinds


def test_password_managers_learn_the_rules_of_the_site(client):
    password = client.get("/auth/register").html.find(id="password")
    assert password["minlength"] == "8"
    assert password["passwordrules"] == "minlength: 8;"


def state(template, **changes):
    """Return the example of a page that was not refused, changed."""
    page = PAGES[template]
    if hasattr(page, "errors"):
        page = page.replaced(message="", errors={}, notice="")
    return page.replaced(**changes)


def wrong(*fields):
    return {name: ["No."] for name in fields}


def test_the_focus_is_where_one_types_next():
    pages = Pages("/auth")
    for page, focused in (
        (state("register.html", username="", email=""), "username"),
        (state("register.html", errors=wrong("password", "email")), "email"),
        (state("register.html", message="The site is busy."), "password"),
        (state("login.html", username=""), "username"),
        (state("login.html", message="No."), "password"),
        (state("password.html"), "current_password"),
        (state("password.html", errors=wrong("new_password")), "new_password"),
        (state("email.html", message="No."), "email"),
        (state("invitation.html", asks_username=False), "password"),
        (state("invitation.html", username=""), "username"),
        (state("invitation.html", errors=wrong("password")), "password"),
        (state("invitation.html", errors=wrong("username", "password")), "username"),
        (state("keys.html", keys=(), is_full=False, made=""), "name"),
        (state("keys.html", keys=KEYS, is_full=False, made=""), None),
        (state("keys.html", keys=KEYS, is_full=False, errors=wrong("days")), "days"),
        (state("keys.html", is_full=False, offered=("a.b",), errors=wrong("permissions")), "a.b"),
        (state("totp.html", devices=()), "name"),
        (state("totp.html", devices=APPS, set_up=None), None),
        (state("totp.html", devices=APPS, set_up=None, errors=wrong("name")), "name"),
        (state("passkeys.html", passkeys=()), None),
        (state("passkeys.html"), None),
        (state("passkeys.html", errors=wrong("name"), message="No."), "name"),
        (state("account.html"), None),
        (state("close.html"), None),
        (state("admin/users.html"), None),
        (state("admin/users.html", users=()), "q"),
        (state("admin/groups.html"), None),
        (state("admin/groups.html", errors=wrong("name")), "name"),
        (state("admin/invite.html", email=""), "email"),
        (state("admin/invite.html", errors=wrong("username")), "username"),
        (state("admin/invite.html", groups=("Editors",), errors=wrong("groups")), "Editors"),
    ):
        fields = answered(pages, page).html.find_all(autofocus=True)
        found = [each["value" if each["type"] == "checkbox" else "name"] for each in fields]
        assert found == ([focused] if focused else []), vars(page)


@row_by_row(("errors", "focused"), [({}, []), (wrong("code"), ["code"]), (wrong("name"), ["name"])])
def test_while_an_app_is_set_up_only_a_refused_field_has_the_focus(errors, focused):
    html = shown(SET_UP.replaced(errors=errors)).html
    assert [each["name"] for each in html.find_all(autofocus=True)] == focused
    assert (html.find("details", open=True) is not None) is (focused == ["name"])


# Templates of a host's own


@pytest.fixture
def folder(tmp_path):
    """Return a folder for templates."""
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder


def test_a_file_in_the_folder_replaces_the_page_of_its_name(folder):
    (folder / "login.html").write_text("<p>Grüß Gott, {{ page.username }}</p>", encoding="utf-8")
    page = LOGIN.replaced(username="Zoë")
    assert shown(page, folder).text == "<p>Grüß Gott, Zoë</p>"
    assert shown(ERROR, folder).text == shown(ERROR).text


def test_a_template_can_extend_the_layout_and_the_page_that_it_replaces(folder):
    (folder / "login.html").write_text(
        '{% extends "wsgiauth/login.html" %}{% block title %}Come in{% endblock %}'
    )
    html = shown(LOGIN, folder).html
    assert (html.h1.text, html.title.text) == ("Come in", "Error: Come in")
    assert html.form["action"] == "/auth/login"
    (folder / "login.html").write_text(
        '{% extends "layout.html" %}{% block content %}<b>{{ page.next }}</b>{% endblock %}'
    )
    assert shown(LOGIN, folder).html.b.text == LOGIN.next


def test_a_layout_of_ones_own_is_that_of_every_page(folder, answers):
    (folder / "layout.html").write_text("<p>{% block title %}{% endblock %}</p>")
    titles = {name: answer.html.p.text for name, answer in shown_each(folder).items()}
    assert titles == {name: answer.html.h1.text for name, answer in answers.items()}


@pytest.mark.promise(20)
def test_values_are_escaped_in_a_template_of_ones_own_too(folder):
    (folder / "error.html").write_text("<p title='{{ page.title }}'>{{ page.detail }}</p>")
    html = shown(ERROR.replaced(title=HOSTILE, detail=HOSTILE), folder).html
    assert structure(html) == [("p", ["title"])]
    assert (html.p["title"], html.p.text) == (HOSTILE, HOSTILE)


@pytest.mark.promise(20)
@pytest.mark.parametrize("file", ["style.css", "brand.css"])
def test_the_policy_allows_a_style_of_ones_own(folder, file):
    for style in (
        "p { color: teal }",
        "p {\r\n  color: teal;\r\n}\r\n",  # lines of Windows
        "p::before { content: '{{ 7 }} · é' }",
        "",
    ):
        (folder / file).write_bytes(style.encode())
        answer = shown(LOGIN, folder, color="#7c3aed")
        assert style.replace("\r\n", "\n") in answer.text
        assert f"'sha256-{style_hash(answer)}'" in policy_of(answer)["style-src"]


@pytest.mark.promise(20)
def test_the_policy_of_every_page_allows_the_styles_of_ones_own(folder):
    (folder / "style.css").write_text("p { color: teal }")
    (folder / "brand.css").write_text("p { color: red }")
    for name, answer in shown_each(folder, color="#7c3aed").items():
        assert "p { color: teal }" in answer.text, name
        assert "p { color: red }" in answer.text, name
        assert f"'sha256-{style_hash(answer)}'" in policy_of(answer)["style-src"], name


@pytest.mark.slow
def test_a_layout_of_ones_own_adds_to_the_head_of_every_page(folder, answers):
    (folder / "layout.html").write_text(
        '{% extends "wsgiauth/layout.html" %}{% block head %}'
        '<link rel="stylesheet" href="/a.css" title="{{ site.name }}">{% endblock %}'
    )
    for name, answer in shown_each(folder, site_name="Ada & Sons").items():
        last = answer.html.head.find_all()[-1]
        assert (last.name, last["href"], last["title"]) == ("link", "/a.css", "Ada & Sons"), name
        assert answer.html.h1.text == answers[name].html.h1.text, name


@pytest.mark.promise(29)
@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        pytest.param("login.html", b"\n{{ page.email }}", "line 2: .*email", id="of another page"),
        pytest.param("error.html", b"{{ password }}", "line 1: .*password", id="an unknown value"),
        pytest.param("register.html", b"\n\n{% if %}", "line 3: Expected", id="no expression"),
        pytest.param("login.html", b"{{ page.next", "line 1: unexpected end", id="an open brace"),
        pytest.param("login.html", b"{{ 1 / 0 }}", "line 1: division by zero", id="an exception"),
        pytest.param(
            "layout.html",
            b"\n{{ site.motto }}",
            "line 2: .*motto",
            id="unknown to the site",
        ),
        pytest.param("login.html", b'{% extends "gone.html" %}', "there is no g", id="no parent"),
        pytest.param("login.html", b"\xff", "login.html: .utf-8", id="a page that is no UTF-8"),
        pytest.param("style.css", b"\xff", "cannot be read", id="a style that is no UTF-8"),
        pytest.param("brand.css", b"\xff", "cannot be read", id="a brand that is no UTF-8"),
        pytest.param("brand.css", b"</style>", "line 1: </style would end", id="an end"),
        pytest.param("style.css", b"{% if a %}", "{% is no CSS", id="a template of a style"),
    ],
)
def test_a_template_that_cannot_work_is_refused_at_the_start(folder, file, content, complaint):
    (folder / file).write_bytes(content)
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        check_template(folder, file if file in PAGES else "login.html")
    assert str(caught.value).startswith("TEMPLATES: ")
    assert file in str(caught.value)


def test_a_folder_that_cannot_be_entered_is_refused_at_the_start(folder, monkeypatch):
    def is_file(path):  # before Python 3.14, for another user than root
        raise PermissionError(f"Permission denied: {path}")

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(ConfigurationError, match=r"TEMPLATES: .* cannot be read: Perm"):
        shown(LOGIN, folder)


@pytest.mark.promise(20)
def test_the_policy_allows_a_script_of_ones_own_where_ours_was(folder):
    (folder / "page.js").write_text("'</b>' < `é`;", encoding="utf-8")
    answer = shown(LOGIN, folder)
    assert answer.html.script.string == "'</b>' < `é`;"
    assert policy_of(answer)["script-src"] == script_source(answer)


@pytest.mark.promise(20)
def test_an_icon_of_ones_own_is_put_into_every_page(folder):
    (folder / "icon.svg").write_text('<svg xmlns="x" class="#"/>', encoding="utf-8")
    icon = "data:image/svg+xml,%3Csvg%20xmlns%3D%22x%22%20class%3D%22%23%22/%3E"
    assert {answer.html.link["href"] for answer in shown_each(folder).values()} == {icon}


def test_a_folder_called_like_a_page_replaces_nothing(folder):
    (folder / "login.html").mkdir()
    assert "<form" in shown(LOGIN, folder).text


def test_the_setting_names_the_folder(settings, folder):
    (folder / "login.html").write_text("<p>Ours</p>", encoding="utf-8")
    app = AuthMiddleware(echo, dataclasses.replace(settings, TEMPLATES=str(folder)))
    assert TestApp(app).get("/auth/login").text == "<p>Ours</p>"


def test_a_further_site_compiles_no_template_again(monkeypatch):
    first = shown(LOGIN).text
    monkeypatch.delattr(jinja2.Environment, "compile")
    assert shown(LOGIN).text == first


def test_a_template_that_has_changed_is_compiled_again(folder):
    for content in ("one", "two"):
        (folder / "login.html").write_text(content)
        assert shown(LOGIN, folder).text == content
