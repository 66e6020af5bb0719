"""A reader of docs/guide.md: does what it says, and sees what it says."""

import re
import time
from contextlib import contextmanager

from webob.client import send_request_app
from webtest import TestApp

from tests.docs.pages import PAGES, section
from tests.docs.reader import Reader
from tests.support.sites import BROWSER, SAME_ORIGIN, free_port

GUIDE = PAGES["docs/guide.md"]
_, *STEPS = re.findall(r"^## (\d\. .*)$", GUIDE, re.MULTILINE)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PASSWORD = "four unrelated words"
WARNING = (
    "MAIL_URL writes emails, with the links in them, to {}/mails. Use this for development only.\n"
)
NEW_PASSWORD = "abstraction is a barrier"


@contextmanager
def reading(folder, environ, camera):
    """Yield a reader of the guide, who has installed wsgiauth.

    Args:
        folder: An empty folder, for the reader's files.
        environ: The environment of the terminals.
        camera: A function that takes a picture of a page. Its arguments are the name of the
            picture, the URL of the page, the cookies that open it, and what the reader has typed
            into its form.
    """
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").touch()  # the environment of this program is active
    # Fewer rounds make the server print a warning.
    reader = Reader(folder, {**environ, "BCRYPT_ROUNDS": "10"}, free_port())
    reader.mails = set()  # that have been read
    reader.camera = camera
    try:
        yield reader
    finally:
        reader.leave()


def follow(reader):
    """Follow the guide from the first step to the last."""
    for title in STEPS:
        reader.follow(section(GUIDE, title), BEFORE, INSTEAD)
        SEEN[title](reader)


class Browser:
    """A browser of the reader.

    Args:
        reader: The reader, whose server it asks.
    """

    def __init__(self, reader):
        self.reader = reader
        address = {"SERVER_PORT": str(reader.port), "HTTP_HOST": f"localhost:{reader.port}"}
        headers = {"HTTP_ACCEPT": BROWSER["Accept"], "HTTP_USER_AGENT": FIREFOX}
        self.app = TestApp(send_request_app, address | headers)

    def open(self, path):
        """Open a page, and return the one that the browser ends at."""
        return self._arrive(self.app.get(path.removeprefix(self._site), status="*"))

    def show(self, name, page, **fields):
        """Let the camera take a picture of a page, with some fields filled in."""
        assert all(page.html.find(attrs={"name": each}) for each in fields)
        self.reader.camera(name, page.request.url, self.app.cookies, fields)

    def send(self, page, **fields):
        """Fill in and send the form of a page that has these fields; return the next page."""
        (form,) = [each for each in page.forms.values() if fields.keys() <= each.fields.keys()]
        for name, value in fields.items():
            form[name] = value
        return self._arrive(form.submit(headers=SAME_ORIGIN, status="*"))

    def log_in(self, path, username, password=PASSWORD):
        """Open a page that needs a login, and log in; return the page that comes next."""
        page = self.send(self.open(path), username=username, password=password)
        assert "closed on Monday" in page or path != "/notices"
        return page

    @property
    def _site(self):
        return f"http://localhost:{self.reader.port}"

    def _arrive(self, answer):
        while answer.status_int in (302, 303):
            answer = answer.follow(status="*")
        return answer


def read_emails(reader, number):
    """Wait until so many new emails are there, and return the links in them."""
    deadline = time.monotonic() + 90  # another process sends within a minute
    while len(new := {*(reader.folder / "mails").glob("*.eml")} - reader.mails) < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    reader.mails |= new
    return [re.search(r"http\S+", mail.read_text("utf-8"))[0] for mail in new]


def a_site_with_accounts(reader):
    ada = Browser(reader)
    assert "Hello, stranger!" in ada.open("/")
    page = ada.open("/auth/login")
    ada.show("login", page, username="ada", password=PASSWORD)
    ada.send(page, username="ada", password=PASSWORD)
    page = ada.open("/")
    assert "Hello, ada!" in page
    page = ada.open("/auth/account")
    assert "Change your password" in page
    assert ada.open("/post").status_int == 404
    reader.ada = ada
    serve = "python -m wsgiauth serve wsgi:application --listen localhost"
    assert "- `port 8080 is in use`:" in section(GUIDE, STEPS[0])
    in_use = reader.type(f". ./settings.sh; {serve}:{reader.port} 2>&1 || true")
    assert f"port {reader.port} is in use" in in_use
    assert "- `SECRET_KEY must be set`:" in section(GUIDE, STEPS[0])
    assert "SECRET_KEY must be set" in reader.type(f"{serve}:0 2>&1 || true")


def guard_a_view(reader):
    assert "closed on Monday" in reader.ada.open("/notices")
    anonymous = Browser(reader)
    assert anonymous.app.get("/notices", headers={"Accept": "*/*"}, status=401)
    assert "closed on Monday" in anonymous.log_in("/notices", "ada")


def close_everything_else(reader):
    assert reader.warnings == []
    anonymous = Browser(reader)
    assert "Hello, stranger!" in anonymous.open("/")
    assert anonymous.open("/anything").request.path == "/auth/login"


def register_grace(reader):
    grace = Browser(reader)
    page = grace.open("/").click("Create an account")
    page = grace.send(page, username="grace", email="grace@example.org", password=PASSWORD)
    assert "Hello, grace!" in page
    page = grace.open("/post")
    assert page.status_int == 403
    assert page.html.h1.text in section(GUIDE, STEPS[3])
    printed = reader.server.stdout.readline()
    assert "event=refused" in printed
    assert 'reason="lacks notices.post"' in printed
    reader.grace = grace


def permissions_and_groups(reader):
    assert reader.warnings == []
    page = reader.grace.send(reader.grace.open("/post"), text="New books are here.")
    assert "New books are here." in page
    reader.grace.show("notices", page)


def register_barbara(reader):
    barbara = Browser(reader)
    page = barbara.open("/auth/register")
    barbara.send(page, username="barbara", email="barbara@example.org")
    reader.barbara = barbara


def open_the_link(reader, command):
    barbara, (link,) = reader.barbara, read_emails(reader, 1)
    assert reader.type(command) == f"{link}\n"
    page = barbara.open(link)
    assert barbara.send(page, password=PASSWORD).status_int == 200
    assert "Hello, barbara!" in barbara.open("/")


def send_emails(reader):
    assert reader.warnings == [WARNING.format(reader.folder)]
    anonymous = Browser(reader)
    anonymous.send(anonymous.open("/auth/forgot"), username="grace")
    reset, invitation = sorted(read_emails(reader, 2))  # /auth/reset comes before /auth/verify
    page = anonymous.open(reset)
    assert anonymous.send(page, password=NEW_PASSWORD).status_int == 200
    assert reader.grace.open("/notices").request.path == "/auth/login"
    edith = Browser(reader)
    edith.send(edith.open(invitation), username="edith", password=PASSWORD)
    assert "Post a notice" in edith.open("/post")


def set_up_an_app(reader, compute_code):
    ada = reader.ada
    assert "Hello, stranger!" in ada.open("/")
    page = ada.log_in("/auth/login", "ada")
    assert page.request.path == "/auth/totp"
    page = ada.send(page, name="Phone")
    ada.show("app", page, code="")
    key = page.html.find(class_="key").text
    code = reader.type(compute_code.replace("THE KEY", key)).strip()
    page = ada.send(page, code=code)
    assert page.request.path == "/auth/recovery-codes"
    assert "Create recovery codes" in page


def demand_a_second_factor(reader):
    assert reader.warnings == [WARNING.format(reader.folder)]
    assert "closed on Monday" in reader.ada.open("/notices")
    assert "closed on Monday" in Browser(reader).log_in("/notices", "edith")
    ada = Browser(reader)
    page = ada.log_in("/auth/login", "ada")
    assert "Enter the code" in page


def the_staff_panel(reader):
    paths = ("users?q=grace", "groups", "events")
    users, *others = [reader.ada.open(f"/auth/admin/{each}") for each in paths]
    grace = users.click("grace")
    texts = " ".join(page.html.text for page in (users, grace, *others))
    for label in re.findall(r'^- "(.*?)"', section(GUIDE, "8. The staff panel"), re.MULTILINE):
        assert label in texts
    assert "command line" in others[-1]
    reader.ada.show("user", grace)


BEFORE = {
    "join grace editors": register_grace,
    "grep -h": register_barbara,
}
SEEN = {
    "2. A site with accounts": a_site_with_accounts,
    "3. Guard a view": guard_a_view,
    "4. Close everything else": close_everything_else,
    "5. Permissions and groups": permissions_and_groups,
    "6. Send emails": send_emails,
    "7. Demand a second factor": demand_a_second_factor,
    "8. The staff panel": the_staff_panel,
    "9. Test the site": lambda reader: None,  # which the last command has done
}
INSTEAD = {"THE KEY": set_up_an_app, "grep -h": open_the_link}
