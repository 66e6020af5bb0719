"""The HTML pages: one template and one typed object each, in one layout (Jinja2).

A host's folder replaces or extends any template. What is wrong with one is refused at start.
"""

import base64
import hashlib
import os
from http import HTTPStatus
from typing import ClassVar, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from wsgiauth.web.responses import Header, Response
from wsgiauth.web.templates import Content, Templates

SCRIPTS = ("passkeys.js",)


class Page(Content):
    """What a template shows, as its attribute `page`.

    Attributes:
        template: The file's name.
    """

    template: ClassVar[str]

    @property
    def script(self) -> str:
        """The file's name of the one script that the page can run; nothing for most pages."""
        return ""


class ErrorPage(Page):
    """A failure, for a person.

    Attributes:
        status: The HTTP status.
        title: The headline.
        detail: A sentence.
        home_url: Where the site begins.
        login_url: Where a login may help, or None if it does not.
        login_text: What the link to it says.
    """

    template = "error.html"

    status: int
    title: str
    detail: str
    home_url: str
    login_url: str | None = None
    login_text: str = ""


class Branding(NamedTuple):
    """What the layout shows of the site.

    Attributes:
        name: SITE_NAME, or nothing.
        logo: The path of an image, or nothing.
        icon: A data URL.
        style: The style sheet, which is not escaped.
    """

    name: str
    logo: str
    icon: str
    style: Markup


class Pages:
    """Renders pages; every value is escaped.

    Args:
        mount: The path of /auth on this site, where links to the login page lead.
        folder: Templates in it replace wsgiauth's own of the same name. They can extend those as
            "wsgiauth/login.html" and the like.
        site_name: The name of the site, in the title and above the heading of every page.
        logo: The path of an image that stands for the name above the heading.
        sources: Origins from which a page can load fonts and images, besides this site.

    Raises:
        ConfigurationError: The layout is wrong; the message names the file and the line.
    """

    def __init__(
        self,
        mount: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        site_name: str | None = None,
        logo: str | None = None,
        sources: tuple[str, ...] = (),
    ) -> None:
        self.mount = mount
        self._templates = Templates(folder, autoescape=True)
        style = self._templates.read("style.css")
        self._branding = Branding(
            name=site_name or "",
            logo=logo or "",
            icon=f"data:image/svg+xml,{quote(self._templates.read('icon.svg'))}",
            style=Markup(style),  # noqa: S704 - from a file of the host's or ours
        )
        scripts = {"": "", **{name: self._templates.read(name) for name in SCRIPTS}}
        self._scripts = {name: Markup(each) for name, each in scripts.items()}  # noqa: S704 - as above
        self._policies = {name: _policy(style, each, sources) for name, each in scripts.items()}
        self.check(
            ErrorPage(
                status=404,
                title="Title",
                detail="Detail.",
                home_url="/",
                login_url="/login",
                login_text="Log in",
            )
        )

    def render(
        self,
        page: Page,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        headers: tuple[Header, ...] = (),
    ) -> Response:
        """Return the answer that shows a page.

        Args:
            page: What it shows.
            status: The HTTP status.
            headers: Further headers.
        """
        script = self._scripts[page.script]
        html = self._templates.render(page.template, page=page, site=self._branding, script=script)
        body = html.encode(errors="replace")  # SITE_NAME, from an environment that is not UTF-8
        policy = self._policies[page.script]
        return Response(status, body, "text/html; charset=utf-8", headers, policy=policy)

    def check(self, page: Page) -> None:
        """Render an example of a page, so that a mistake in its template is found at start.

        Raises:
            ConfigurationError: The template is wrong; the message names the file and the line.
        """
        script = self._scripts[page.script]
        self._templates.check(page.template, page=page, site=self._branding, script=script)


def _policy(style: str, script: str, sources: tuple[str, ...]) -> str:
    """Return the Content-Security-Policy of a page with this style sheet and this script, if any.

    A hash instead of a file or a number used once: no other script runs, whoever put it there, and
    a page needs no second request.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'self' {_hash(style)}",
            *([f"script-src {_hash(script)}"] if script else []),
            " ".join(("img-src 'self' data:", *sources)),
            " ".join(("font-src 'self'", *sources)),
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"
