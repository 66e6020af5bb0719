"""The command that shows each email and each page, with example values."""

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path, PurePath
from wsgiref.util import setup_testing_defaults

from wsgiauth.console.command import Arguments, CommandError, UsageError, read_settings
from wsgiauth.console.output import print_line, print_text
from wsgiauth.console.parser import Parser
from wsgiauth.features import FEATURES, LETTER_SAMPLES, page_samples
from wsgiauth.mail.letters import Letter, Letters
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command("preview", preview, "--mount")
    names = list(dict.fromkeys(map(_name_of, LETTER_SAMPLES)))
    added.add_argument(
        "name", metavar="NAME", nargs="?", choices=names, help=f"one of: {', '.join(names)}"
    )
    added.add_argument("--language", metavar="LANGUAGE", help="such as de; without it, the first")
    added.add_argument(
        "--pages",
        metavar="FOLDER",
        type=Path,
        help="write the pages of the site into this folder instead, each as a file with the name"
        " of its template; a further state of the page has a number",
    )


def preview(arguments: Arguments) -> None:
    """Print one email, or all of them, as a user would get it; or write all pages."""
    settings = read_settings(arguments)
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
    pages = dict(_pages(settings, arguments.mount))
    for name, html in pages.items():
        _write(arguments.pages / name, html)
    print_line(f"Wrote {counted(len(pages), 'page')} into {arguments.pages}.")


def _letters(settings: Settings, mount: str, name: str | None) -> Iterator[str]:
    letters = Letters(settings)
    for each in LETTER_SAMPLES:
        if name in (None, _name_of(each)):
            yield _as_text(letters.preview(each, mount))


def _name_of(letter: Letter) -> str:
    return PurePath(letter.template).stem


def _as_text(message: EmailMessage) -> str:
    headers = "".join(f"{name}: {message[name]}\n" for name in ("Subject", "From", "To"))
    return f"{headers}\n{message.get_content()}"


def _pages(settings: Settings, mount: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name of a file and a page for each example of one."""
    settings = replace(settings, SECRET_KEY=settings.SECRET_KEY or secrets.token_hex(32))
    site = Site.from_settings(settings, mount, FEATURES, send_mail=lambda message: None)
    environ = {"wsgiauth.root": "", "wsgiauth.site": site}
    setup_testing_defaults(environ)
    numbers: Counter[str] = Counter()
    for page in reversed(page_samples()):  # the most usual state of each comes first
        numbers[page.template] += 1
        site.pages.check(page)  # names a mistake in a template of the site
        body = site.pages.render(environ, page).body
        yield _file_name(page, numbers[page.template]), body


def _file_name(page: Page, number: int) -> str:
    path = PurePath(page.template)
    return str(path if number == 1 else path.with_stem(f"{path.stem}-{number}"))


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
