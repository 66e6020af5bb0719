"""Spellings of one path, and an application that understands them all."""

import ntpath
import unicodedata
from itertools import permutations
from posixpath import normpath
from urllib.parse import unquote, unquote_plus

SECRET = "/priv/secret"
FILES = {"/": b"home", "/pub/open": b"open", SECRET: b"SECRET"}
PUBLIC = ("/", "/pub/")


def wsgi(text):
    """Return a decoded path as PATH_INFO has it."""
    return text.encode().decode("latin-1")


# What paths are made of.
PIECES = [
    *(
        "/",
        "/",
        ".",
        ".",
        "..",
        "../",
        "..+/",
        "priv",
        "priv/secret",
        "pub",
        "pub/",
        "secret",
        "a",
        " ",
    ),
    *("%2e", "%2f", "%5c", "%25", "%00", "%3b", "\\", ";", ";a=b", "?", "#", "+", ":", "\0", "\t"),
    *("\n", "\x7f", "\xc3\xa9", "\xff", "\xc0\xae", "\xc0\xaf", "\xa0", "\x85"),
    *map(wsgi, ["\u2025", "\uff0e", "\uff0f", "\uff3c", "\u200b", "\xad", "\u0301", "\u65e5"]),
]


def without_parameters(path):
    """Do as Java's servers do: "/a;b/c" is "/a/c"."""
    return "/".join(segment.partition(";")[0] for segment in path.split("/"))


def on_windows(path):
    """Do as Windows does: backslashes separate, dots and spaces at an end are dropped."""
    path = path.replace("\\", "/").partition(":")[0]
    segments = (each.strip() for each in path.split("/"))
    kept = (each if each in (".", "..") else each.rstrip(". ") for each in segments)
    return ntpath.normpath("/".join(kept)).replace("\\", "/")


def as_url(path):
    """Do as a proxy that pastes a URL together: what follows `?` or `#` is no path."""
    return path.partition("?")[0].partition("#")[0]


READERS = [
    unquote,
    unquote_plus,
    without_parameters,
    on_windows,
    as_url,
    normpath,
    str.casefold,
    str.strip,
    lambda path: path.partition("\0")[0],
    lambda path: unicodedata.normalize("NFKC", path),
    lambda path: path.encode("ascii", "ignore").decode(),
    lambda path: "".join(each for each in path if each.isprintable()),
]


def decoded(path_info):
    """Return what PATH_INFO means to those who decode it in one way or another."""
    octets = path_info.encode("latin-1")
    overlong = octets.replace(b"\xc0\xae", b".").replace(b"\xc0\xaf", b"/")
    return {
        path_info,
        *(octets.decode("utf-8", errors) for errors in ("ignore", "replace")),
        overlong.decode("utf-8", "ignore"),
    }


def readings(path_info, depth=2):
    """Return everything that some application understands by a path, normalised."""
    found = set()
    for text in decoded(path_info):
        for readers in permutations([*READERS, unquote], depth):
            path = text
            for reader in readers:
                path = reader(path)
            found.add(f"/{normpath(path).lstrip('/')}" if path else "/")
    return {"/" if path == "/." else path for path in found}


def gullible(environ, start_response):
    """Serve the secret to whoever asks for it in any spelling; else the file of the path."""
    path_info = environ.get("PATH_INFO", "")
    found = readings(path_info)
    path = SECRET if SECRET in found else path_info or "/"
    body = FILES.get(path, b"not found")
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    start_response("200 OK" if path in FILES else "404 Not Found", headers)
    return [body]


# Request targets. A server decodes each once, and some normalise them.
TARGETS = [
    "/priv/secret",
    "/pub/../priv/secret",
    "/pub/%2e%2e/priv/secret",
    "/pub/%2E%2E/priv/secret",
    "/pub/.%2e/priv/secret",
    "/pub/..%2fpriv%2fsecret",
    "/pub/..%2Fpriv/secret",
    "/pub/..%5cpriv%5csecret",
    "/pub/..\\priv\\secret",
    "/pub/%252e%252e/priv/secret",
    "/pub/%252e%252e%252fpriv%252fsecret",
    "/pub/..;/priv/secret",
    "/pub/..;a=b/priv/secret",
    "/pub/;/../priv/secret",
    "/pub/%3b/%2e%2e/priv/secret",
    "/pub/..%3b/priv/secret",
    "/pub/..%3f/priv/secret",
    "/pub/../priv/secret%3f",
    "/pub/..%23/priv/secret",
    "/pub/..%00/priv/secret",
    "/pub/.%00./priv/secret",
    "/pub/..%09/priv/secret",
    "/pub/..%20/priv/secret",
    "/pub/%20../priv/secret",
    "/pub/..+/priv/secret",
    "/pub/..%2b/priv/secret",
    "/pub/.../priv/secret",
    "/pub/.%0a./priv/secret",
    "/pub/.%0d%0a./priv/secret",
    "/pub/.%7f./priv/secret",
    "/pub/.%ff./priv/secret",
    "/pub/.%c2%ad./priv/secret",
    "/pub/.%e2%80%8b./priv/secret",
    "/pub/%c0%ae%c0%ae/priv/secret",
    "/pub/%c0%ae%c0%ae%c0%afpriv%c0%afsecret",
    "/pub/%e0%80%ae%e0%80%ae/priv/secret",
    "/pub/%ef%bc%8e%ef%bc%8e/priv/secret",
    "/pub/%ef%bc%8e%ef%bc%8e%ef%bc%8fpriv%ef%bc%8fsecret",
    "/pub/%e2%80%a5/priv/secret",
    "/pub/.%c3%a9./priv/secret",
    "/pub/.%c3%a9.%c3%a9/priv/secret",
    "/pub//../priv/secret",
    "/pub/./../priv/secret",
    "/pub/x/../../priv/secret",
    "//priv/secret",
    "///priv/secret",
    "//pub/../priv/secret",
    "/./priv/secret",
    "/../priv/secret",
    "/%2e%2e/priv/secret",
    "/%2fpriv/secret",
    "/;/priv/secret",
    "/%00/priv/secret",
    "/%3f/../priv/secret",
    "/priv/secret/",
    "/priv/secret.",
    "/priv/secret%20",
    "/priv//secret",
    "/PRIV/SECRET",
    "/Pub/../priv/secret",
    "/priv/secret;/../../pub/open",
    "/priv/secret%00/../../pub/open",
    "/priv/secret%3f/pub/",
    "/priv/secret::$DATA",
    "/priv/secret?/pub/",
    "/priv/secret#/pub/",
    "http://site/priv/secret",
    "http://site/pub/../priv/secret",
    "http:///priv/secret",
    "http://site",
    "priv/secret",
    "pub/../priv/secret",
    "*",
    "",
]
