"""What `make release` says about archives that cannot be published."""

import sys

import pytest

from tests.release import __main__ as release
from tests.release import archives, dist
from tests.release.dist import git

NAMES = ("site-1.0.tar.gz", "site-1.0-py3-none-any.whl")


@pytest.fixture
def build(monkeypatch):
    """Replace the build; each writes the next of these contents into both archives."""
    contents = []

    def write(repository, folder, python):
        folder.mkdir(parents=True)
        paths = [folder / name for name in NAMES]
        for path, content in zip(paths, contents.pop(0), strict=True):
            path.write_text(content)
        return paths

    monkeypatch.setattr(archives, "build", write)
    return contents


def test_each_archive_whose_bytes_differ_is_named(build, tmp_path):
    git(tmp_path, "init", "--quiet")
    build += [("same", "one"), ("same", "other")]
    paths, differences = archives.build_twice(tmp_path, "python")
    assert paths == [tmp_path / "dist" / name for name in NAMES]
    assert differences == [
        "Two builds of site-1.0-py3-none-any.whl differ: compare dist/site-1.0-py3-none-any.whl"
        " with artefacts/second-build/site-1.0-py3-none-any.whl."
    ]


def test_the_oldest_python_must_be_found(monkeypatch):
    monkeypatch.setattr(archives, "find", lambda version: None)
    assert archives.try_everywhere([], "1.0") == ["Python 3.11 is missing: install it."]


def test_each_missing_python_after_the_newest_is_named(monkeypatch, capsys):
    monkeypatch.setattr(archives, "classified", lambda: ["3.11", "3.12", "3.13", "3.14", "3.15"])
    found = {"3.11": "python3.11", "3.13": "python3.13"}
    monkeypatch.setattr(archives, "find", found.get)
    assert archives.try_everywhere([], "1.0") == []
    assert capsys.readouterr().out.splitlines() == [
        "Python 3.15 is not found, so the archives are not tried with it.",
        "Python 3.14 is not found, so the archives are not tried with it.",
    ]


@pytest.mark.slow
def test_an_archive_that_cannot_be_installed_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(archives, "find", lambda version: sys.executable)
    monkeypatch.setattr(archives, "classified", lambda: ["3.11", "3.12"])
    broken = tmp_path / NAMES[1]
    broken.write_text("no archive")
    failures = archives.try_everywhere([broken], "1.0")
    start = f"site-1.0-py3-none-any.whl with Python {archives.version_of(sys.executable)}: "
    assert [each[: len(start)] for each in failures] == [start, start]
    assert "it cannot be installed" in failures[0]


@pytest.mark.parametrize(
    ("arguments", "problems", "printed"),
    [
        (["python"], [], "Name the version, as in `make release VERSION=1.0.0`.\n"),
        (["python", "1.0"], ["First.", "Second."], "First.\nSecond.\n"),
    ],
    ids=["no version", "problems"],
)
def test_a_release_that_is_not_ready_has_status_1(
    monkeypatch, capsys, arguments, problems, printed
):
    monkeypatch.setattr(release, "problems", lambda repository, version: problems)
    assert release.main(*arguments) == 1
    assert capsys.readouterr().err == printed


def test_a_folder_that_is_no_clone_has_nothing_to_build(monkeypatch, tmp_path):
    monkeypatch.setattr(dist, "ROOT", tmp_path)
    with pytest.raises(SystemExit) as end:
        dist.main()
    assert end.value.code == dist.NO_CLONE


@pytest.mark.parametrize(
    ("differences", "failures"), [(["Differs."], []), ([], ["Fails."])], ids=["build", "use"]
)
def test_archives_that_fail_are_not_published(monkeypatch, capsys, differences, failures):
    monkeypatch.setattr(release, "problems", lambda repository, version: [])
    monkeypatch.setattr(release, "build_twice", lambda repository, tools: ([], differences))
    monkeypatch.setattr(release, "try_everywhere", lambda archives, version: failures)
    assert release.main("python", "1.0") == 1
    shown = capsys.readouterr()
    assert shown.err == f"{(differences + failures)[0]}\n"
    assert "twine" not in shown.out
