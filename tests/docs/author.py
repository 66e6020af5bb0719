"""An author who types docs/extend.md, line by line, and sees what it says and shows."""

import os
import re
import signal
from contextlib import contextmanager

from tests.docs.guide import Browser
from tests.docs.pages import PAGES, commands
from tests.docs.reader import Reader, assert_alike
from tests.support.sites import SAME_ORIGIN, free_port

PAGE = PAGES["docs/extend.md"]
GERMAN = {
    "Branch": "Filiale",
    "Branch chosen": "Filiale gewählt",
    "Choose one of the branches.": "Wählen Sie eine der Filialen.",
    "Choose the branch where your books wait.": "Wählen Sie, wo Ihre Bücher warten.",
    "Library": "Bibliothek",
    "None yet": "Noch keine",
    "Pick up books": "Bücher abholen",
    "Save": "Speichern",
}


class Author(Reader):
    """Has one terminal, so stops the server before the next command."""

    def __init__(self, folder, environ):
        super().__init__(folder, environ, free_port())
        self._visits = iter((see_the_first_url, choose_a_branch))

    def read(self, *, skips=()):
        """Save each file and type each command of the page, except those that begin with `skips`.

        Args:
            skips: For what the environment has already.
        """
        page = PAGE.replace("8080", str(self.port))
        for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            if kind != "console":
                self._write(block)
                continue
            for command, shown in commands(block):
                if not command.startswith(skips):
                    self._enter(command, shown)

    def _write(self, block):
        path = self.folder / re.match(r"(?:\{# |# )(\S+)", block)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")

    def _enter(self, command, shown):
        if command.startswith("export "):
            variables = self._run([command, "env -0"]).split("\0")
            self.environ = dict(each.split("=", 1) for each in variables if each)
        elif " serve " in command:
            self._serve([f"exec {command}"], shown)
            next(self._visits)(self)
            self.server.send_signal(signal.SIGINT)
            assert self.server.wait(30) == 130
        else:
            if " compile " in command:
                translate(self.folder / "pickup/locale/de/LC_MESSAGES/pickup.po")
            assert_alike(self._run([command]), shown)


def see_the_first_url(author):
    browser = Browser(author)
    page = browser.open("/auth/pickup")
    answer = browser.send(page, username="ada", password="four unrelated words")
    assert f"`{answer.text}`" in PAGE


def choose_a_branch(author):
    browser = Browser(author)
    page = browser.log_in("/auth/account", "ada")
    row = page.html.find("a", href="/auth/pickup")
    assert row.find(class_="state").text == "None yet"
    page = browser.open("/auth/pickup")
    (form,) = [each for each in page.forms.values() if "branch" in each.fields]
    form["branch"].force_value("South")
    refused = form.submit(headers=SAME_ORIGIN, status=422)
    assert "Choose one of the branches." in refused
    account = browser.send(page, branch="North")
    assert account.html.find("a", href="/auth/pickup").find(class_="state").text == "North"


def translate(path):
    texts = path.read_text("utf-8")
    for text, translation in GERMAN.items():
        empty = f'msgid "{text}"\nmsgstr ""\n'
        assert empty in texts
        texts = texts.replace(empty, f'msgid "{text}"\nmsgstr "{translation}"\n')
    path.write_text(texts, encoding="utf-8")


IN_GERMAN = """
from wsgiref.simple_server import demo_app
from pickup import FEATURE
from wsgiauth import AuthMiddleware
from wsgiauth.testing import logged_in, make_settings

settings = {"PICKUP_BRANCHES": ("North",), "LANGUAGES": ("de",)}
site = AuthMiddleware(demo_app, make_settings(FEATURES=(FEATURE,), **settings))
print(logged_in(site).get("/auth/account", headers={"Accept": "text/html"}).html.text)
"""


@contextmanager
def typing(folder, programs, **environ):
    """Yield an author.

    Args:
        folder: An empty folder.
        programs: The folder of the commands of an environment that has wsgiauth.
    """
    author = Author(
        folder,
        {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "BCRYPT_ROUNDS": "10",  # fewer make the server print a warning
            **environ,
        },
    )
    try:
        yield author
    finally:
        author.leave()


def read_in_german(author):
    """Check that the account page is translated."""
    account = author.type(f"python - <<'END'{IN_GERMAN}END")
    assert "Bücher abholen" in account
    assert "Noch keine" in account
