"""What `make dumps` says when it makes none."""

import pytest

from tests.support import dumps


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name the version, as in `make dumps VERSION=1.0.0`."),
        (["1.0"], "tests/storage/dumps/1.0 exists: remove it to make it anew."),
    ],
    ids=["no version", "existing dumps"],
)
def test_no_dump_is_made_without_a_version_or_over_others(
    monkeypatch, tmp_path, arguments, sentence
):
    monkeypatch.setattr(dumps, "FOLDER", tmp_path)
    monkeypatch.setattr(dumps, "make_dumps", None)  # a call would fail
    (tmp_path / "1.0").mkdir()
    with pytest.raises(SystemExit) as end:
        dumps.main(*arguments)
    assert end.value.code == sentence
