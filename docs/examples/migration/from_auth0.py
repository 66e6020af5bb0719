"""Print the users of Auth0's two files as CSV."""

import json
import sys
from pathlib import Path

from write_users import write_users

exported, passwords = (
    [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]
    for name in sys.argv[1:]
)
hashes = {(each["connection"], each["email"].lower()): each["passwordHash"] for each in passwords}


def hash_of(user):
    for each in user["identities"]:
        email = each.get("profileData", user).get("email", "")  # profileData: a linked account
        if (each["connection"], email.lower()) in hashes:
            return hashes[each["connection"], email.lower()]
    return ""


write_users(
    {
        "email": user.get("email", ""),
        "is_verified": user.get("email_verified", False),
        "hash": hash_of(user),
        "is_blocked": user.get("blocked", False),
        "created_at": user["created_at"],
        "accounts": [(each["provider"], str(each["user_id"])) for each in user["identities"]],
    }
    for user in exported
)
