"""What tests of all features ask of the import and export of users."""

from tests.conftest import HASH
from tests.features.former_passwords.samples import WERKZEUG


def commands(folder):
    """Return the commands; the second import finds all users there."""
    people = folder / "people.csv"
    people.write_text(
        "username,email,hashed_password,permissions,identities\n"
        f"Zed,zed@example.org,{HASH},a.b c.d,https://accounts.example.com#zed\n"
        f"Wera,wera@example.org,{WERKZEUG},,\n"
    )
    return (f"import {people}", f"import {people}", "export", "export --with-hashes")
