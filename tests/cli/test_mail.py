"""The commands about mail."""

import pytest

from tests.support.mails import MAIL
from wsgiauth.cli import main
from wsgiauth.mail.site_outbox import SAMPLES, SAMPLES_BY_NAME


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


def test_every_mail_is_printed_without_a_setting(preview):
    status, output, _ = preview()
    assert status == 0
    assert output.count("Subject: ") == len(SAMPLES)
    assert output.count("From: accounts@example.org\n") == len(SAMPLES)
    assert "https://example.org/auth/reset?token=example" in output


@pytest.mark.parametrize(("name", "texts"), SAMPLES_BY_NAME.items(), ids=SAMPLES_BY_NAME)
def test_every_text_of_a_mail_is_printed(name, texts, preview):
    status, output, _ = preview(name)
    assert (status, output.count("Subject: ")) == (0, len(texts))


def test_the_templates_of_the_host_are_used(preview, tmp_path):
    (tmp_path / "mail" / "reset.txt").write_text("Ours\n\n{{ letter.link }}\n")
    assert preview("reset")[1].startswith("Subject: Ours\n")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("Ours\n\n{{ letter.missing }}", 3, "no attribute 'missing'"),
        ("Ours\n\n{% if %}", 3, "Expected an expression"),
        ("{% extends 'mail/missing.txt' %}", 1, "there is no mail/missing.txt"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(text, line, reason, preview, tmp_path):
    file = tmp_path / "mail" / "reset.txt"
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


@pytest.mark.parametrize(
    "command", [["preview"], ["resetlink", "ada"], ["invite", "a@example.org"]]
)
@pytest.mark.parametrize("mount", ["account", ".evil.example", "/", "/account/", "/a?b", ""])
def test_a_mount_that_is_no_path_would_break_the_link(command, mount, capsys):
    with pytest.raises(SystemExit) as refused:
        main([*command, "--mount", mount])
    assert refused.value.code == 2
    assert f"argument --mount: {mount!r} is not a path such as /auth" in capsys.readouterr().err
