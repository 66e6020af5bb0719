"""Import accounts, and print those that are refused: see docs/migration.md."""

from wsgiauth import Settings, User, create_user, find_user
from wsgiauth.exceptions import ConfigurationError, ValidationError

settings = Settings.from_environ()


def create(username, email, hashed, is_peppered):
    if not hashed:
        return User.objects.create(username=username, email=email, hashed_password="")
    return create_user(
        username, email, settings=settings, former_hash=hashed, is_peppered=is_peppered
    )


def import_account(account, hashed):
    account = dict(account)
    permissions, groups = (account.pop(name, ()) for name in ("permissions", "groups"))
    names = account.pop("username", None), account.pop("email", "")
    user = create(*names, hashed, account.pop("is_peppered", False))
    for name, value in account.items():
        setattr(user, name, value)
    user.save()
    user.grant(*permissions)
    for group in groups:
        user.join(group)


def import_accounts(accounts):
    created = existing = 0
    for account in accounts:
        account = {name: value for name, value in account.items() if value is not None}
        username, email = account.get("username"), account.get("email", "")
        who = f"{username!r} ({email!r})" if username else repr(email)
        hashed = account.pop("hashed_password", "")
        user = find_user(username or email)
        if user and user.email == email and username in (None, user.username):
            existing += 1
            continue
        try:
            with User._meta.database.atomic():  # the account and its rights, or neither
                try:
                    import_account(account, hashed)
                except ValidationError as error:
                    if error.errors.keys() != {"former_hash"}:
                        raise
                    hashed = ""
                    import_account(account, hashed)
        except ConfigurationError:  # the package for Argon2 is missing: stop
            raise
        except ValueError as error:  # a name that is taken or breaks a rule, or a permission
            print(f"{who} was not imported: {error}")
            continue
        created += 1
        if not hashed:
            print(f"{who} needs a new password: no hash that can be used.")
    print(f"Created: {created}; already existed: {existing}.")
