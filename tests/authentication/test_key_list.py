"""What the owner of API keys sees of them."""

from datetime import UTC, datetime

import pytest

from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.key_list import ListedKey

HOUR = 3600 * 500_000  # a full hour, in seconds since the epoch
MADE = HOUR + 1200


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        pytest.param(None, None, id="never"),
        pytest.param(MADE + 60, MADE, id="in the hour in which it was made"),
        pytest.param(MADE + 3600, HOUR + 3600, id="later"),
    ],
)
def test_the_last_use_is_shown_to_the_hour_and_never_before_the_key_was_made(used, shown):
    row = Key(id="k", name="n", permissions="a.b", created_at=MADE, expires_at=0, last_used_at=used)
    expected = None if shown is None else datetime.fromtimestamp(shown, UTC)
    assert ListedKey.of(row).last_used_at == expected
