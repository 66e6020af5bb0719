"""Measures former passwords: failed logins by scheme, and the import of 10,000 users.

`make measure NAME=former` prints, for each scheme, the median time of failed logins to accounts,
and to names without an account that cost the same. Both must be equal beyond the noise.
"""

import contextlib
import io
import logging
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.support.former import MAKERS
from tests.support.sites import PASSWORD, SECRET_KEY
from wsgiauth import Settings, hash_password, storage
from wsgiauth.authentication import authenticate
from wsgiauth.cli import main as run_command
from wsgiauth.features.former_passwords.site_passwords import SiteFormerPasswords

LOGINS = 245  # for each scheme
USERS = 10_000
ROUNDS = 10

# As other software makes them, at costs of some hundredths of a second.
HASHES = {
    "bcrypt": hash_password(PASSWORD, rounds=ROUNDS),
    "bcrypt-sha256": MAKERS["Django bcrypt_sha256"][1](PASSWORD).replace("$04$", "$10$"),
    "pbkdf2-sha256": f"pbkdf2:sha256:150000$salt${'00' * 32}",
    "scrypt": f"scrypt:16384:8:1$salt${'00' * 64}",
    "argon2": "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$" + "A" * 43,
}


def import_users(number):
    """Import as many users with hashes of all schemes."""
    hashes = list(HASHES.values())
    rows = [f'u{n},u{n}@example.org,"{hashes[n % len(hashes)]}"' for n in range(number)]
    sys.stdin = io.StringIO("\n".join(["username,email,hashed_password", *rows, ""]))
    begin = time.process_time()
    with contextlib.redirect_stderr(io.StringIO()):
        run_command(["import", "-"])
    print(f"import of {number:,} users: {time.process_time() - begin:.1f} s of a processor")


def scheme_of(former, name):
    """Return a scheme with which a name without an account costs the same."""
    found = former.find(None, name)[1]
    return "bcrypt" if found is None else found.method.scheme


def failed_logins():
    """Return the times of failed logins by scheme and whether the name has an account."""
    settings = Settings(
        SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=ROUNDS, DATABASE_URL=os.environ["DATABASE_URL"]
    )
    storage.open_database(settings.DATABASE_URL)
    former = SiteFormerPasswords(settings)
    schemes = list(HASHES)
    planned = [(schemes[n % len(schemes)], True, f"u{n}") for n in range(LOGINS * len(schemes))]
    wanted = dict.fromkeys(schemes, LOGINS)
    number = 0
    while any(wanted.values()):
        number += 1
        scheme = scheme_of(former, f"nobody{number}")
        if wanted[scheme]:
            wanted[scheme] -= 1
            planned.append((scheme, False, f"nobody{number}"))
    random.shuffle(planned)
    logging.getLogger("wsgiauth").setLevel(logging.CRITICAL)  # one line for each failure
    times = {}
    for scheme, has_account, name in planned:
        begin = time.process_time()  # not of other processes
        authenticate(name, "wrong", rounds=ROUNDS, former=former)
        times.setdefault((scheme, has_account), []).append(time.process_time() - begin)
    return times


def main():
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{Path(folder)}/wsgiauth.db"
        import_users(USERS)
        times = failed_logins()
        for scheme in HASHES:
            for has_account in (True, False):
                taken = [1000 * each for each in times[scheme, has_account]]
                low, median, high = statistics.quantiles(taken, n=4)
                whose = "accounts" if has_account else "absent names"
                print(f"{scheme:14} {whose:12} {median:6.2f} ms ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
