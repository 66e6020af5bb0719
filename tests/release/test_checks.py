"""What `make release` checks in a checkout, in small ones."""

import pytest

from tests.release.checks import DUMPS, SURFACE, problems
from tests.release.dist import NO_CLONE, git
from tests.support.tables import row_by_row

VERSION = "1.2.0"
TAG = f"v{VERSION}"
CHANGELOG = f"""# Changelog

## {VERSION} (2026-11-27)

### Added

- A thing.

## 1.1.0 (2026-10-01)

- Another thing.
"""
DUMPED = ("credentials.json", "sqlite.sql", "postgresql.sql", "mariadb.sql")
SETUP = """AUTHOR_EMAIL = "ada@example.org"
PROJECT_URLS = {"Source": "https://example.org", "Issues": "", "Security": "https://example.org/x"}
setup(classifiers=["Development Status :: 5 - Production/Stable"])
"""
BETA = SETUP.replace("5 - Production/Stable", "4 - Beta")
FILES = {
    "setup.py": SETUP,
    "wsgiauth/version.py": f'__version__ = "{VERSION}"\n',
    "CHANGELOG.md": CHANGELOG,
    f"{SURFACE}/current.txt": "setting A\n",
    f"{SURFACE}/released.txt": "setting A\n",
    **{f"{DUMPS}/{VERSION}/{name}": "" for name in DUMPED},
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a repository that can be released."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    git(tmp_path, "init", "--quiet")
    for name, value in (("user.name", "test"), ("user.email", "test@example.org")):
        git(tmp_path, "config", name, value)
    write(tmp_path, FILES)
    commit(tmp_path)
    tag(tmp_path)
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Change")


def tag(folder, message="Release"):
    git(folder, "tag", "--force", "--annotate", TAG, "--message", message)


def test_a_checkout_that_can_be_released_has_no_problem(checkout):
    assert problems(checkout, VERSION) == []


@row_by_row(
    ("version", "sentence"),
    [
        ("next", '"next" is not a version, such as "1.0.0" or "1.0.0rc1".'),
        ("../x", '"../x" is not a version, such as "1.0.0" or "1.0.0rc1".'),
        ("v1.2.0", 'An index writes the version "v1.2.0" as "1.2.0": use that.'),
        ("1.2.0-rc.1", 'An index writes the version "1.2.0-rc.1" as "1.2.0rc1": use that.'),
    ],
)
def test_a_version_in_another_form_is_the_only_problem(tmp_path, version, sentence):
    assert problems(tmp_path, version) == [sentence]


def test_a_folder_that_is_no_clone_is_the_only_problem(tmp_path):
    assert problems(tmp_path, VERSION) == [NO_CLONE]


@pytest.mark.parametrize("version", ["0.9.0", "1.2.0rc1"])
def test_only_a_final_version_from_1_0_on_is_stable(checkout, version):
    write(checkout, {"setup.py": BETA})
    assert not [each for each in problems(checkout, version) if "classifier" in each]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "wsgiauth/version.py",
            '__version__ = "1.1.0"\n',
            'wsgiauth/version.py says "1.1.0": set `__version__` to "1.2.0".',
        ),
        (
            "CHANGELOG.md",
            "# Changelog\n",
            'CHANGELOG.md has no section: begin one with "## 1.2.0 (YYYY-MM-DD)".',
        ),
        (
            "CHANGELOG.md",
            CHANGELOG.replace("2026-11-27", "unreleased"),
            'CHANGELOG.md begins with "1.2.0 (unreleased)":'
            ' name the section "1.2.0 (YYYY-MM-DD)", with the day.',
        ),
        (
            "CHANGELOG.md",
            CHANGELOG.replace("2026-11-27", "2026-11-31"),
            'CHANGELOG.md begins with "1.2.0 (2026-11-31)":'
            ' name the section "1.2.0 (YYYY-MM-DD)", with the day.',
        ),
        (
            "setup.py",
            SETUP.replace("ada@example.org", ""),
            "AUTHOR_EMAIL in setup.py is empty: fill it in.",
        ),
        (
            "setup.py",
            SETUP.replace("https://example.org", "").replace('"/x"', '""'),
            "PROJECT_URLS in setup.py has no address for Source, Security: fill it in.",
        ),
        (
            "setup.py",
            BETA,
            "The classifier of the state in setup.py is another one:"
            ' set it to "Development Status :: 5 - Production/Stable".',
        ),
        (
            "CHANGELOG.md",
            CHANGELOG.replace("### Added\n\n- A thing.\n", ""),
            "The first section of CHANGELOG.md is empty: say what is new in 1.2.0.",
        ),
        (
            "CHANGELOG.md",
            CHANGELOG.replace("- A thing.\n", "- A thing.\n\n### Fixed\n"),
            'CHANGELOG.md has nothing below "Fixed": remove the heading.',
        ),
        (
            "CHANGELOG.md",
            CHANGELOG.replace("### Added", "### Added\n\n### Fixed"),
            'CHANGELOG.md has nothing below "Added": remove the heading.',
        ),
        (
            "CHANGELOG.md",
            f"{CHANGELOG}\n## Unreleased\n\n- A third thing.\n",
            'CHANGELOG.md has a section "Unreleased": move its entries to 1.2.0.',
        ),
        (
            f"{SURFACE}/current.txt",
            "setting B\n",
            "What is public has changed since the recorded release: run"
            " `cp tests/public_surface/current.txt tests/public_surface/released.txt`,"
            " and commit it.",
        ),
    ],
    ids=[
        *("version", "sections", "day", "date", "author", "addresses", "classifier"),
        *("entries", "last heading", "heading", "section", "surface"),
    ],
)
def test_a_file_that_is_not_ready_is_named(checkout, name, text, sentence):
    write(checkout, {name: text})
    commit(checkout)
    tag(checkout)
    assert problems(checkout, VERSION) == [sentence]


def test_missing_dumps_are_named(checkout):
    git(checkout, "rm", "--quiet", f"{DUMPS}/{VERSION}/mariadb.sql")
    commit(checkout)
    tag(checkout)
    assert problems(checkout, VERSION) == [
        "tests/storage/dumps/1.2.0 lacks mariadb.sql:"
        " run `rm -rf tests/storage/dumps/1.2.0; make dumps VERSION=1.2.0`, and commit the folder."
    ]


def test_files_that_are_not_committed_are_named(checkout):
    write(checkout, {"CHANGELOG.md": f"{CHANGELOG}\n- More.\n", "notes.txt": ""})
    assert problems(checkout, VERSION) == [
        "Commit these files, or remove them: CHANGELOG.md, notes.txt."
    ]


def of_the_tag(checkout, advice="if it is not pushed yet, run `git tag --force --"):
    """Return the one problem, before the advice."""
    (sentence,) = problems(checkout, VERSION)
    problem, _, rest = sentence.partition(": ")
    assert rest.startswith(advice)
    return problem


def test_the_tag_must_exist(checkout):
    git(checkout, "tag", "--delete", TAG)
    assert of_the_tag(checkout, "run `git tag --annotate v1.2.0 ") == "The tag v1.2.0 is missing"


def test_the_tag_must_be_annotated(checkout):
    git(checkout, "tag", "--force", TAG)
    assert of_the_tag(checkout) == "The tag v1.2.0 is not annotated"


def test_the_tag_must_be_of_the_last_commit(checkout):
    write(checkout, {"notes.txt": ""})
    commit(checkout)
    assert of_the_tag(checkout) == "The tag v1.2.0 is not the last commit's"


def test_the_tag_must_be_signed_if_git_has_a_key(checkout):
    git(checkout, "config", "user.signingkey", "ada@example.org")
    assert of_the_tag(checkout) == "The tag v1.2.0 is not signed, and git has your key"
    tag(checkout, "Release\n-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----")
    assert problems(checkout, VERSION) == []


def test_all_problems_are_named_at_once(checkout):
    assert len(problems(checkout, "1.3.0")) == 4
