"""Settings that are valid and risky."""

import pytest

from wsgiauth import Settings


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("name", "value", "is_risky"),
    [
        ("BCRYPT_ROUNDS", 9, True),
        ("BCRYPT_ROUNDS", 10, False),
        ("JWT_EXPIRY_MINUTES", 60 * 24 * 30 + 1, True),
        ("LOGIN_FAILURES_PER_ACCOUNT", 0, True),
        ("LOGIN_FAILURES_PER_ACCOUNT", 1, False),
        ("JWT_EXPIRY_MINUTES", 60 * 24 * 30, False),
        ("SESSION_HOURS", 24 * 30 + 1, True),
        ("SESSION_HOURS", 24 * 30, False),
        ("REMEMBER_DAYS", 31, True),
        ("REMEMBER_DAYS", 30, False),
    ],
)
def test_what_is_allowed_but_unwise_is_named(name, value, is_risky):
    risks = Settings(**{name: value}).risks()
    assert [risk.startswith(f"{name} is {value}") for risk in risks] == [True] * is_risky


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("origins", "is_risky"),
    [
        *(
            pytest.param((origin,), True, id=origin)
            for origin in (
                *("http://app.example.org", "http://192.0.2.1:8080", "http://[2001:db8::1]"),
                *("http://localhost.example.org", "http://127.0.0.1.example.org:8080"),
                *("http://notlocalhost", "http://example.org:8127"),
            )
        ),
        *(
            pytest.param((origin,), False, id=origin)
            for origin in (
                *("https://app.example.org", "http://localhost", "http://localhost:3000"),
                *("http://app.localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000"),
            )
        ),
        pytest.param(("https://a.example", "http://b.example"), True, id="one of two"),
        pytest.param(("http://b.example", "http://c.example"), True, id="both"),
    ],
)
def test_a_trusted_origin_without_https_is_a_risk(origins, is_risky):
    risks = Settings(TRUSTED_ORIGINS=origins).risks()
    named = ", ".join(origin for origin in origins if origin.startswith("http:"))
    assert [risk.split(": ")[0] for risk in risks] == [f"TRUSTED_ORIGINS has {named}"] * is_risky


def test_the_middleware_warns_of_risks(site, caplog):
    messages = [record.getMessage() for record in caplog.get_records("setup")]
    assert any(message.startswith("BCRYPT_ROUNDS is 4: below 10") for message in messages)
