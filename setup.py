"""Packaging of wsgiauth; pyproject.toml has what developing it needs."""

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
TESTING = {"testing": ["pytest>=8", "webtest>=3.0.4"]}  # of applications: see wsgiauth.testing

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
            **TESTING,
        },
        entry_points={
            "console_scripts": ["wsgiauth = wsgiauth.cli:main"],
            "paste.filter_app_factory": ["main = wsgiauth.paste:filter_app_factory"],
        },
    )
