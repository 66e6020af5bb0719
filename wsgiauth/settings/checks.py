"""The forms of settings (cookie names, origins, words, folders), and the risks of valid ones.

A risk completes a sentence that begins with the name of the setting.
"""

import os
import re
import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from wsgiauth.web.urls import HOST, NAME, is_safe_path

MAX_WORD_LENGTH = 254  # characters
MAX_TAG_LENGTH = 35  # characters of a language tag: RFC 5646 section 4.4.1
MINUTES, HOURS, DAYS = 30 * 24 * 60, 30 * 24, 30  # of a month

# As browsers write them (the URL standard, "serialization of an origin"); compared exactly.
_ORIGIN = r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?"
_DEFAULT_PORT = r"http:.*:80|https:.*:443"
# Origins that anyone on the network can impersonate; localhost is not on the network.
_FORGEABLE = r"http://(?!((.+\.)?localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?$)"
# The rest of a URL after its origin, of the characters of RFC 3986 section 2 alone.
_REST_OF_URL = r"([/?#]([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?"
# RFC 6068 with one address, and headers such as ?subject=Login
_MAILTO = r"mailto:[A-Za-z0-9.!$'*+_~%-]+@[A-Za-z0-9.-]+(\?[A-Za-z0-9.!$&'*+,;=_~%-]+)?"
# RFC 6265 section 4.1.1: a token. Browsers give these prefixes a special meaning.
_COOKIE_NAME = r"(?!__(?i:host|secure|http)-)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}"
# A name, or an absolute URL without a query and a fragment (RFC 8707 section 2).
_AUDIENCE = r"[A-Za-z0-9][A-Za-z0-9._-]*|[a-z][a-z0-9+.-]*:[A-Za-z0-9._~:/%@!$&'()*+,;=\[\]-]+"
_MAX_AUDIENCE = 200  # characters
# Labels below the domain of a country under which it registers domains; and hosts of pages of many
# owners. Browsers have the whole list (https://publicsuffix.org) and refuse cookies for each.
_REGISTRY = r"(ac|co|com|edu|gob|gouv|gov|ltd|mil|net|org|plc)\.[a-z]{2}|(go|ne|or)\.(jp|kr)"
_HOSTED = (
    r"(amplifyapp|appspot|azurewebsites|blogspot|cloudfront|firebaseapp|fly|github|gitlab|glitch"
    r"|herokuapp|neocities|netlify|onrender|pages|pythonanywhere|readthedocs|surge|vercel|web"
    r"|workers)\.(app|com|dev|io|me|net|org|sh)"
)
_MINIMUM_SAFE_ROUNDS = 10  # OWASP Password Storage Cheat Sheet


def processors() -> int:
    """Return the number of processors that this process can use."""
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))  # Linux only
    return len(affinity(0))


def is_word(word: str) -> bool:
    """Return whether `word` is neither empty nor too long to compare with passwords."""
    return 0 < len(word) <= MAX_WORD_LENGTH


def is_cookie_name(name: str) -> bool:
    """Return whether browsers accept a cookie of this name, with and without `__Host-`."""
    return re.fullmatch(_COOKIE_NAME, name) is not None


def is_origin(origin: str) -> bool:
    """Return whether `origin` is one as a browser writes it."""
    return bool(re.fullmatch(_ORIGIN, origin)) and not re.fullmatch(_DEFAULT_PORT, origin)


def is_forgeable(origin: str) -> bool:
    """Return whether anyone on a visitor's network can impersonate this origin."""
    return re.match(_FORGEABLE, origin) is not None


def is_page_source(source: str) -> bool:
    """Return whether a page's Content-Security-Policy can safely name this origin."""
    return is_origin(source) and not is_forgeable(source) and "[" not in source  # no IPv6 address


def is_scheme(scheme: str) -> bool:
    """Return whether this is the scheme of an app, and not of the web."""
    return bool(re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme, re.ASCII)) and scheme[:4] != "http"


def is_link(url: str) -> bool:
    """Return whether pages can link to `url`: a path of the site, or an https URL."""
    return is_safe_path(url) or _is_https(url)


def is_svg(url: str) -> bool:
    """Return whether the path of a URL is that of an SVG image, which few mail programs show."""
    return urlsplit(url).path.lower().endswith((".svg", ".svgz"))


def is_email_image(url: str) -> bool:
    """Return whether emails can show the image at `url`, as `is_link` accepts it."""
    return is_link(url) and not is_svg(url)


def is_contact(url: str) -> bool:
    """Return whether pages and emails can link to `url`: an https: or mailto: URL."""
    return _is_https(url) or re.fullmatch(_MAILTO, url) is not None


def _is_https(url: str) -> bool:
    return url.startswith("https:") and re.fullmatch(f"({_ORIGIN}){_REST_OF_URL}", url) is not None


def is_cookie_domain(domain: str) -> bool:
    """Return whether browsers can accept a cookie for `domain` and the hosts below it.

    Not an IP address, and no public suffix that can be seen without the whole list.
    """
    return (
        re.fullmatch(NAME, domain) is not None
        and "." in domain
        and has_host_name(f"https://{domain}")
        and not re.fullmatch(f"{_REGISTRY}|{_HOSTED}", domain)
    )


def is_next_host(host: str) -> bool:
    """Return whether `host` is one as in a URL, or `*.` and a domain."""
    name = host.removeprefix("*.")
    is_domain = name == host or is_cookie_domain(name.partition(":")[0])
    return is_domain and re.fullmatch(HOST, name) is not None


def is_at_or_below(host: str, domain: str) -> bool:
    """Return whether browsers send a cookie of `domain` to `host`, a name without a port."""
    return host == domain or host.endswith(f".{domain}")


def is_day(text: str) -> bool:
    """Return whether a string is an existing date in the form YYYY-MM-DD.

    Example:
        BADGES_SINCE: str = string(
            "", "since when there are badges", expected="a date", is_valid=is_day
        )
    """
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_audience(audience: str) -> bool:
    """Return whether `audience` can name another service in its tokens."""
    return len(audience) <= _MAX_AUDIENCE and re.fullmatch(_AUDIENCE, audience) is not None


def has_host_name(url: str) -> bool:
    """Return whether the host of a URL is a name and not an IP address.

    Browsers make passkeys for names alone (Web Authentication, level 3, section 5.1.3, step 7).
    """
    host = urlsplit(url).hostname or ""
    last = host.rstrip(".").rpartition(".")[2]
    return last != "" and not last.isdigit() and ":" not in host


def folder_problem(folder: str) -> str | None:
    """Return the end of a sentence that says why a folder is wrong, or None."""
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):  # too long, with NUL, or not accessible
        is_folder = False
    return None if is_folder else "does not exist or is not a folder"


def shared_folder(folder: str) -> str | None:
    """Return the risk of a folder in which every user can put a page with a script."""
    if os.name != "posix" or not Path(folder).stat().st_mode & stat.S_IWOTH:
        return None
    return f"is {folder!r}, where every user can change what pages show: run chmod o-w."


def other_owner(status: os.stat_result) -> int | None:
    """Return the id of the user who owns a file, if it is neither this user nor root."""
    owner = status.st_uid  # Windows has no such ids
    return owner if hasattr(os, "geteuid") and owner not in (0, os.geteuid()) else None


def cheap_hashes(rounds: int) -> str | None:
    """Return the risk of bcrypt's cost."""
    if rounds >= _MINIMUM_SAFE_ROUNDS:
        return None
    return (
        f"is {rounds}: below {_MINIMUM_SAFE_ROUNDS}, stolen hashes are cheap to crack. Use such a"
        " low value in tests only."
    )


def longer_than(month: int) -> Callable[[int], str | None]:
    """Return a function that returns the risk of a session that is longer than a month."""

    def risk(time: int) -> str | None:
        if time <= month:
            return None
        return (
            f"is {time}: a stolen token works for more than a month unless its session is revoked."
        )

    return risk


def free_guesses(failures: int) -> str | None:
    """Return the risk of the number of failed logins without a wait."""
    return None if failures else "is 0: anyone can try any number of passwords."


def forgeable_origins(origins: tuple[str, ...]) -> str | None:
    """Return the risk of trusting origins."""
    forgeable = [origin for origin in origins if is_forgeable(origin)]
    if not forgeable:
        return None
    return (
        f"has {', '.join(forgeable)}: without https, anyone on a visitor's network can impersonate"
        " it and act with the visitor's cookie."
    )
