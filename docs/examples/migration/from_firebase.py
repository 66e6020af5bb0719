"""Print the users of Firebase's file as CSV."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from write_users import write_users

write_users(
    {
        "email": user.get("email", ""),
        "is_verified": user.get("emailVerified", False),
        "hash": "",
        "is_blocked": user.get("disabled", False),
        "created_at": datetime.fromtimestamp(int(user["createdAt"]) // 1000, UTC),
        "accounts": [(each["providerId"], each["rawId"]) for each in user["providerUserInfo"]],
    }
    for user in json.loads(Path(sys.argv[1]).read_text("utf-8"))["users"]
)
