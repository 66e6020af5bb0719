"""The HTML pages: one template and one typed object each, in one layout (Jinja2).

A host's folder replaces or extends any template. What is wrong with one is refused at start.
"""

import base64
import hashlib
import os
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.responses import Header, Response

TEMPLATES = Path(__file__).parents[1] / "templates"


class Page:
    """What a template shows, as its attribute `page`. Subclasses are dataclasses.

    Attributes:
        template: The file's name.
    """

    template: ClassVar[str]


@dataclass(frozen=True)
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


class Site(NamedTuple):
    """What the layout shows of the site.

    Attributes:
        name: SITE_NAME, or nothing.
        icon: A data URL.
        style: The style sheet, which is not escaped.
    """

    name: str
    icon: str
    style: Markup


class Pages:
    """Renders pages; every value is escaped.

    Args:
        mount: The path of /auth on this site, where links to the login page lead.
        folder: Templates in it replace wsgiauth's own of the same name. They can extend those as
            "wsgiauth/login.html" and the like.
        site_name: The name of the site, in the title and above the heading of every page.
        samples: An example of each page; all are rendered once, so that a mistake in a template
            is found at start.

    Raises:
        ConfigurationError: A template is wrong; the message names the file and the line.
    """

    def __init__(
        self,
        mount: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        site_name: str | None = None,
        samples: Iterable[Page] = (),
    ) -> None:
        self.mount = mount
        own = jinja2.FileSystemLoader(TEMPLATES)
        folders = [] if folder is None else [jinja2.FileSystemLoader(folder)]
        self._loader = jinja2.ChoiceLoader([*folders, own, jinja2.PrefixLoader({"wsgiauth": own})])
        self._environment = jinja2.Environment(
            loader=self._loader,
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
            auto_reload=False,
        )
        # Texts go through gettext; catalogues are yet to come.
        self._environment.install_null_translations(newstyle=True)  # type: ignore[attr-defined]
        style = self._read("style.css")
        self._site = Site(
            name=site_name or "",
            icon=f"data:image/svg+xml,{quote(self._read('icon.svg'))}",
            style=Markup(style),  # noqa: S704 - from a file of the host's or ours
        )
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self._policy = (
            f"default-src 'none'; style-src 'self' 'sha256-{digest}'; img-src 'self' data:; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        for page in (ErrorPage(404, "Title", "Detail.", "/", "/login", "Log in"), *samples):
            self._check(page)

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
        html = self._html(page)
        body = html.encode(errors="replace")  # SITE_NAME, from an environment that is not UTF-8
        return Response(status, body, "text/html; charset=utf-8", headers, policy=self._policy)

    def _html(self, page: Page) -> str:
        return self._environment.get_template(page.template).render(page=page, site=self._site)

    def _check(self, page: Page) -> None:
        try:
            self._html(page)
        except jinja2.TemplateSyntaxError as error:
            raise _mistake(f"{error.filename or error.name}, line {error.lineno}", error) from None
        except jinja2.TemplateNotFound as error:
            where = _line_of(error) or page.template
            raise ConfigurationError(f"TEMPLATES: {where}: there is no {error.name}") from None
        except Exception as error:  # a template is a program, which can raise anything
            raise _mistake(_line_of(error) or page.template, error) from None

    def _read(self, name: str) -> str:
        try:
            return self._loader.get_source(self._environment, name)[0]
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"TEMPLATES: {name} cannot be read: {error}") from None


def _line_of(error: Exception) -> str | None:
    """Return the file and the line of the template in which an error was raised, if in one."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    frame = next((each for each in frames if each.filename.endswith(".html")), None)
    return frame and f"{frame.filename}, line {frame.lineno}"


def _mistake(where: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"TEMPLATES: {where}: {error}")
