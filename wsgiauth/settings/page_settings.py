"""The settings of the cookie, other origins, and the pages."""

import os
from dataclasses import dataclass

from wsgiauth.settings import checks
from wsgiauth.settings.kinds import choice, parse_auto_or_on, path, string, switch, words
from wsgiauth.settings.risks import forgeable_origins
from wsgiauth.web.urls import is_safe_path


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The part of `Settings` for the cookie, other origins, and the pages."""

    COOKIE_NAME: str = string(
        "wsgiauth",
        "the name of the browser's cookie; over https, `__Host-` is put before it",
        expected="up to 64 of the characters that RFC 6265 allows, without a prefix such as"
        " __Host-, which https adds",
        is_valid=checks.is_cookie_name,
    )
    COOKIE_SECURE: str = choice(
        ("auto", "on"),
        "whether the cookie is `Secure`; `auto` follows `wsgi.url_scheme`",
        parse=parse_auto_or_on,
    )
    TRUSTED_ORIGINS: tuple[str, ...] = words(
        "other origins whose pages can send requests with the cookie",
        expected="a list of origins as browsers write them, such as https://app.example.org",
        is_valid=checks.is_origin,
        risk=forgeable_origins,
    )
    SITE_NAME: str | None = string(
        None, "the name of the site, in the title and above the heading of every page"
    )
    SITE_LOGO: str | None = string(
        None,
        "the logo of the site, which replaces its name above the heading",
        expected="a path of the site such as /static/logo.svg",
        is_valid=is_safe_path,
    )
    PAGE_SOURCES: tuple[str, ...] = words(
        "other origins from which the pages can load fonts and images",
        expected="a list of https origins such as https://fonts.example.org",
        is_valid=checks.is_page_source,
    )
    TEMPLATES: str | os.PathLike[str] | None = path(
        "a folder of templates that replace or extend the pages",
        expected="a folder that exists",
        problem=checks.folder_problem,
    )
    ADMIN_PANEL: bool = switch(True, "whether staff administer accounts at /auth/admin")
