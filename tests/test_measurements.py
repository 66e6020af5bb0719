"""The programs of `make measure` fit the tables and the endpoints, at a small size."""

import pytest

from tests.load.million import apps, comparing


@pytest.mark.slow
def test_the_apps_of_a_million_grants(monkeypatch, capsys):
    monkeypatch.setattr(apps, "SMALL", 200)
    monkeypatch.setattr(apps, "LARGE", 300)
    monkeypatch.setattr(apps, "REGISTERED", 50)
    monkeypatch.setattr(comparing, "REPEATED", 1)
    monkeypatch.setattr(comparing, "PURGES", 1)
    apps.measure("sqlite")
    printed = capsys.readouterr().out
    assert "Not on an index: none\n" in printed
    assert [name for name in apps.MEASURED if name not in printed] == []
