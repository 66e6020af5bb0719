"""The command that shows each email and each page, with example values."""

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from html import escape
from pathlib import Path, PurePath
from wsgiref.util import setup_testing_defaults

from wsgiauth.console.command import Arguments, CommandError, UsageError, read_settings
from wsgiauth.console.output import print_line, print_text
from wsgiauth.console.parser import Parser
from wsgiauth.feature import letter_samples_of
from wsgiauth.features.registry import features_of, features_of_process, page_samples
from wsgiauth.mail.letters import Letter, Letters, plain_text_of
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.site import Site


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command(
        "preview",
        preview,
        "--mount",
        examples=(
            "reset --language de",
            "--pages pages",
        ),
    )
    names = list(dict.fromkeys(map(_name_of, letter_samples_of(features_of_process()))))
    added.add_argument(
        "name", metavar="NAME", nargs="?", choices=names, help=f"one of: {', '.join(names)}"
    )
    added.add_argument("--language", metavar="LANGUAGE", help="such as de; without it, the first")
    added.add_argument(
        "--pages",
        metavar="FOLDER",
        type=Path,
        help="write the pages of the site and the HTML of its emails into this folder instead, each"
        " as a file with the name of its template; a further state of one has a number",
    )


def preview(arguments: Arguments) -> None:
    """Print one email, or all of them, as a user would get it; or write all pages."""
    settings = read_settings(arguments)
    base = settings.PUBLIC_URL
    if base is None:  # a file cannot show an image of an unknown site
        settings = replace(settings, SITE_LOGO=None, SITE_LOGO_DARK=None)
    settings = replace(
        settings,  # with examples of unset values
        MAIL_FROM=settings.MAIL_FROM or "accounts@example.org",
        PUBLIC_URL=settings.PUBLIC_URL or "https://example.org",
    )
    if arguments.language is not None:
        settings = replace(settings, LANGUAGES=(arguments.language,))
    if arguments.pages is None:
        print_text("\n---\n\n".join(_letters(settings, arguments.mount, arguments.name)))
        return
    if arguments.name is not None:
        raise UsageError("NAME is the name of an email, and --pages writes all pages")
    pages = dict(_numbered(_pages(settings, arguments.mount, base)))
    emails = dict(_numbered(_emails(settings, arguments.mount)))
    for name, html in (pages | emails).items():
        _write(arguments.pages / name, html)
    number = f"{counted(len(pages), 'page')} and {counted(len(emails), 'email')}"
    print_line(f"Wrote {number} into {arguments.pages}.")


def _letters(settings: Settings, mount: str, name: str | None) -> Iterator[str]:
    letters = Letters(settings)
    for each in letter_samples_of(features_of(settings)):
        if name in (None, _name_of(each)):
            yield _as_text(letters.preview(each, mount))


def _name_of(letter: Letter) -> str:
    return PurePath(letter.template).stem


def _as_text(message: EmailMessage) -> str:
    headers = "".join(f"{name}: {message[name]}\n" for name in ("Subject", "From", "To"))
    return f"{headers}\n{plain_text_of(message)}"


def _pages(settings: Settings, mount: str, base: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the template and an example of each page, the most usual state first.

    The files load images from the site at `base`, if it is known.
    """
    head = "<head>" if base is None else f'<head>\n  <base href="{escape(base)}">'
    settings = replace(settings, SECRET_KEY=settings.SECRET_KEY or secrets.token_hex(32))
    site = Site.from_settings(
        settings, mount, features_of(settings), send_mail=lambda message: None
    )
    environ = {"wsgiauth.root": "", "wsgiauth.site": site}
    setup_testing_defaults(environ)
    for page in reversed(page_samples(site.features)):
        site.pages.check(page)  # names a mistake in a template of the site
        html = site.pages.render(environ, page).body
        yield page.template, html.replace(b"<head>", head.encode(), 1)


def _emails(settings: Settings, mount: str) -> Iterator[tuple[str, bytes]]:
    letters = Letters(settings)
    for each in letter_samples_of(features_of(settings)):
        part = letters.preview(each, mount).get_body(("html",))
        if part is not None:  # pragma: no branch - every message has it
            html: str = part.get_content()
            yield str(PurePath(each.template).with_suffix(".html")), html.encode()


def _numbered(found: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the name of a file, which is that of the template, with a number if it repeats."""
    numbers: Counter[str] = Counter()
    for template, html in found:
        numbers[template] += 1
        path, number = PurePath(template), numbers[template]
        yield str(path if number == 1 else path.with_stem(f"{path.stem}-{number}")), html


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
