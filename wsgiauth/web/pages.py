"""Renders the HTML pages: each has a template and a typed object, in one layout (Jinja2)."""

import base64
import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple
from urllib.parse import quote, urlencode
from wsgiref.types import WSGIEnvironment

from markupsafe import Markup

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.guessing.patterns import RUNS
from wsgiauth.languages import Languages
from wsgiauth.languages.language import ENGLISH, Language
from wsgiauth.parts import Several
from wsgiauth.web import brand
from wsgiauth.web.readers import Readers
from wsgiauth.web.responses import Header, Response, language_headers
from wsgiauth.web.templates import NO_FOLDERS, Content, Templates
from wsgiauth.web.urls import LOGIN_AT, origin_of, path_asked_for, root_url, safe_next

PASSKEYS = "passkeys.js"


class UrlBelow:
    """The percent-encoded URL of a path below /auth, as an attribute of a page.

    Example:
        class HelpPage(Page):
            template = "badges_help.html"
            badges_url = UrlBelow("badges")
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __get__(self, page: "Page", kind: type["Page"]) -> str:
        return f"{page.mount}/{self._path}"


class ProviderButton(NamedTuple):
    """A button that leads to a provider of logins."""

    name: str  # in OIDC_PROVIDERS
    title: str  # for people
    url: str  # of its form
    icon: str = ""  # the path of an image, or the name of a shape in `macros.html`


class Page(Content):
    """The variable `page` of a template.

    Attributes:
        template: The name of its file.
        providers, language, languages: Internal.

    Example:
        class BadgePage(Page):
            template = "badges/badge.html"
            name: str
    """

    template: ClassVar[str]
    providers: tuple[ProviderButton, ...] = ()  # their forms can lead to other sites
    destination: str = ""  # where its form leads, unless `next` does; see `web.urls.Destinations`
    form_source: str = ""  # where else its form leads: a source of `form-action` (CSP)

    # `Pages` sets these for each request.
    mount: str = ""  # the percent-encoded path of /auth
    home_url: str = ""  # the first page of the site
    language: Language = ENGLISH
    languages: tuple[Language, ...] = ()  # for the reader to choose from
    this_url: str = ""  # the URL of the page, which that choice leads back to
    # The field `account` of the form of languages, and of all other forms. They differ on a page of
    # a pending login.
    reader: str = ""
    shown_to: str = ""
    person: str = ""  # the label of the user who is logged in

    account_url: ClassVar[UrlBelow] = UrlBelow("account")
    language_url: ClassVar[UrlBelow] = UrlBelow("language")

    @property
    def is_refused(self) -> bool:
        """Whether it shows a refused form, which its title then says."""
        return False

    @property
    def is_shown_once(self) -> bool:
        """Whether it shows a secret that is lost when the reader chooses another language."""
        return False

    @property
    def script(self) -> str:
        """The file of a script that the page runs beside `page.js`, or "".

        It is beside the template. It can send requests to the site.
        """
        return ""


class OnwardRedirects(Several):
    """The part of a site with URLs that redirect to other sites, after a login, for example."""

    @abstractmethod
    def source_after(self, destination: str, mount: str) -> str:
        """Return where a `next` leads in the end, as a source of `form-action` (CSP), or "".

        Args:
            destination: A safe `next`; see `web.urls.Destinations`.
            mount: The percent-encoded path of /auth.
        """

    @abstractmethod
    def name_for(self, destination: str, mount: str) -> str:
        """Return the username or email address that a `next` suggests for the login, or ""."""


class Around(NamedTuple):
    """The surroundings of an error on its page, with a link back."""

    layout: str = "layout.html"  # the template that it extends
    back_url: str = ""
    back_text: str = ""
    frame: object = None  # for the layout of the staff panel


PLAIN = Around()  # for anonymous clients


class ErrorPage(Page):
    """A failure, for a person."""

    template = "error.html"
    around: Around = PLAIN
    status: int
    title: str
    detail: str  # a sentence
    login_url: str | None = None  # if another login can help
    login_text: str = ""  # of the link to `login_url`
    links: Mapping[str, str] = {}  # the texts of links to pages that help, by URL
    # After a form: the one of `links` that leads back to it; "": the script alone can.
    form_url: str | None = None
    # A form without secrets: a button sends it again, with these fields.
    again_url: str = ""
    again_fields: tuple[tuple[str, str], ...] = ()
    # With `providers`, a button begins the login at the first one again.
    next: str = ""  # the page after that login
    remember: bool = False  # whether the session outlives the browser window

    @property
    def frame(self) -> object:
        """For the layout of the staff panel."""
        return self.around.frame


class SiteLinks(NamedTuple):
    """Where pages lead for help, the terms of use and the privacy policy; "" is nowhere."""

    support: str = ""  # SUPPORT_URL
    terms: str = ""  # TERMS_URL
    privacy: str = ""  # PRIVACY_URL

    def elsewhere(self) -> "SiteLinks":
        """Return the links for a page of another host, where a path is another page."""
        return SiteLinks(*("" if each.startswith("/") else each for each in self))


class StaffSection(NamedTuple):
    """A section of the staff panel, in the navigation of its pages.

    Example:
        section = StaffSection("badges", _("Badges"), icon="check")
    """

    name: str  # in the path, below /auth/admin; empty for its first page
    title: str
    icon: str = ""  # its name in `macros.html`


class Branding(NamedTuple):
    """The variable `site` of a template."""

    name: str  # SITE_NAME, or ""
    logo: str  # the path of an image, or ""
    logo_dark: str  # the path of an image for dark pages, or ""
    icon: str  # a data URL
    style: Markup  # the style sheet, which is not escaped
    password_rules: dict[str, object]  # the rules that `page.js` can check
    usernames: bool  # whether people have a username, not an email address alone
    password_login: bool  # whether users log in with a password
    providers_above: bool = False  # whether the buttons of providers are above the form
    links: SiteLinks = SiteLinks()
    staff_sections: tuple[StaffSection, ...] = ()

    def elsewhere(self) -> "Branding":
        """Return the branding of a page that another host shows."""
        return self._replace(logo="", links=self.links.elsewhere())


class Pages:
    """Renders pages; every value is escaped.

    Args:
        folder, features: See `Templates`.
        readers: Chooses languages; by default, Accept-Language does.
        logo: The path of an image to show above the heading instead of the name.
        logo_dark: The path of the one to show on dark pages, if it is another one.
        color: The accent, such as "#0b6868".
        sources: Further origins of fonts and images.
        provider_origins: The origins of providers without https, at this host.
        is_logout_elsewhere: Whether a logout can lead to a provider; most pages have its form.
        onward: The parts of the site whose URLs redirect to other sites.
        staff_sections: The sections of the staff panel.
        headlines: Of error pages, by the codes of features.
    """

    def __init__(
        self,
        mount: str,
        folder: str | os.PathLike[str] | None = None,
        features: Mapping[str, Path] = NO_FOLDERS,
        *,
        readers: Readers | None = None,
        site_name: str | None = None,
        logo: str | None = None,
        logo_dark: str | None = None,
        color: str | None = None,
        sources: tuple[str, ...] = (),
        password_min_length: int = 8,
        usernames: bool = True,
        password_login: bool = True,
        providers_above: bool = False,
        links: SiteLinks = SiteLinks(),  # noqa: B008 - a constant
        provider_origins: tuple[str, ...] = (),
        is_logout_elsewhere: bool = False,
        onward: Sequence[OnwardRedirects] = (),
        staff_sections: Iterable[StaffSection] = (),
        headlines: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.mount = mount
        self.headlines = headlines
        self.readers: Readers = readers or Readers(Languages())
        self._is_logout_elsewhere = is_logout_elsewhere
        self._onward = onward
        self._templates = Templates(folder, features, autoescape=True)
        # `check` compares the templates of a folder with those that it replaces.
        self._own_templates = [] if folder is None else [Templates(None, features, autoescape=True)]
        style = brand.style_sheet(self._templates, color)
        self._branding = Branding(
            name=site_name or "",
            logo=logo or "",
            logo_dark=logo_dark or "",
            icon=f"data:image/svg+xml,{quote(brand.icon(self._templates, color))}",
            style=Markup(style),  # noqa: S704 - a file of the site or of wsgiauth
            password_rules={
                "shortest": password_min_length,
                "runs": RUNS,
                "usernames": usernames,
            },
            usernames=usernames,
            password_login=password_login,
            providers_above=providers_above,
            links=links,
            staff_sections=tuple(staff_sections),
        )
        common = Markup(brand.script(self._templates, "page.js"))  # noqa: S704 - as above
        of_features = (path.name for each in features.values() for path in each.glob("*.js"))
        self._scripts = {"": [common]}
        for name in (PASSKEYS, *of_features):
            script = Markup(brand.script(self._templates, name))  # noqa: S704 - as above
            self._scripts[name] = [common, script]
        # Browsers apply form-action to all redirects after a form, also to a provider's redirects,
        # and to the one that leads to `next`: see `render`.
        targets = {False: ("'self'",), True: ("'self'", "https:", *provider_origins)}
        self._policies = {
            (name, has_providers): _policy(style, scripts, sources, targets[has_providers])
            for name, scripts in self._scripts.items()
            for has_providers in targets
        }
        if folder is not None:
            self.check(
                ErrorPage(
                    status=404, title="Title", detail="Detail.", login_url="/", login_text="Log in"
                )
            )

    def render(
        self,
        environ: WSGIEnvironment,
        page: Page,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        headers: tuple[Header, ...] = (),
    ) -> Response:
        """Return a response with a page."""
        root, scripts = root_url(environ), self._scripts[page.script]
        is_elsewhere = LOGIN_AT in environ  # another host shows the page, which can send it no form
        language = self.readers.language(environ)
        reader = self.readers.form_account(environ)
        page = page.replaced(
            mount=root + self.mount,
            home_url=f"{root}/",
            language=language,
            languages=() if page.is_shown_once or is_elsewhere else tuple(self.readers.languages),
            this_url=_url_of(page, environ),
            reader=reader,
            shown_to=page.shown_to or reader,
            person=self.readers.label(environ),
        )
        branding = self._branding.elsewhere() if is_elsewhere else self._branding
        html = self._templates.render(
            page.template, language, page=page, site=branding, scripts=scripts
        )
        body = html.encode(errors="replace")  # SITE_NAME, from an environment that is not UTF-8
        policy = self._policies[page.script, self._is_logout_elsewhere or bool(page.providers)]
        source = page.form_source or self._source_after(page)
        if source:
            policy = policy.replace("form-action 'self'", f"form-action 'self' {source}")
        headers = (*headers, *language_headers(language))
        return Response(status, body, "text/html; charset=utf-8", headers, policy=policy)

    def name_for(self, environ: WSGIEnvironment, destination: str) -> str:
        """Return the username or email address that a `next` suggests for the login, or ""."""
        mount = root_url(environ) + self.mount
        names = (each.name_for(destination, mount) for each in self._onward)
        return next(filter(None, names), "")

    def _source_after(self, page: Page) -> str:
        """Return the other origin to which the form of a page leads, or ""."""
        destination: str = page.destination or getattr(page, "next", "")
        if not destination:
            return ""
        further = (each.source_after(destination, page.mount) for each in self._onward)
        return origin_of(destination) or next(filter(None, further), "")

    def check(self, page: Page, feature: str = "") -> str:
        """Return an example of a page, to find a mistake in its template at start.

        Args:
            feature: The feature of others that has the page.

        Raises:
            ConfigurationError: The template raises an exception, its script is missing, or a form
                that lacks the field `account` would always be refused.
        """
        from wsgiauth.web.account_field import EXAMPLE, LINE, forms_without_account

        scripts = self._scripts.get(page.script)
        if scripts is None:
            owner = f"The feature {feature}: " if feature else ""
            raise ConfigurationError(
                f"{owner}{page.template} needs {page.script}, which is not beside it"
            )
        page = page.replaced(
            mount=self.mount, home_url="/", reader=EXAMPLE, shown_to=EXAMPLE, person="ada"
        )
        html, *own = (
            each.check(
                page.template, ENGLISH, feature, page=page, site=self._branding, scripts=scripts
            )
            for each in (self._templates, *self._own_templates)
        )
        for path in forms_without_account(html, *own) if own else ():
            raise ConfigurationError(
                f"TEMPLATES: {page.template}, or a template that it uses: the form to"
                f" {path or 'its own address'} lacks this line: {LINE}"
            )
        return html


def _url_of(page: Page, environ: WSGIEnvironment) -> str:
    """Return the URL of a page, with the query that it needs if it is the answer to a form."""
    url = path_asked_for(environ)
    if environ.get("REQUEST_METHOD") == "POST":
        named = {name: getattr(page, name, "") for name in ("token", "next")}
        query = urlencode({name: value for name, value in named.items() if value})
        url = f"{url}{'&' if '?' in url else '?'}{query}" if query else url
    return safe_next(url, "")


def _policy(
    style: str, scripts: Sequence[str], sources: tuple[str, ...], targets: tuple[str, ...]
) -> str:
    """Return the Content-Security-Policy of a page with this style sheet and these scripts.

    Unlike a nonce, a hash admits no injected script. Unlike a file, an inline script needs no
    second request.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'self' {_hash(style)}",
            f"script-src {' '.join(map(_hash, scripts))}",
            # The script of passkeys, for example, loads its page again, for options that have not
            # expired.
            *(["connect-src 'self'"] if len(scripts) > 1 else []),
            " ".join(("img-src 'self' data:", *sources)),
            " ".join(("font-src 'self'", *sources)),
            " ".join(("form-action", *targets)),
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


@lru_cache(maxsize=8)  # further sites in the process have the same scripts
def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"
