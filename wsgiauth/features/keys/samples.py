"""An example of each page of API keys."""

from datetime import UTC, datetime

from wsgiauth.endpoints.samples import THEN
from wsgiauth.features.keys.api_keys import ListedKey
from wsgiauth.features.keys.keys import KeysPage
from wsgiauth.web.pages import Page

KEY = ListedKey(
    id="4fD8sKq2ZxLw",
    name="nightly export",
    permissions=("reports.publish",),
    created_at=THEN,
    expires_at=datetime(2027, 1, 31, 9, 5, tzinfo=UTC),
    last_used_at=datetime(2026, 11, 3, 2, tzinfo=UTC),
)
_KEYS = KeysPage(keys=(KEY,))

PAGES: tuple[Page, ...] = (
    _KEYS.replaced(
        offered=("reports.archive", "reports.publish"),
        chosen=frozenset({"reports.publish"}),
        made=f"wsgiauth_{KEY.id}_{'example' * 7}",
        message="The form was refused.",
        errors={"name": ["Enter a name."], "permissions": ["A rule."], "days": ["A rule."]},
    ),
    _KEYS.replaced(keys=(), confirm_url="/x"),
    _KEYS.replaced(is_full=True, is_password=True, notice="The API key has been revoked."),
)
