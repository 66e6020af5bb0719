"""Write users as the CSV file that `python -m wsgiauth import` reads."""

import csv
import sys
from urllib.parse import quote

ISSUERS = {  # as OIDC_PROVIDERS names them
    "github": "https://github.com",
    "github.com": "https://github.com",
    "google-oauth2": "https://accounts.google.com",
    "google.com": "https://accounts.google.com",
}
COLUMNS = (
    *("email", "hashed_password", "is_active", "created_at"),
    *("email_verified_at", "email_verified_by", "identities"),
)
BY_LINK = {"auth0", "password"}  # whose addresses are verified by a link


def write_users(users):
    writer, written = csv.writer(sys.stdout), {""}
    writer.writerow(COLUMNS)
    for user in sorted(users, key=lambda user: (not user["is_verified"], not user["hash"])):
        email, accounts, created_at = user["email"], user["accounts"], user["created_at"]
        if email.lower() in written:
            print(f"{email!r} {accounts} was left out.", file=sys.stderr)
            continue
        written.add(email.lower())
        known = [(ISSUERS[name], number) for name, number in accounts if name in ISSUERS]
        proof = ["", ""]
        if user["is_verified"]:
            by_link = BY_LINK.issuperset(name for name, _ in accounts)
            proof = [created_at, "link" if by_link else known[0][0] if known else ""]
        identities = " ".join(f"{issuer}#{quote(number, safe='')}" for issuer, number in known)
        is_active = "no" if user["is_blocked"] else "yes"
        writer.writerow([email, user["hash"], is_active, created_at, *proof, identities])
