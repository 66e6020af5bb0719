"""One key for both spellings of an international domain: of two users, only one can have it now.

If two users have an address in both spellings, the key of `xn--` stays, and its user logs in by the
username. The rules are copies, frozen as they were when this migration was written.
"""

import re
import unicodedata

import peewee

LABEL = re.compile(r"""[^@,;:<>()\[\]"\\.\u3002]+""")
REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zs", "Zl", "Zp"})
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)


def up(migrator, db):
    class User(peewee.Model):
        email_key = peewee.CharField(max_length=254, unique=True)

        class Meta:
            database = db
            table_name = "wsgiauth_user"

    for user in list(User.select().where(User.email_key.contains("xn--"))):
        key = _canonical(user.email_key)
        if not User.select().where(User.email_key == key).exists():
            User.update(email_key=key).where(User.id == user.id).execute()


def down(migrator, db):
    """Leave the keys as they are: each is one that a user could have had."""


def _canonical(key):
    local, at, domain = key.rpartition("@")
    return local + at + ".".join(map(_decode, domain.split(".")))


def _decode(label):
    if not label.startswith("xn--") or len(label) > 63:
        return label
    try:
        encoded = label.removeprefix("xn--").encode("ascii")
        decoded = encoded.decode("punycode")
        is_reversible = decoded.encode("punycode") == encoded
    except UnicodeError:
        return label
    folded = unicodedata.normalize("NFD", decoded).casefold()
    folded = unicodedata.normalize("NFKD", folded).casefold()
    folded = unicodedata.normalize("NFKC", folded)
    if not is_reversible or folded != decoded:
        return label
    if decoded.isascii() or decoded.startswith("xn--") or not LABEL.fullmatch(decoded):
        return label
    categories = map(unicodedata.category, decoded)
    is_refused = BLANK.search(decoded) or not REFUSED_CATEGORIES.isdisjoint(categories)
    return label if is_refused else decoded
