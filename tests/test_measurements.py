"""The programs of `make measure` fit the tables and the endpoints, at a small size."""

import pytest

from tests.load.million import apps, comparing


@pytest.mark.slow
def test_the_apps_of_a_million_grants(monkeypatch, capsys):
    monkeypatch.setattr(apps, "SMALL", 200)
    monkeypatch.setattr(apps, "LARGE", 300)
    monkeypatch.setattr(apps, "REGISTERED", 50)
    monkeypatch.setattr(apps, "REMOVED", 3)  # as many as one database needs
    monkeypatch.setattr(comparing, "REPEATED", 1)
    monkeypatch.setattr(comparing, "PURGES", 1)
    for _ in range(2):
        apps.measure("sqlite")
    printed = capsys.readouterr().out
    assert printed.count("Not on an index: none\n") == 2
    assert [name for name in apps.MEASURED if name not in printed] == []
