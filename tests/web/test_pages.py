"""The pages, their layout, and templates of a host's own."""

import base64
import dataclasses
import hashlib
import re
from importlib import import_module

import jinja2
import pytest
from webtest import TestApp

from tests.support.own_templates import OWN
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, echo
from tests.web.pages import ERROR, EXAMPLES, PAGES, REQUEST, checked_pages
from wsgiauth import AuthMiddleware
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.oidc import ICONS
from wsgiauth.web.pages import Pages, ProviderButton

KEYS = next(page.keys for page in EXAMPLES if page.template == "keys.html" and page.keys)
SET_UP = next(page for page in EXAMPLES if page.template == "totp.html" and page.set_up)
APPS = SET_UP.devices
LOGIN, REGISTER = PAGES["login.html"], PAGES["register.html"]
HOSTILE = (
    """</title></p>"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;{{7*7}}{%if%}"""
)

every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def shown(page, folder=None, **options):
    """Return how a page is answered."""
    pages = Pages("/auth", folder, **options)
    return TestApp(pages.render(REQUEST, page)).get("/", expect_errors=True)


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


def structure(html):
    return [(element.name, sorted(element.attrs)) for element in html.find_all()]


def contents(html):
    values = [value for element in html.find_all() for value in element.attrs.values()]
    return [*map(str, values), *html.main.strings, str(html.title.string)]


def filled(page, value):
    """Return the page with every text replaced."""
    texts = {name: value for name, present in vars(page).items() if isinstance(present, str)}
    if hasattr(page, "errors"):
        texts["errors"] = {"email": [value], "username": [value], "password": [value]}
    return page.replaced(**texts)


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


@pytest.mark.parametrize("name", PAGES)
def test_a_template_names_the_class_of_its_page(name):
    named = re.search(r"{# page: (\S+)\.(\w+)", OWN[name].read_text(encoding="utf-8"))
    assert getattr(import_module(f"wsgiauth.{named[1]}"), named[2]) is type(PAGES[name])


# What every page is


@pytest.mark.promise(20)
@every_page
def test_a_page_lets_only_itself_be_shown_and_styled(page):
    answer = shown(page)
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
    }


@pytest.mark.promise(20)
@every_page
def test_a_page_leads_to_other_sites_only_by_the_buttons_of_providers(page):
    origin = "http://127.0.0.1:8080"
    answer = shown(page, provider_origins=(origin,))
    by_url, by_name = (
        answer.html.select(each)
        for each in (
            "button[formaction]:not([formaction='/auth/code'])",
            "button[name=connect]:not([value=on]), button[name=provider]",
        )
    )
    buttons = by_url or by_name
    found = [(each.get("value"), each.get("formaction")) for each in buttons]
    expected = [(None, each.url) if by_url else (each.name, None) for each in page.providers]
    assert found == expected
    expected = f"'self' https: {origin}" if buttons else "'self'"
    assert policy_of(answer)["form-action"] == expected


@pytest.mark.promise(20)
@pytest.mark.promise(58)
def test_only_pages_with_a_passkey_button_have_a_script_of_their_own():
    assert {each.script for each in PAGES.values()} == {"", "passkeys.js"}
    for page in EXAMPLES:
        html = shown(page).html
        assert bool(page.script) is bool(html.find(attrs={"data-options": True}))
        scripts = [OWN[name] for name in ("page.js", page.script) if name]
        found = [each.string for each in html.find_all("script")]
        assert found == [each.read_text("utf-8") for each in scripts]


@pytest.mark.promise(20)
@every_page
def test_a_page_has_nothing_from_elsewhere(page):
    html = shown(page).html
    assert html.find_all(["iframe", "object", "embed", "base", "img"]) == []
    (link,) = html.find_all("link")
    assert (link["rel"], link["href"].partition(",")[0]) == (["icon"], "data:image/svg+xml")
    attributes = {attribute for element in html.find_all() for attribute in element.attrs}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "src")}


@every_page
def test_a_name_from_right_to_left_stays_beside_its_label(page):
    # The direction of a block would move the name to the other side.
    assert shown(page).html.select(":is(dd, h2, li, p, td, th)[dir]") == []


@every_page
def test_a_list_without_markers_is_a_list_in_safari(page):
    # VoiceOver reads a list with `list-style: none` as one only if it has the role.
    assert shown(page).html.select(":is(ul, ol):not([role=list])") == []


@pytest.mark.promise(20)
@every_page
def test_every_value_is_escaped(page):
    plain, hostile = shown(filled(page, "plain")).html, shown(filled(page, HOSTILE)).html
    assert structure(hostile) == structure(plain)
    assert contents(hostile) == [text.replace("plain", HOSTILE) for text in contents(plain)]


@every_page
def test_the_comments_of_a_template_are_not_sent(page):
    assert "<!--" not in shown(page).text
    assert "{#" not in shown(page).text


@every_page
def test_the_name_of_the_site_is_in_the_title_and_above_the_heading(page):
    html = shown(page, site_name="Ada & Sons").html
    assert html.title.text.endswith(" · Ada & Sons")
    assert html.hgroup.p.text == "Ada & Sons"
    unnamed = shown(page).html
    assert (unnamed.hgroup.p, "·" in unnamed.title.text) == (None, False)


@pytest.mark.promise(20)
@every_page
def test_the_name_of_the_site_is_escaped(page):
    hostile = shown(page, site_name=HOSTILE).html
    assert structure(hostile) == structure(shown(page, site_name="plain").html)
    assert hostile.hgroup.p.text == HOSTILE


def test_the_name_of_the_site_may_be_of_another_encoding():
    name = b"Caf\xe9".decode(errors="surrogateescape")  # as os.environ decodes it
    assert shown(LOGIN, site_name=name).html.hgroup.p.text == "Caf?"


@every_page
def test_the_logo_stands_for_the_name_above_the_heading(page):
    html = shown(page, site_name="Ada & Sons", logo="/logo.svg").html
    (logo,) = html.find_all("img")
    assert (logo["src"], logo["alt"]) == ("/logo.svg", "Ada & Sons")
    assert logo.parent == html.hgroup.p
    assert html.hgroup.p.text == ""
    assert html.title.text.endswith(" · Ada & Sons")


@every_page
def test_a_dark_page_has_a_logo_of_its_own(page):
    html = shown(page, site_name="Ada & Sons", logo="/logo.svg", logo_dark="/dark.svg").html
    (picture,) = html.hgroup.p.find_all("picture")
    assert structure(picture) == [("source", ["media", "srcset"]), ("img", ["alt", "src"])]
    assert picture.source["srcset"] == "/dark.svg"
    assert picture.source["media"] == "screen and (prefers-color-scheme: dark)"
    assert (picture.img["src"], picture.img["alt"]) == ("/logo.svg", "Ada & Sons")


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
@every_page
def test_sources_add_to_the_policy_for_fonts_and_images_alone(page):
    sources = ("https://fonts.example.org", "https://images.example.org")
    policy, before = policy_of(shown(page, sources=sources)), policy_of(shown(page))
    added = " ".join(sources)
    assert policy == before | {
        "img-src": f"'self' data: {added}",
        "font-src": f"'self' {added}",
    }


@pytest.mark.parametrize("icon", ICONS)
def test_a_provider_has_one_of_the_shapes(icon):
    button = ProviderButton("a", "Example", "/auth/oidc/a", icon)
    html = shown(LOGIN.replaced(providers=(button,))).html
    drawn = html.find("button", formaction="/auth/oidc/a")
    assert drawn.svg.path["d"]
    assert drawn.text == "Log in with Example"


def test_a_provider_has_an_image_of_the_site_or_none():
    buttons = [ProviderButton(each, each, f"/{each}", f"/{each}.svg") for each in "ab"]
    html = shown(LOGIN.replaced(providers=(buttons[0], buttons[1]._replace(icon="")))).html
    with_image, without = html.find_all("button", formaction=["/a", "/b"])
    assert (with_image.img["src"], with_image.img["alt"]) == ("/a.svg", "")
    assert without.find(["img", "svg"]) is None


@pytest.mark.parametrize("template", ["login.html", "register.html", "verified_register.html"])
@pytest.mark.parametrize("is_above", [False, True], ids=["below", "above"])
def test_the_buttons_of_providers_are_below_or_above_the_form(template, is_above):
    html = shown(PAGES[template], providers_above=is_above).html
    buttons = html.find("div", class_="providers")
    assert bool(buttons.find_next("input", id="username")) is is_above
    assert bool(buttons.find_previous("input", id="username")) is not is_above
    assert len(html.find_all("div", class_="above")) == is_above


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
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/auth/login", {"username": HOSTILE, "password": PASSWORD}),
        ("/auth/register", {"username": HOSTILE, "email": EMAIL, "password": PASSWORD}),
        ("/auth/register", {"username": "Eve", "email": HOSTILE, "password": PASSWORD}),
    ],
    ids=["login", "username", "email"],
)
def test_a_form_that_comes_back_holds_what_was_typed_but_no_password(client, path, fields):
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


@pytest.mark.parametrize(
    ("page", "title"),
    [
        pytest.param(LOGIN, "Error: Log in", id="a message"),
        pytest.param(REGISTER, "Error: Create an account", id="a field"),
        pytest.param(PAGES["admin/action.html"], "Delete the group", id="not refused"),
        pytest.param(
            PAGES["admin/action.html"].replaced(message="No."),
            "Error: Delete the group",
            id="in the panel",
        ),
        pytest.param(LOGIN.replaced(message="", notice="Done."), "Log in", id="a notice"),
        pytest.param(ERROR, "No such page", id="without a form"),
    ],
)
def test_the_title_of_a_page_whose_form_was_refused_says_so(page, title):
    html = shown(page).html
    assert html.title.text == title
    assert html.h1.text == title.removeprefix("Error: ")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (LOGIN.replaced(remember_days=1), "for up to 1 day\n"),
        (LOGIN.replaced(remember_days=2), "for up to 2 days\n"),
        (PAGES["forgot_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["forgot_sent.html"].replaced(minutes=2), "within the next 2 minutes."),
        (PAGES["email_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["complete_sent.html"].replaced(minutes=1), "within the next 1 minute."),
        (PAGES["verified_register_sent.html"].replaced(minutes=1), "within the next 1 minute."),
    ],
)
def test_a_number_chooses_singular_or_plural(page, text):
    assert text in shown(page).html.main.text


@pytest.mark.parametrize("page", [LOGIN, REGISTER], ids=["login", "register"])
def test_every_field_names_the_text_that_says_why_it_was_refused(page):
    html = shown(filled(page, "No.")).html
    for field in html.find_all("input", id=True):
        reason, *_ = field["aria-describedby"].split()
        assert html.find(id=reason).text == "No."


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("page", "focused"),
    [
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
        (state("passkeys.html", passkeys=()), "name"),
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
    ],
)
def test_the_focus_is_where_one_types_next(page, focused):
    fields = shown(page).html.find_all(autofocus=True)
    found = [each["value" if each["type"] == "checkbox" else "name"] for each in fields]
    assert found == ([focused] if focused else [])


@pytest.mark.parametrize(
    ("errors", "focused"), [({}, []), (wrong("code"), ["code"]), (wrong("name"), ["name"])]
)
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


def test_a_layout_of_ones_own_is_that_of_every_page(folder):
    (folder / "layout.html").write_text("<p>{% block title %}{% endblock %}</p>")
    titles = [shown(page, folder).html.p.text for page in PAGES.values()]
    assert titles == [shown(page).html.h1.text for page in PAGES.values()]


@pytest.mark.promise(20)
def test_values_are_escaped_in_a_template_of_ones_own_too(folder):
    (folder / "error.html").write_text("<p title='{{ page.title }}'>{{ page.detail }}</p>")
    html = shown(ERROR.replaced(title=HOSTILE, detail=HOSTILE), folder).html
    assert structure(html) == [("p", ["title"])]
    assert (html.p["title"], html.p.text) == (HOSTILE, HOSTILE)


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "style",
    [
        pytest.param("p { color: teal }", id="short"),
        pytest.param("p {\r\n  color: teal;\r\n}\r\n", id="lines of Windows"),
        pytest.param("p::before { content: '{{ 7 }} · é' }", id="braces and more"),
        pytest.param("", id="empty"),
    ],
)
@pytest.mark.parametrize("file", ["style.css", "brand.css"])
def test_the_policy_allows_a_style_of_ones_own(folder, file, style):
    (folder / file).write_bytes(style.encode())
    for page in PAGES.values():
        answer = shown(page, folder, color="#7c3aed")
        assert style.replace("\r\n", "\n") in answer.text
        assert f"'sha256-{style_hash(answer)}'" in policy_of(answer)["style-src"]


def test_a_layout_of_ones_own_adds_to_the_head_of_every_page(folder):
    (folder / "layout.html").write_text(
        '{% extends "wsgiauth/layout.html" %}{% block head %}'
        '<link rel="stylesheet" href="/a.css" title="{{ site.name }}">{% endblock %}'
    )
    for page in PAGES.values():
        html = shown(page, folder, site_name="Ada & Sons").html
        last = html.head.find_all()[-1]
        assert (last.name, last["href"], last["title"]) == ("link", "/a.css", "Ada & Sons")
        assert html.h1.text == shown(page).html.h1.text


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
        checked_pages(folder)
    assert str(caught.value).startswith("TEMPLATES: ")
    assert file in str(caught.value)


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
    assert {shown(page, folder).html.link["href"] for page in PAGES.values()} == {icon}


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
