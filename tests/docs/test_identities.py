"""Every recipe by which another program finds users of this site: by a number, not by a name.

A user can change their username, and another user can then take it. A user can enter the email
address of another person, where nothing verifies it.
"""

import re
from itertools import chain

import pytest

from tests.docs.pages import PAGES, ROOT, code, section
from tests.support.tables import row_by_row

APPS = section(PAGES["docs/log-in-with-this-site.md"], "Connect an app")
OWN = PAGES["docs/write-an-app.md"]  # apps that readers write
PROGRAMS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("docs/examples/*/*.py"))
}

CLAIM = r"(?:preferred_username|nickname|upn|Remote[-_]User|Remote[-_]Email)"
WORD = rf"(?:{CLAIM}|name|login|email|username)"  # also in settings about other things
IDENTITY = r"[\w.-]*(?:claim|attribute|mapping|uid|sub|field\b|user|header|_key)[\w.-]*"
OPEN = r"[\"'\]]* *[=:] *[\"'{(\[ ]*(?:user\.)?"  # between a setting and its value
CHANGEABLE = [
    re.compile(each, re.IGNORECASE | re.MULTILINE)
    for each in (
        rf"[\w.-]+{OPEN}{CLAIM}\b",
        rf"{IDENTITY}{OPEN}{WORD}\b(?=[\"'\s}}]|$)(?! \w)",
        rf"^OIDC\w+ [\"']?{WORD}\b",  # of Apache
        rf"(?:claims|userinfo|profile|environ|headers|META)(?:\[|\.get\(|\.)[\"']?{WORD}\b",
        rf"(?:\[|\.get\()\w*user\.{WORD}\b",
        r"EMAIL_AUTHENTICATION\w*\s*=\s*True",
        r"associate_by_email",
        r"(?:allowDangerousEmailAccountLinking|allow_existing_users)\s*:\s*true",
        r"(?:insecure_email_lookup|allow_unverified_email)\s*=\s*true",
        r"ACCOUNT_LINKING\s*=\s*auto",
    )
]

# What finds no user by it, and why.
LOGIN_PAGE, OWN_PAGE, EXAMPLES = (
    "docs/log-in-with-this-site.md",
    "docs/write-an-app.md",
    "docs/examples",
)
SAFE = {
    (LOGIN_PAGE, "name_attribute_path = preferred_username"): "Grafana shows it",
    (OWN_PAGE, 'claims["email'): "Django stores it, if it is verified",
    ("docs/users.md", 'environ["REMOTE_USER'): "describes the variable",
    ("docs/migration.md", 'USERNAME_FIELD = "email'): "describes the model of the old site",
    ("docs/migration.md", "self.username = user.username"): "Flask-Login finds users by `id`",
    ("docs/forward-auth.md", 'headers["remote-user'): "greets the user",
    ("docs/forward-auth.md", "authResponseHeaders: [Remote-User"): "with `Remote-Id`",
    ("docs/forward-auth.md", "Connection: Remote-User"): "describes an attack",
    ("docs/providers.md", "user:email"): "a permission of GitHub",
    (f"{EXAMPLES}/README.md", 'environ["REMOTE_USER'): "set to the id",
    (f"{EXAMPLES}/radicale/calendar_site.py", 'environ["REMOTE_USER'): "set to the id",
    (f"{EXAMPLES}/radicale/calendar_site.py", 'type": "remote_user'): "set to the id",
    (f"{EXAMPLES}/wsgidav/webdav_site.py", 'trusted_auth_header": "REMOTE_USER'): "set to the id",
}

# Settings without which a program would find users by a name or an address.
NEEDED = {
    "Grafana": "login_attribute_path = sub",
    "Nextcloud": "--mapping-uid=sub --unique-uid=1",
    "Gitea": "REVERSE_PROXY_AUTHENTICATION_USER = Remote-Id",
    "Kubernetes": "--oidc-username-claim=sub",
    "Django": "oidc_backend.Backend",
    "[JupyterHub]": 'username_claim = "sub"',
    "[pgAdmin]": '"OAUTH2_USERNAME_CLAIM": "sub"',
    "[Flask-AppBuilder]": '"name": "auth0"',
}
FINDS_BY_ITSELF = {
    "Another site with wsgiauth": "wsgiauth finds users by `iss` and `sub`",
}


def recipes(text):
    """Return the code of a page: its blocks, and the code in its sentences."""
    blocks = code(text, r"\w*")
    return [*blocks, *re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)]


def changeable_in(text):
    """Return how a recipe finds users by what can change, or can be that of another person."""
    return [found[0].strip() for each in CHANGEABLE for found in each.finditer(text)]


def test_no_recipe_finds_users_by_what_they_can_change():
    read = {name: recipes(text) for name, text in PAGES.items()}
    read |= {name: [text] for name, text in PROGRAMS.items()}
    found = {
        (name, each)
        for name, texts in read.items()
        for each in chain.from_iterable(map(changeable_in, texts))
    }
    assert found == SAFE.keys()


WRONG = [
    'username_claim = "preferred_username"',
    "login_attribute_path = preferred_username",
    "login_attribute_path = login",
    "kube-apiserver --oidc-username-claim=email",
    "--mapping-uid=preferred_username",
    "OIDCRemoteUserClaim preferred_username",
    'OIDCRemoteUserClaim "email"',
    "REVERSE_PROXY_AUTHENTICATION_USER = Remote-User",
    '"OAUTH2_USERNAME_CLAIM": "email"',
    "subject_claim: preferred_username",
    'subject_template: "{{ user.email }}"',
    'SOCIAL_AUTH_OIDC_ID_KEY = "email"',
    'return {"username": claims["preferred_username"]}',
    'User.objects.filter(email=claims["email"])',
    'find_user(claims.get("email"))',
    'request.headers["remote-user"]',
    "user = req.headers.get('Remote-Email')",
    "SOCIALACCOUNT_EMAIL_AUTHENTICATION = True",
    '"social_core.pipeline.social_auth.associate_by_email",',
    "allowDangerousEmailAccountLinking: true",
    "oauth_allow_insecure_email_lookup = true",
]


@pytest.mark.parametrize("recipe", WRONG)
def test_a_wrong_recipe_is_noticed(recipe):
    assert changeable_in(f"# settings\n{recipe}\n# end\n")


RIGHT = [
    'username_claim = "sub"',
    "login_attribute_path = sub",
    "REVERSE_PROXY_AUTHENTICATION_USER = Remote-Id",
    "scopes = openid profile email groups",
    '"scope": "openid email"',
    "oauth_allow_insecure_email_lookup",
    'return {"username": claims["sub"]}',
]


@pytest.mark.parametrize("recipe", RIGHT)
def test_a_right_recipe_is_accepted(recipe):
    assert not changeable_in(f"# settings\n{recipe}\n# end\n")


def entries():
    """Return the entry of each app: a section, a row of the table, or an item of the list."""
    by_title = {
        title: section(APPS, title) for title in re.findall("^### (.*)$", APPS, re.MULTILINE)
    }
    by_title |= {title: section(OWN, title) for title in ("Python", "Node", "Django")}
    rows = re.findall(r"^\| (.*\]\(http.*) \|$", APPS, re.MULTILINE)  # others link sections
    by_title |= {each.partition(" | ")[0]: each for each in rows}
    listed = re.findall("^- (.*)$", section(OWN, "Libraries"), re.MULTILINE)
    return by_title | {each.partition(":")[0]: each for each in listed}


def test_every_app_says_how_it_finds_users():
    found = entries()
    assert len(found) >= 18
    silent = [title for title, text in found.items() if not re.search(r"\bsub\b", text)]
    assert set(silent) <= FINDS_BY_ITSELF.keys() | {"Gitea"}  # which gets no claims


@row_by_row("title", NEEDED)
def test_a_program_that_needs_a_setting_has_it(title):
    (text,) = [text for name, text in entries().items() if title in name]
    assert NEEDED[title] in text
