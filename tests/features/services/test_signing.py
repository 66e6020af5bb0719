"""The keys of SERVICE_KEYS: which can sign, and what is published of them."""

from traceback import walk_tb

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, x25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, PrivateFormat
from jwt import PyJWK

from tests.support.service_keys import new_key, pem_of, public_pem_of, write_key
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.services.signing import load_keys

CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
EC_PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"


def refusal_of(path):
    with pytest.raises(ConfigurationError) as caught:
        load_keys(path)
    return str(caught.value)


MEMBERS = {"ES256": {"crv", "x", "y"}, "EdDSA": {"crv", "x"}, "RS256": {"e", "n"}}


@pytest.mark.parametrize("algorithm", MEMBERS)
def test_each_kind_of_key_signs_by_its_own_algorithm_and_the_public_key_alone_is_published(
    tmp_path, algorithm
):
    (key,) = load_keys(write_key(tmp_path / "key", pem_of(new_key(algorithm))))
    signature = key.sign(b"signed")
    assert key.algorithm == algorithm
    assert key.verify(b"signed", signature)
    assert not key.verify(b"Signed", signature)
    assert key.jwk.keys() == {"kty", "use", "alg", "kid"} | MEMBERS[algorithm]
    assert (key.jwk["use"], key.jwk["alg"], key.jwk["kid"]) == ("sig", algorithm, key.key_id)
    assert PyJWK(key.jwk).Algorithm.verify(b"signed", PyJWK(key.jwk).key, signature)


def test_the_id_of_a_key_is_its_thumbprint(tmp_path):
    """That of RFC 8037, appendix A.3."""
    pem = (
        b"-----BEGIN PRIVATE KEY-----\n"
        b"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
        b"-----END PRIVATE KEY-----\n"
    )
    (key,) = load_keys(write_key(tmp_path / "key", pem))
    assert key.key_id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_private_key_in_another_form_is_read(tmp_path):
    forms = {
        "SEC 1": pem_of(new_key(), form=PrivateFormat.TraditionalOpenSSL),
        "with parameters": EC_PARAMETERS + pem_of(new_key()),
        "with a comment": b"a comment\n" + pem_of(new_key()),
        "with a certificate": CERTIFICATE + pem_of(new_key()),
    }
    found = {name: len(load_keys(write_key(tmp_path / name, each))) for name, each in forms.items()}
    assert found == dict.fromkeys(forms, 1)


OF_NO_KIND = "is neither a P-256, an Ed25519 nor an RSA key of 2048 to 4096 bits"
SECRET = BestAvailableEncryption(b"secret")
TRADITIONAL = PrivateFormat.TraditionalOpenSSL


UNUSABLE = {
    "empty": (lambda: b"", "has no private key"),
    "random bytes": (lambda: b"\xff\x00" * 99, "has no private key"),
    "public": (lambda: public_pem_of(new_key()), "is a public key, not a private key"),
    "certificate": (lambda: CERTIFICATE, "is a certificate, not a private key"),
    "two keys": (lambda: pem_of(new_key()) * 2, "has more than one private key"),
    "encrypted": (
        lambda: pem_of(new_key(), SECRET),
        "is encrypted, and wsgiauth asks for no password",
    ),
    "encrypted in the older way": (
        lambda: pem_of(new_key(), SECRET, TRADITIONAL),
        "is encrypted, and wsgiauth asks for no password",
    ),
    "cut": (lambda: pem_of(new_key())[:99], OF_NO_KIND),
    "RSA of 1024 bits": (lambda: pem_of(new_key("RS256", 1024)), OF_NO_KIND),
    "P-384": (lambda: pem_of(ec.generate_private_key(ec.SECP384R1())), OF_NO_KIND),
    "secp256k1": (lambda: pem_of(ec.generate_private_key(ec.SECP256K1())), OF_NO_KIND),
    "Ed448": (lambda: pem_of(ed448.Ed448PrivateKey.generate()), OF_NO_KIND),
    "X25519": (lambda: pem_of(x25519.X25519PrivateKey.generate()), OF_NO_KIND),
}


@pytest.mark.promise(67)
def test_a_file_without_a_usable_key_is_refused_by_its_name_alone(tmp_path):
    for name, (make, problem) in UNUSABLE.items():
        contents = make()
        path = write_key(tmp_path / "2026.pem", contents)
        refusal = refusal_of(tmp_path)
        assert refusal.endswith(f"; {str(path)!r} {problem}."), name
        lines = [line for line in contents.decode("latin-1").splitlines() if len(line) > 9]
        assert [line for line in lines if line in refusal] == [], name


def test_the_same_key_in_two_files_is_refused(tmp_path):
    for name in ("a.pem", "b.pem"):
        write_key(tmp_path / name, pem_of(new_key("RS256")))
    assert refusal_of(tmp_path).endswith("b.pem' has the same key as 'a.pem'.")


@pytest.mark.promise(67)
def test_no_variable_of_the_traceback_has_a_key_that_is_refused(tmp_path):
    contents = pem_of(new_key())
    write_key(tmp_path / "a.pem", contents)
    for copies in (1, 2):  # in another file, and twice in a file
        write_key(tmp_path / "b.pem", contents * copies)
        with pytest.raises(ConfigurationError) as caught:
            load_keys(tmp_path)
        assert caught.value.__context__ is None
        _, *frames = walk_tb(caught.tb)
        assert [frame for frame, _ in frames if "PRIVATE" in repr(frame.f_locals)] == []


@pytest.mark.promise(67)
def test_the_repr_of_a_key_has_nothing_of_it(tmp_path):
    (key,) = load_keys(write_key(tmp_path / "key"))
    assert key.key_id not in repr(key)
    assert "Private" not in repr(key)
