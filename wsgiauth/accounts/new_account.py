"""An account that is to be created: its names and its password, checked once and then passed on."""

from datetime import datetime

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User, refuse_names
from wsgiauth.accounts.password_rules import PasswordRules
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.settings import Settings


class NewAccount:
    """What a new user would be.

    Neither reads the database nor computes a hash, until a method does.

    Args:
        username: As typed.
        email: As typed.
        password: As typed; only its hash is stored.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.

    Attributes:
        errors: A message for each rule that it breaks, by field.

    Raises:
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """

    def __init__(self, username: str, email: str, password: str, *, settings: Settings) -> None:
        self._names = {"username": username, "email": email}
        self._password = password
        self._rounds = settings.BCRYPT_ROUNDS
        self.errors = names.name_errors(self._names)
        rules = PasswordRules.from_settings(settings)
        problem = rules.problem(password, username=username, email=email)
        if problem is not None:
            self.errors["password"] = [problem]

    @property
    def has_valid_name(self) -> bool:
        """Whether a name keeps the rules, so that `check` says whether it is taken."""
        return not self._names.keys() <= self.errors.keys()

    def check(self) -> None:
        """Raise an error if the account cannot be created.

        Raises:
            ValidationError: A rule is broken; `errors` also reports taken names.
            TakenError: Another user has a name; no rule is broken.
            peewee.DatabaseError: The database failed.
        """
        refuse_names(self._names, self.errors)

    def create(self, *, is_staff: bool = False, is_superuser: bool = False) -> User:
        """Check, hash the password, insert the user in one transaction, and return it.

        If two processes check at the same time, the unique constraint decides.

        Raises:
            ValidationError, TakenError, peewee.DatabaseError: See `check`.
        """
        self.check()  # before hashing, which costs a thousand times more
        return self.insert(self.hash_password(), is_staff=is_staff, is_superuser=is_superuser)

    def hash_password(self) -> str:
        """Return the hash of the password, which keeps the rules."""
        return hash_password(self._password, rounds=self._rounds)

    def insert(
        self,
        hashed_password: str,
        *,
        is_staff: bool = False,
        is_superuser: bool = False,
        email_verified_at: datetime | None = None,
    ) -> User:
        """Insert the user in one transaction, and return it.

        Args:
            hashed_password: What `hash_password` returned.
            is_staff, is_superuser, email_verified_at: See `User`.

        Raises:
            TakenError: Another user has a name.
            peewee.DatabaseError: The database failed.
        """
        return User.create(
            **self._names,
            hashed_password=hashed_password,
            is_staff=is_staff,
            is_superuser=is_superuser,
            email_verified_at=email_verified_at,
        )
