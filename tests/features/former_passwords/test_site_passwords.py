"""Logins with the passwords that users had elsewhere, and what they cost."""

import base64
import hashlib
import hmac
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, product
from unicodedata import normalize

import bcrypt
import pytest
from webtest import TestApp

from tests.conftest import HASH, insert_rows, insert_users
from tests.features.former_passwords.samples import WERKZEUG
from tests.support.former import FOREIGN, LONG, MAKERS, PEPPER, made, of_sha256
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import (
    AuthMiddleware,
    User,
    create_user,
    hash_password,
    storage,
    verify_password,
)
from wsgiauth import authenticate as authenticate_in_view
from wsgiauth.accounts.former import FormerHash, store
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.authentication import authenticate, authenticate_user
from wsgiauth.exceptions import ConfigurationError, ValidationError
from wsgiauth.features.former_passwords import argon, schemes
from wsgiauth.features.former_passwords.formats import Options, read
from wsgiauth.features.former_passwords.site_passwords import (
    MOST_METHODS,
    SHARES_LAST,
    SiteFormerPasswords,
    count_methods,
)
from wsgiauth.testing import make_user

E_ACUTE = "caf\u00e9 au lait, s'il vous pla\u00eet"  # in NFC
FULLWIDTH = chr(ord(PASSWORD[0]) + 0xFEE0) + PASSWORD[1:]  # the same in NFKD


class Clock:
    now = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def former(settings, clock):
    return SiteFormerPasswords(settings, clock)


@pytest.fixture
def log_in(former):
    """Return a function that returns the user of a name and a password."""

    def log_in(name, password, **further):
        return authenticate(name, password, rounds=4, former=former, **further)

    return log_in


def insert(hashed, name=USERNAME, **options):
    """Insert a user with a hash of other software."""
    read_hash = read(hashed, Options(**options))
    user = User.objects.create(
        username=name,
        email=f"{name}@example.org",
        hashed_password=read_hash.hashed_password,
    )
    store(read_hash, user)
    return user


def has_parameters(user):
    return FormerPassword.select().where(FormerPassword.user == user.id).exists()


@pytest.mark.promise(80)
def test_a_user_logs_in_with_the_password_that_they_had(client, site):
    user = make_user(site, former_hash=WERKZEUG)
    login = {"username": "ada", "password": PASSWORD}
    assert client.post_json("/auth/login", login | {"password": "wrong"}, status=401)
    assert client.post_json("/auth/login", login).json["token_type"] == "bearer"
    assert not has_parameters(user)
    assert client.post_json("/auth/login", login)


@pytest.mark.promise(80)
def test_the_password_of_a_hash_of_each_library_is_right_and_no_other(database, log_in):
    for number, maker in enumerate(MAKERS):
        name = f"user{number}"
        user = insert(made(maker), name)
        found = [log_in(name, typed) for typed in ("wrong", f"{PASSWORD}\0", PASSWORD)]
        assert found == [None, None, user], maker
        assert not has_parameters(user), maker
        assert verify_password(PASSWORD, User.get_by_id(user.id).hashed_password), maker
        assert log_in(name, PASSWORD) == user, maker


@pytest.mark.promise(80)
def test_neither_a_foreign_hash_nor_its_digest_is_in_the_database(site, settings):
    hashes = {name: made(name) for name in FOREIGN}
    for number, foreign in enumerate(hashes.values()):
        make_user(site, f"user{number}", former_hash=foreign)
    with sqlite3.connect(settings.DATABASE_URL.removeprefix("sqlite:///")) as connection:
        written = "\n".join(connection.iterdump())
    connection.close()
    assert written.count('INSERT INTO "wsgiauth_former_password"') == len(FOREIGN)
    assert [name for name, foreign in hashes.items() if foreign in written] == []
    digests = {
        # That of bcrypt begins after the salt.
        name: foreign.rpartition("$")[2][22 if "bcrypt" in name else 0 :]
        for name, foreign in hashes.items()
    }
    assert [name for name, digest in digests.items() if digest in written] == []


def of_digest():
    """Return what the stored hash of `WERKZEUG` is of, less the byte that is in no UTF-8."""
    digest = bytes.fromhex(WERKZEUG.rpartition("$")[2])
    return base64.b64encode(hashlib.sha256(digest).digest())


def test_the_hash_is_of_the_digest_as_base64_of_its_sha_256(database):
    hashed = insert(WERKZEUG).hashed_password
    assert bcrypt.checkpw(b"\xff" + of_digest(), hashed.encode())


@pytest.mark.promise(80)
@pytest.mark.parametrize("is_lost", [False, True], ids=["", "without its parameters"])
def test_a_digest_that_was_stolen_elsewhere_is_no_password(database, log_in, is_lost):
    insert(WERKZEUG)
    if is_lost:
        FormerPassword.delete().execute()
    digest = bytes.fromhex(WERKZEUG.rpartition("$")[2])
    for typed in (of_digest(), b"\xff" + of_digest(), digest.hex().encode()):
        for decoded in (typed.decode(errors="surrogateescape"), typed.decode("latin-1")):
            assert log_in(USERNAME, decoded) is None


def test_a_hash_of_an_earlier_version_is_replaced_at_the_login(database, log_in):
    earlier = bcrypt.hashpw(of_digest(), bcrypt.gensalt(4)).decode()
    written = read(WERKZEUG, Options())._replace(hashed_password=earlier)
    user = User.create(username=USERNAME, email=EMAIL, hashed_password=earlier)
    store(written, user)
    assert [log_in(USERNAME, typed) for typed in ("wrong", PASSWORD)] == [None, user]
    assert not has_parameters(user)
    assert log_in(USERNAME, PASSWORD) == user


FORMS = ["NFC", "NFKD"]


def test_a_letter_is_the_same_in_each_of_its_forms(database, log_in):
    for form in FORMS:
        insert(made("Werkzeug scrypt", normalize(form, E_ACUTE)), form)
        assert [log_in(form, normalize(typed, E_ACUTE)) is None for typed in FORMS] == [False] * 2


def test_a_login_replaces_a_peppered_hash_of_the_same_letter(database, with_pepper):
    for form, typed in product(FORMS, repeat=2):
        user = insert(made("Werkzeug scrypt", peppered(normalize(form, E_ACUTE))), is_peppered=True)
        assert with_pepper(normalize(typed, E_ACUTE)) == user
        assert not has_parameters(user)
        user.delete_instance()


def test_a_password_in_fullwidth_letters_does_not_replace_the_real_one(database, with_pepper):
    user = insert(made("Werkzeug scrypt", peppered(PASSWORD)), is_peppered=True)
    assert with_pepper(FULLWIDTH) == user
    assert has_parameters(user)
    assert with_pepper(PASSWORD) == user
    assert not has_parameters(user)
    assert with_pepper(FULLWIDTH) is None


def test_without_a_pepper_a_fullwidth_letter_is_another_one(database, log_in):
    insert(WERKZEUG)
    assert log_in(USERNAME, FULLWIDTH) is None


def test_no_password_has_more_than_two_forms(database, settings, work):
    former = SiteFormerPasswords(replace(settings, FORMER_PEPPER=PEPPER))
    typed = f"{normalize('NFC', E_ACUTE)}{normalize('NFD', E_ACUTE)}{FULLWIDTH}"
    for name, is_peppered in (("plain", False), ("peppered", True)):
        insert(WERKZEUG, name, is_peppered=is_peppered)
        done, _ = work(lambda name=name: authenticate(name, typed, rounds=4, former=former))
        assert [each for each, *_ in done] == ["checkpw"] * 4 + ["scrypt"] * 2


def peppered(password):
    """Return the password as Flask-Security passed it to the hash."""
    digest = hmac.digest(PEPPER.encode(), password.encode(), "sha512")
    return base64.b64encode(digest).decode()


@pytest.fixture
def with_pepper(settings):
    """Return a function that returns the user of a password, on a site with the pepper."""
    former = SiteFormerPasswords(replace(settings, FORMER_PEPPER=PEPPER))
    return lambda password: authenticate(USERNAME, password, rounds=4, former=former)


def test_a_peppered_hash_needs_the_pepper(database, settings):
    for scheme in ("Werkzeug scrypt", "passlib argon2i", "bcrypt"):
        hashed = made(scheme, peppered(PASSWORD)[: 72 if scheme == "bcrypt" else None])
        name = scheme.replace(" ", "-")
        insert(hashed, name, is_peppered=True)
        for pepper, is_right in ((None, False), ("another", False), (PEPPER, True)):
            former = SiteFormerPasswords(replace(settings, FORMER_PEPPER=pepper))
            found = authenticate(name, PASSWORD, rounds=4, former=former)
            assert (found is not None) == is_right, (scheme, pepper)


def test_a_bcrypt_hash_of_a_sha_256_digest_is_imported_by_an_option(database, log_in):
    insert(of_sha256(LONG), of_sha256=True)
    assert log_in(USERNAME, LONG) is not None


def test_a_long_password_stays_in_its_former_form_until_it_is_changed(site, client):
    user = make_user(site, former_hash=made("Werkzeug scrypt", LONG))
    before = User.get_by_id(user.id).hashed_password
    login = {"username": "ada", "password": LONG}
    for _ in range(2):
        token = client.post_json("/auth/login", login).json["access_token"]
    assert has_parameters(user)
    assert User.get_by_id(user.id).hashed_password == before
    headers = {"Authorization": f"Bearer {token}"}
    confirmed = client.post_json("/auth/confirm", {"password": LONG}, headers=headers).json
    headers = {"Authorization": f"Bearer {confirmed['access_token']}"}
    form = {"current_password": LONG + "x", "new_password": PASSWORD}
    client.post_json("/auth/password", form, headers=headers, status=401)
    form["current_password"] = LONG
    client.post_json("/auth/password", form, headers=headers)
    assert not FormerPassword.select().exists()
    assert client.post_json("/auth/login", login | {"password": PASSWORD})


def test_without_former_passwords_a_long_password_is_refused_as_before(client, ada):
    login = {"username": USERNAME, "password": LONG}
    answer = client.post_json("/auth/login", login, status="4*")
    assert "at most 72 bytes" in str(answer.json)


@pytest.mark.every_database
def test_a_new_password_or_a_deletion_removes_the_parameters_and_another_change_does_not(
    database, log_in
):
    user, other = insert(WERKZEUG), insert(WERKZEUG, "grace")
    user.hashed_password = hash_password("another phrase of words", rounds=4)
    user.save()
    assert not has_parameters(user)
    other.username = "countess"
    other.save()
    assert has_parameters(other)
    assert log_in("countess", PASSWORD) == other
    deleted = insert(WERKZEUG, "lin")
    deleted.delete_instance()
    assert not has_parameters(deleted)


def test_parameters_that_an_update_left_behind_have_no_effect(database, log_in):
    user = insert(WERKZEUG)
    new = hash_password("another phrase of words", rounds=4)
    User.update(hashed_password=new).where(User.id == user.id).execute()
    assert has_parameters(user)
    assert log_in(USERNAME, PASSWORD) is None
    assert log_in(USERNAME, "another phrase of words") == user


@pytest.mark.every_database
def test_a_login_keeps_a_password_that_was_chosen_meanwhile(database, log_in, meanwhile):
    user = insert(WERKZEUG)
    new = hash_password("another phrase of words", rounds=4)

    def change():
        stored = User.get_by_id(user.id)
        stored.hashed_password = new
        stored.save()

    meanwhile(change)
    assert log_in(USERNAME, PASSWORD) == user  # its session is not valid
    assert User.get_by_id(user.id).hashed_password == new


def test_a_login_that_changes_nothing_keeps_the_parameters(database, log_in, meanwhile):
    user = insert(WERKZEUG)
    revoke = User.update(security_stamp=User.security_stamp + 1)
    meanwhile(revoke.execute)
    assert log_in(USERNAME, PASSWORD) == user
    assert has_parameters(user)
    assert log_in(USERNAME, PASSWORD) == user


def test_two_logins_at_a_time_both_succeed(database, log_in, former):
    user = insert(WERKZEUG)
    outdated = User.get_by_id(user.id)
    assert log_in(USERNAME, PASSWORD) == user
    found = authenticate_user(outdated, PASSWORD, name=USERNAME, rounds=4, former=former)
    assert found == user


def test_a_user_who_was_deleted_meanwhile_is_unknown(database, former):
    user = insert(WERKZEUG)
    User.get_by_id(user.id).delete_instance()
    assert authenticate_user(user, PASSWORD, name=USERNAME, rounds=4, former=former) is None


def test_an_empty_password_or_a_surrogate_for_a_question_mark_matches_nothing(database, log_in):
    insert(made("Werkzeug scrypt", ""))
    assert log_in(USERNAME, "") is None
    insert(made("Werkzeug scrypt", "is it so?"), "grace")
    assert log_in("grace", "is it so\ud800") is None


@pytest.mark.promise(81)
def test_a_password_with_nul_costs_what_another_costs(database, log_in, work):
    insert(WERKZEUG)
    log_in("warm", "up")
    costs = [
        work(lambda name=name, typed=typed: log_in(name, typed))
        for name in (USERNAME, "nobody")
        for typed in ("wrong", f"{PASSWORD}\0")
    ]
    assert costs[1:] == costs[:-1]


def test_without_the_package_no_argon2_hash_matches(database, log_in, monkeypatch, caplog):
    insert(made("argon2-cffi argon2id"))
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    assert log_in(USERNAME, PASSWORD) is None
    assert "argon2-cffi" in caplog.text


@pytest.mark.promise(80)
def test_the_hash_slots_bound_how_many_are_hashed_at_once(settings, monkeypatch):
    site = AuthMiddleware(
        lambda environ, start_response: [],
        replace(settings, HASHING_THREADS=1, HASHING_PER_ADDRESS=0),
    )
    for number in range(6):
        make_user(site, f"user{number}", former_hash=WERKZEUG)
    hashing, most = [], []
    compute = hashlib.scrypt

    def scrypt(*arguments, **costs):
        hashing.append(1)
        most.append(len(hashing))
        made = compute(*arguments, **costs)
        hashing.pop()
        return made

    monkeypatch.setattr(hashlib, "scrypt", scrypt)

    def log_in(number):
        login = {"username": f"user{number}", "password": "wrong"}
        return TestApp(site).post_json("/auth/login", login, status="*").status_int

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(log_in, range(6))) <= {401, 503}
    assert set(most) == {1}
    storage.discard_connection(site.database)


# What a failed login computes.

KINDS_OF_HASHES = {
    "pbkdf2": WERKZEUG.replace("scrypt:16:8:1", "pbkdf2:sha256:1000"),
    "scrypt": WERKZEUG,
    "argon2": made("argon2-cffi argon2id"),
    "bcrypt-sha256": made("Django bcrypt_sha256"),
    "bcrypt": made("bcrypt"),
}


@pytest.fixture
def work(monkeypatch, queries):
    """Return a function that returns what an action computes: costs of hashes, and SELECTs."""

    def work_of(action):
        done = []
        with monkeypatch.context() as patch:
            for module, name in (
                (hashlib, "pbkdf2_hmac"),
                (hashlib, "scrypt"),
                (schemes.argon, "digest"),
                (bcrypt, "checkpw"),
                (bcrypt, "hashpw"),
            ):
                patch.setattr(module, name, spied(done, name, getattr(module, name)))
            sent = queries(action)
        return sorted(done), Counter(each.split()[0] for each in sent)

    return work_of


def spied(done, name, function):
    def spy(*arguments, **costs):
        about = [each for each in arguments if isinstance(each, int | str)]
        if name in ("checkpw", "hashpw"):
            about = arguments[1][4:6]
        done.append((name, about, [costs[each] for each in sorted({*costs} - {"salt"})]))
        return function(*arguments, **costs)

    return spy


@pytest.mark.promise(81)
def test_a_name_without_an_account_costs_what_an_account_costs(database, log_in, work):
    for name, hashed in KINDS_OF_HASHES.items():
        insert(hashed, name)
    log_in("warm", "up")  # which counts the shares
    costs = {str(work(lambda name=name: log_in(name, "wrong"))) for name in KINDS_OF_HASHES}
    absent = [str(work(lambda n=n: log_in(f"nobody-{n}", "wrong"))) for n in range(60)]
    # At cost 4, a hash of the password itself could be of a digest, and needs a look-up, too.
    assert len(costs) == len(KINDS_OF_HASHES)
    assert {each.replace("'SELECT': 1", "'SELECT': 2") for each in absent} == costs


@pytest.mark.promise(81)
def test_the_cost_of_an_absent_name_depends_on_the_name_alone(database, log_in, work):
    for name, hashed in KINDS_OF_HASHES.items():
        insert(hashed, name)
    log_in("warm", "up")
    once, again, in_capitals = (
        work(lambda name=name: log_in(name, "wrong")) for name in ("nobody", "nobody", "NOBODY")
    )
    assert once == again == in_capitals


@pytest.mark.promise(81)
def test_absent_names_have_the_schemes_in_the_shares_of_the_users(database, former):
    insert_users(9)  # with bcrypt of the password itself
    insert_methods("scrypt", ["n=16,r=8,p=1,l=64"] * 3)
    chosen = Counter(former.find(None, f"nobody{n}")[1] is None for n in range(600))
    assert 400 < chosen[True] < 500  # three quarters


def insert_methods(scheme, parameters):
    """Insert a user for each of these parameters, without the bcrypt of a hash that is read."""
    first = User.select().count()
    names = [f"{scheme}-{number}" for number in range(first, first + len(parameters))]
    insert_rows(
        {"username": each, "email": f"{each}@example.org", "hashed_password": HASH}
        for each in names
    )
    ids = [each.id for each in User.select(User.id).order_by(User.id)][first:]
    FormerPassword.insert_many(
        FormerHash(HASH, scheme, each, "c2FsdA==").row(user_id)
        for user_id, each in zip(ids, parameters, strict=True)
    ).execute()


def insert_costs(costs, hash_name="sha256"):
    """Insert a user with a hash by PBKDF2 for each of these iterations."""
    insert_methods(f"pbkdf2-{hash_name}", [f"i={cost},l=32" for cost in costs])


MANY = MOST_METHODS + 20


@pytest.mark.promise(81)
@pytest.mark.every_database
@pytest.mark.parametrize(
    ("costs", "least"),
    [
        (range(29000, 29000 + MANY), 0.99),
        (range(10000, 10000 + MANY * 500, 500), 0.9),
        (range(100000, 100000 + MANY * 5000, 5000), 0.9),
    ],
    ids=["last digits", "two digits", "longer"],
)
def test_too_many_methods_are_counted_by_like_costs(database, former, costs, least):
    insert_costs(costs)
    insert(WERKZEUG, "rare")
    counted = count_methods()
    assert len(counted) <= MOST_METHODS
    assert {each.scheme for each in counted} == {"pbkdf2-sha256", "scrypt"}
    assert sum(counted.values()) == MANY + 1
    for cost in costs:
        assert any(least * cost <= each.costs.get("i", 0) <= cost for each in counted)
    assert all(former.find(None, f"nobody{number}")[1] for number in range(100))


@pytest.mark.promise(81)
@pytest.mark.every_database
def test_too_many_methods_of_pbkdf2_hide_no_cost_of_another_scheme(database):
    insert_costs(range(29000, 29000 + MANY))
    others = {"n=16384,r=8,p=8,l=64": 5, "n=16384,r=8,p=1,l=64": 2}
    insert_methods("scrypt", [*Counter(others).elements()])
    counted = {each.parameters: users for each, users in count_methods().items()}
    assert others.items() <= counted.items()


def test_up_to_the_limit_each_method_is_counted(database):
    insert_costs(range(29000, 29000 + MOST_METHODS))
    assert [*count_methods().values()] == [1] * MOST_METHODS


def test_hostile_methods_are_counted_by_the_length_of_their_parameters(database):
    hash_names, zeros = ("sha1", "sha256", "sha512"), range(5)
    for each in hash_names:
        insert_costs([digit * 10**n for digit in range(1, 10) for n in zeros], each)
    assert [*count_methods().values()] == [9] * len(hash_names) * len(zeros)


def test_hostile_methods_of_other_schemes_are_counted_by_length_too(database):
    insert_methods("scrypt", [f"n=1024,r={block},p=1,l=64" for block in range(1, MANY + 1)])
    assert [*count_methods().values()] == [90, MANY - 99, 9]


def test_a_rotation_changes_the_costs_of_absent_names_once(database, settings):
    for name, hashed in KINDS_OF_HASHES.items():
        insert(hashed, name)

    def chosen(*keys):
        rotated = replace(settings, SECRET_KEY=keys[0], SECRET_KEY_FALLBACKS=keys[1:])
        former = SiteFormerPasswords(rotated)
        found = [former.find(None, f"nobody{n}")[1] for n in range(50)]
        return [each and each.method for each in found]

    old, new = SECRET_KEY, SECRET_KEY[::-1]
    steps = [chosen(old), chosen(old, new), chosen(new, old), chosen(new)]
    assert [one == other for one, other in pairwise(steps)] == [True, False, True]


def test_few_names_change_when_a_user_logs_in(database, settings, clock, former, log_in):
    for number in range(10):
        insert(WERKZEUG, f"user{number}")
    was = [former.find(None, f"nobody{n}")[1] is None for n in range(200)]
    assert not any(was)
    log_in("user0", PASSWORD)
    clock.now += SHARES_LAST
    now = [former.find(None, f"nobody{n}")[1] is None for n in range(200)]
    assert 5 < sum(now) < 45  # a tenth


def test_the_shares_are_counted_every_five_minutes(database, clock, former, queries):
    insert(WERKZEUG)
    assert len(queries(lambda: former.find(None, "nobody"))) == 3
    assert len(queries(lambda: former.find(None, "nobody"))) == 1
    clock.now += SHARES_LAST - 1
    assert len(queries(lambda: former.find(None, "nobody"))) == 1
    clock.now += 1
    assert len(queries(lambda: former.find(None, "nobody"))) == 3


def test_a_site_without_former_passwords_counts_no_users(database, former, queries, ada):
    def counts():
        return [sql for sql in queries(lambda: former.find(None, "nobody")) if "COUNT" in sql]

    assert [sql.count("wsgiauth_user") for sql in counts()] == [0]
    assert counts() == []


def test_a_usual_site_without_former_passwords_reads_nothing_for_an_absent_name(
    database, settings, queries
):
    former = SiteFormerPasswords(replace(settings, BCRYPT_ROUNDS=12))
    former.find(None, "warm")
    assert queries(lambda: former.find(None, "nobody")) == []


@pytest.mark.promise(81)
def test_a_user_without_a_password_costs_what_an_absent_name_costs(database, log_in, work):
    insert(WERKZEUG, "wanda")
    User.objects.create(username="nina", email="nina@example.org", hashed_password="")
    log_in("warm", "up")
    names = [f"nobody-{n}" for n in range(10)]
    absent = [work(lambda n=n: log_in(n, "wrong")) for n in ("nina", *names)]
    for name in names:
        User.objects.create(username=name, email=f"{name}@example.org", hashed_password="")
    assert [work(lambda n=n: log_in(n, "wrong")) for n in ("nina", *names)] == absent


def test_the_application_authenticates_with_a_former_password(settings):
    def app(environ, start_response):
        user = authenticate_in_view(environ, "ada", PASSWORD)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(user).encode()]

    site = AuthMiddleware(app, settings)
    make_user(site, former_hash=WERKZEUG)
    assert TestApp(site).get("/").text == "ada"


def test_without_the_package_create_user_raises_the_cause(database, settings, monkeypatch):
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    hashed = made("argon2-cffi argon2id")
    with pytest.raises(ConfigurationError, match=r"^A hash by Argon2 needs the package argon2"):
        create_user(USERNAME, EMAIL, settings=settings, former_hash=hashed)
    assert not User.objects.count()


def test_either_a_password_or_a_hash_that_is_a_string_is_given(database, settings):
    with pytest.raises(TypeError, match="former_hash must be a string, not bytes"):
        create_user(USERNAME, EMAIL, settings=settings, former_hash=WERKZEUG.encode())
    for credentials in ({}, {"password": PASSWORD, "former_hash": WERKZEUG}):
        with pytest.raises(TypeError, match="either a password or a former_hash"):
            create_user(USERNAME, EMAIL, settings=settings, **credentials)


def test_a_malformed_hash_creates_no_user(database, settings):
    for former_hash in ("secret", "$2b$04$x", "x" * 2000, "former$x$y$z$w"):
        with pytest.raises(ValidationError) as caught:
            create_user(USERNAME, EMAIL, settings=settings, former_hash=former_hash)
        assert former_hash not in str(caught.value)
    assert not User.objects.count()


def test_code_creates_a_user_with_a_peppered_hash_only_with_the_pepper(database, settings):
    new = {"former_hash": WERKZEUG, "is_peppered": True}
    with pytest.raises(ConfigurationError, match="FORMER_PEPPER must be set"):
        create_user(USERNAME, EMAIL, settings=settings, **new)
    settings = replace(settings, FORMER_PEPPER="pepper")
    user = create_user(USERNAME, EMAIL, settings=settings, **new)
    assert FormerPassword.get(user=user.id).scheme == "scrypt-peppered"


def test_code_creates_a_user_with_a_password_as_before(database, settings, log_in):
    user = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    assert log_in(USERNAME, PASSWORD) == user


def test_a_hash_of_another_cost_needs_no_look_up(database, former, queries):
    insert(WERKZEUG)
    user = insert(hash_password(PASSWORD, rounds=5), "grace")
    former.find(None, "warm up")
    assert queries(lambda: former.find(user, "grace")) == []
    assert former.find(user, "grace") == (user.hashed_password, None)
