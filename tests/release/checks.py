"""What must be true of a checkout before a release: each failed check is a sentence with advice."""

import ast
import re
import subprocess
from datetime import date

from packaging.version import InvalidVersion, Version

from tests.conftest import SERVERS
from tests.release.dist import NO_CLONE, git

SURFACE = "tests/public_surface"
DUMPS = "tests/storage/dumps"
NEEDED_URLS = ("Source", "Security")
STABLE = "Development Status :: 5 - Production/Stable"


def problems(repository, version):
    """Return the sentences of all checks that fail."""
    if found := [*check_form(version)]:
        return found
    if not (repository / ".git").exists():
        return [NO_CLONE]
    checks = (
        check_version,
        check_metadata,
        check_changelog,
        check_surface,
        check_dumps,
        check_tree,
        check_tag,
    )
    return [sentence for check in checks for sentence in check(repository, version)]


def check_form(version):
    try:
        normal = str(Version(version))
    except InvalidVersion:
        yield f'"{version}" is not a version, such as "1.0.0" or "1.0.0rc1".'
    else:
        if version != normal:
            yield f'An index writes the version "{version}" as "{normal}": use that.'


def check_version(repository, version):
    text = (repository / "wsgiauth/version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.*)"', text)[1]
    if found != version:
        yield f'wsgiauth/version.py says "{found}": set `__version__` to "{version}".'


def check_metadata(repository, version):
    text = (repository / "setup.py").read_text(encoding="utf-8")
    constants = {
        each.targets[0].id: ast.literal_eval(each.value)
        for each in ast.parse(text).body
        if isinstance(each, ast.Assign) and each.targets[0].id in ("AUTHOR_EMAIL", "PROJECT_URLS")
    }
    if not constants["AUTHOR_EMAIL"]:
        yield "AUTHOR_EMAIL in setup.py is empty: fill it in."
    empty = [each for each in NEEDED_URLS if not constants["PROJECT_URLS"].get(each)]
    if empty:
        yield f"PROJECT_URLS in setup.py has no address for {', '.join(empty)}: fill it in."
    number = Version(version)
    if number.major and not number.is_prerelease and STABLE not in text:
        yield f'The classifier of the state in setup.py is another one: set it to "{STABLE}".'


def check_changelog(repository, version):
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    if not sections:
        yield f'CHANGELOG.md has no section: begin one with "## {version} (YYYY-MM-DD)".'
        return
    first, *others = sections
    heading, _, entries = first.partition("\n")
    day = re.fullmatch(rf"{re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)", heading)
    if not (day and is_date(day[1])):
        wanted = f"{version} (YYYY-MM-DD)"
        yield f'CHANGELOG.md begins with "{heading}": name the section "{wanted}", with the day.'
    if not entries.strip():
        yield f"The first section of CHANGELOG.md is empty: say what is new in {version}."
    for empty in re.findall(r"^### (.*)\n+(?=###? |\Z)", entries, re.MULTILINE):
        yield f'CHANGELOG.md has nothing below "{empty}": remove the heading.'
    for other in others:
        if "unreleased" in (name := other.partition("\n")[0]).lower():
            yield f'CHANGELOG.md has a section "{name}": move its entries to {version}.'


def is_date(text):
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_surface(repository, version):
    current, released = (repository / SURFACE / name for name in ("current.txt", "released.txt"))
    if current.read_bytes() != released.read_bytes():
        copy = f"cp {SURFACE}/current.txt {SURFACE}/released.txt"
        yield f"What is public has changed since the recorded release: run `{copy}`, and commit it."


def check_dumps(repository, version):
    wanted = ["credentials.json", *(f"{kind}.sql" for kind in ("sqlite", *SERVERS))]
    missing = [name for name in wanted if not (repository / DUMPS / version / name).exists()]
    if missing:
        folder = f"{DUMPS}/{version}"
        make = f"run `rm -rf {folder}; make dumps VERSION={version}`, and commit the folder"
        yield f"{folder} lacks {', '.join(missing)}: {make}."


def check_tree(repository, version):
    changed = [line[3:] for line in git(repository, "status", "--porcelain").splitlines()]
    if changed:
        yield f"Commit these files, or remove them: {', '.join(changed)}."


def check_tag(repository, version):
    tag = f"v{version}"
    key = configured(repository, "user.signingkey")
    how = "--sign" if key else "--annotate"
    advice = f'{how} {tag} --message "wsgi-accounts {version}"`'
    again = f"if it is not pushed yet, run `git tag --force {advice}"
    found = git(
        repository,
        "for-each-ref",
        "--format=%(objecttype) %(*objectname) %(contents:signature)",
        f"refs/tags/{tag}",
    ).split(maxsplit=2)
    if not found:
        yield f"The tag {tag} is missing: run `git tag {advice}."
    elif found[0] != "tag":
        yield f"The tag {tag} is not annotated: {again}."
    elif found[1] != git(repository, "rev-parse", "HEAD").strip():
        yield f"The tag {tag} is not the last commit's: {again}."
    elif key and len(found) == 2:
        yield f"The tag {tag} is not signed, and git has your key: {again}."


def configured(repository, name):
    """Return a value of git's configuration, or ""."""
    command = ["git", "-C", repository, "config", name]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip()
