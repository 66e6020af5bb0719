"""The command that shows each email and each page."""

from collections import Counter
from pathlib import PurePath

import pytest

from tests.support.declared import LETTER_SAMPLES as SAMPLES
from tests.support.mails import MAIL
from wsgiauth.cli import main
from wsgiauth.features.registry import page_samples


@pytest.fixture
def preview(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command without a database, with templates in a folder."""
    for name in (*MAIL, "SECRET_KEY", "SITE_NAME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mail").mkdir()
    monkeypatch.setenv("TEMPLATES", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/missing.db")

    def run(*argv):
        status = main(["preview", *argv])
        return status, *capsys.readouterr()

    return run


def test_a_mail_is_printed_as_it_would_be_sent(preview, monkeypatch):
    monkeypatch.setenv("SITE_NAME", "Ada & Sons")
    monkeypatch.setenv("MAIL_FROM", "Bücherei <accounts@books.example>")
    monkeypatch.setenv("PUBLIC_URL", "https://books.example/shop/")
    status, output, _ = preview("reset", "--mount", "/accounts")
    assert status == 0
    headers, _, text = output.partition("\n\n")
    assert headers.splitlines() == [
        "Subject: Choose a new password for Ada & Sons",
        "From: Bücherei <accounts@books.example>",
        "To: ada@example.org",
    ]
    assert "\nhttps://books.example/shop/accounts/reset?token=example\n" in text


def test_a_mail_is_printed_in_a_language(preview):
    status, output, _ = preview("reset", "--language", "de")
    assert (status, "Passwort" in output) == (0, True)
    assert preview("notice_login", "--language", "de")[1].count("um 09:30 UTC") == 1


def test_a_language_that_there_is_not_is_refused(preview):
    status, _, errors = preview("--language", "it")
    assert status != 0
    assert "LANGUAGES names 'it'" in errors


def test_every_mail_is_printed_without_a_setting(preview):
    status, output, _ = preview()
    assert status == 0
    assert output.count("Subject: ") == len(SAMPLES)
    assert output.count("From: accounts@example.org\n") == len(SAMPLES)
    assert "https://example.org/auth/reset?token=example" in output


def test_every_text_of_a_mail_is_printed(preview):
    numbers = Counter(PurePath(each.template).stem for each in SAMPLES)
    for name, number in numbers.items():
        status, output, _ = preview(name)
        assert (status, output.count("Subject: ")) == (0, number), name


def test_the_templates_of_the_host_are_used(preview, tmp_path):
    (tmp_path / "mail" / "reset.txt").write_text("Ours\n\n{{ letter.link }}\n")
    assert preview("reset")[1].startswith("Subject: Ours\n")


def test_a_mistake_is_named_with_its_file_and_line(preview, tmp_path):
    file = tmp_path / "mail" / "reset.txt"
    for text, line, reason in (
        ("Ours\n\n{{ letter.missing }}", 3, "no attribute 'missing'"),
        ("Ours\n\n{% if %}", 3, "Expected an expression"),
        ("{% extends 'mail/missing.txt' %}", 1, "there is no mail/missing.txt"),
    ):
        file.write_text(text)
        status, output, errors = preview()
        assert (status, output) == (1, "")
        assert errors.startswith(f"wsgiauth: TEMPLATES: {file}, line {line}: ")
        assert reason in errors


def test_a_template_without_a_subject_is_named(preview, tmp_path):
    (tmp_path / "mail" / "reset.txt").write_text("Only this")
    assert preview()[2].startswith("wsgiauth: TEMPLATES: mail/reset.txt: the first line must be")


def test_a_mail_that_is_not_there_is_wrong_usage(preview, capsys):
    with pytest.raises(SystemExit, match="2"):
        preview("missing")
    assert "choose from" in capsys.readouterr().err


# Pages


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new" / "pages"


@pytest.fixture
def login_alone(monkeypatch):
    """Have one page and no email: to render all of them takes half a second."""
    login = [each for each in page_samples() if each.template == "login.html"]
    monkeypatch.setattr("wsgiauth.cli.preview.page_samples", lambda features: login)
    monkeypatch.setattr("wsgiauth.cli.preview.letter_samples_of", lambda features: ())


def files_of(folder):
    return {str(each.relative_to(folder)) for each in folder.rglob("*.html")}


@pytest.mark.slow
def test_every_page_is_written_in_every_state_beside_other_files(preview, folder):
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("Mine")
    (folder / "login.html").write_text("Old")
    pages, emails = len(page_samples()), len(SAMPLES)
    said = f"Wrote {pages} pages and {emails} emails into {folder}.\n"
    assert preview("--pages", str(folder)) == (0, said, "")
    files = files_of(folder)
    assert len(files) == pages + emails
    assert {each.template for each in page_samples()} <= files
    assert {"login.html", "admin/user.html", "confirm-2.html", "mail/reset.html"} <= files
    assert not list(folder.parent.parent.glob("*.db"))
    assert (folder / "notes.txt").read_text() == "Mine"
    assert "Old" not in (folder / "login.html").read_text("utf-8")


@pytest.mark.usefixtures("login_alone")
@pytest.mark.parametrize("url", [None, "https://example.org"], ids=["unknown", "known"])
def test_the_logo_of_a_page_is_that_of_the_site_or_its_name(preview, folder, monkeypatch, url):
    changes = {"SITE_NAME": "Ada & Sons", "SITE_LOGO": "/logo.svg", "SITE_LOGO_DARK": "/dark.svg"}
    for name, value in {**changes, **({"PUBLIC_URL": url} if url else {})}.items():
        monkeypatch.setenv(name, value)
    assert preview("--pages", str(folder))[0] == 0
    page = (folder / "login.html").read_text("utf-8")
    assert ('<base href="https://example.org">' in page) is bool(url)
    assert ("/logo.svg" in page) is bool(url)
    assert "Ada &amp; Sons" in page


@pytest.mark.usefixtures("login_alone")
def test_the_pages_have_the_brand_of_the_site_and_a_language(preview, folder, monkeypatch):
    changes = {**MAIL, "SITE_NAME": "Ada & Sons", "SITE_COLOR": "#7a2fd0"}
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert preview("--pages", str(folder), "--language", "de")[0] == 0
    page = (folder / "login.html").read_text("utf-8")
    assert "Ada &amp; Sons" in page
    assert "#7a2fd0" in page
    assert "Passwort" in page


@pytest.mark.usefixtures("login_alone")
def test_a_folder_that_is_a_file_is_refused(preview, folder):
    folder.parent.mkdir()
    folder.write_text("A file")
    status, output, errors = preview("--pages", str(folder))
    assert (status, output) == (1, "")
    assert "cannot be written" in errors


@pytest.mark.usefixtures("login_alone")
def test_a_mistake_in_a_page_is_named_with_its_file_and_line(preview, folder, tmp_path):
    file = tmp_path / "login.html"
    file.write_text("{{ page.missing }}")
    status, _, errors = preview("--pages", str(folder))
    assert status == 1
    assert errors.startswith(f"wsgiauth: TEMPLATES: {file}, line 1: ")


def test_the_name_of_an_email_and_pages_are_wrong_usage(preview, folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        preview("reset", "--pages", str(folder))
    assert "NAME is the name of an email" in capsys.readouterr().err
