"""docs/extend.md: an author who types it sees what it says and shows."""

import sys
from pathlib import Path

import pytest

from tests.docs.author import read_in_german, typing
from tests.docs.pages import ROOT


@pytest.mark.usefixtures("unmeasured")
def test_an_author_follows_it(tmp_path):
    with typing(tmp_path, Path(sys.executable).parent, PYTHONPATH=str(ROOT)) as author:
        author.read(skips=("pip ",))  # which needs a network
        read_in_german(author)
