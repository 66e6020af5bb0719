"""The files of SERVICE_KEYS: which are read, and in what order."""

import os
import re

import pytest

from tests.support.permissions import OTHER, give_away
from tests.support.service_keys import write_key
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.services.key_files import MAX_FILES, MAX_SIZE, read_files


def refusal_of(path):
    with pytest.raises(ConfigurationError) as caught:
        read_files(path)
    return str(caught.value).removeprefix(
        "SERVICE_KEYS must be a file or folder of private keys in PEM form; "
    )


def test_files_are_read_in_alphabetical_order_without_hidden_ones(tmp_path):
    for name in ("2027.pem", "2026-11.pem", ".swp", "2026-2.pem"):
        write_key(tmp_path / name, name.encode())
    (tmp_path / "..data").mkdir()
    names = [contents.decode() for _, contents in read_files(tmp_path)]
    assert names == ["2026-11.pem", "2026-2.pem", "2027.pem"]


def test_a_path_can_be_one_file(tmp_path):
    assert read_files(write_key(tmp_path / "key", b"a key")) == [(tmp_path / "key", b"a key")]


def test_a_file_of_its_owner_alone_is_read(tmp_path):
    path = write_key(tmp_path / "key", b"a key")
    for mode in (0o400, 0o600, 0o700):
        path.chmod(mode)
        assert read_files(path)[0][1] == b"a key"


@pytest.mark.promise(67)
def test_a_file_that_others_can_open_is_refused(tmp_path):
    path = write_key(tmp_path / "key", b"a key")
    for mode in (0o640, 0o604, 0o620, 0o602, 0o610, 0o644):
        path.chmod(mode)
        problem = f"can be opened by other users (mode {mode:04o}): run chmod 600."
        assert refusal_of(tmp_path) == f"{str(path)!r} {problem}"


@pytest.mark.promise(67)
def test_a_file_of_another_user_is_refused(tmp_path):
    path = write_key(tmp_path / "key", b"a key")
    give_away(path)
    problem = f"belongs to another user (uid {OTHER}), who can read it: run chown."
    assert refusal_of(tmp_path) == f"{str(path)!r} {problem}"


@pytest.mark.promise(67)
def test_a_folder_that_others_can_change_is_refused(tmp_path):
    path = write_key(tmp_path / "key", b"a key")
    for mode in (0o770, 0o707, 0o720, 0o702, 0o777, 0o2770):
        tmp_path.chmod(mode)
        problem = f"can be changed by other users (mode {mode:04o}): run chmod go-w."
        assert refusal_of(tmp_path) == f"{str(tmp_path)!r} {problem}"
        assert read_files(path)[0][1] == b"a key"  # a file of another user would be refused
    for mode in (0o700, 0o755, 0o1777):  # in the last, only owners can rename and remove files
        tmp_path.chmod(mode)
        assert read_files(tmp_path) == [(path, b"a key")]
    tmp_path.chmod(0o700)


@pytest.mark.promise(67)
def test_a_folder_of_another_user_is_refused(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir(0o755)
    write_key(folder / "key", b"a key")
    give_away(folder)
    problem = f"belongs to another user (uid {OTHER}), who can change it: run chown."
    assert refusal_of(folder) == f"{str(folder)!r} {problem}"


def test_a_link_counts_as_the_file_that_it_leads_to(tmp_path):
    write_key(tmp_path / "open", b"a key", 0o644)
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "link").symlink_to("../open")
    assert "'link'" not in refusal_of(folder)
    (tmp_path / "open").chmod(0o600)
    assert read_files(folder) == [(folder / "link", b"a key")]


def make_empty(folder):
    return "is an empty folder"


def make_many(folder):
    for number in range(MAX_FILES + 1):
        write_key(folder / f"{number}", b"")
    return f"has more than {MAX_FILES} files"


def make_long(folder):
    write_key(folder / "key", b"-" * (MAX_SIZE + 1))
    return f"has more than {MAX_SIZE} bytes"


def make_folder(folder):
    (folder / "key").mkdir()
    return "cannot be read (Is a directory)"


def make_pipe(folder):
    os.mkfifo(folder / "key", 0o600)
    return "is not a file"


def make_dangling(folder):
    (folder / "key").symlink_to("nowhere")
    return "cannot be read (No such file or directory)"


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    for make in (make_empty, make_many, make_long, make_folder, make_pipe, make_dangling):
        folder = tmp_path / make.__name__
        folder.mkdir()
        problem = make(folder)
        assert re.fullmatch(rf"'{folder}(/key)?' {re.escape(problem)}\.", refusal_of(folder))


def test_a_path_that_does_not_exist_is_refused(tmp_path):
    for path in ("missing", "a\0b"):
        assert "cannot be read (" in refusal_of(tmp_path / path)
