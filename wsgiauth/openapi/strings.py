"""The strings that many forms take."""

from wsgiauth.openapi.schemas import schema, text

LANGUAGE_TAG = schema(
    "Language",
    text("A language of the site, by its tag (RFC 5646)."),  # the document adds the languages
)

USERNAME = schema(
    "Username",
    text(
        "Unique without regard to letter case, and displayed as written. No spaces, control or"
        " invisible characters inside (around it, they are ignored), and no `@`.",
        minLength=1,
        maxLength=150,
        pattern="^(?!-)[^@\\s\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u202a-\\"
        "u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufeff]+$",
        examples=["ada"],
    ),
)

LABEL = text(
    "What people call the user: the username, or the email address with USERNAMES off. It changes"
    " with them.",
    minLength=1,
    maxLength=254,
    examples=["ada"],
)
EMAIL = schema(
    "Email",
    text(
        "Unique without regard to letter case, and displayed as written. No spaces, control or"
        " invisible characters inside; around it, they are ignored.",
        minLength=3,
        maxLength=254,
        pattern='^[^@,;:<>()\\[\\]"\\\\\\s\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u2'
        '00f\\u202a-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufeff]+@[^@,;:<>()\\[\\]"\\\\\\s\\u'
        "0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206"
        'f\\ue000-\\uf8ff\\ufeff.\\u3002]+(\\.[^@,;:<>()\\[\\]"\\\\\\s\\u0000-\\u001f\\u007f-'
        "\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\uf"
        "eff.\\u3002]+)*$",
        examples=["ada@example.org"],
    ),
)
NEW_PASSWORD = schema(
    "NewPassword",
    text(
        "At least 8 characters, or more if the service is configured so; at most 72 bytes in"
        " UTF-8, both in the Unicode form NFC; not a very common password, the username or the"
        " email address; no NUL.",
        format="password",
        minLength=8,
        maxLength=72,
        pattern="^[^\\u0000]*$",
        examples=["four unrelated words"],
    ),
)
