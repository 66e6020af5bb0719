"""Each page has a limit of words, and an address that it once had leads to what it has today."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT, slug

TOTAL = 70_000  # words: 60,000, and at most 500 for each of 20 features that came later
EXAMPLES = 2_250  # words of docs/examples
LIMITS = {
    "README.md": 700,
    "CHANGELOG.md": 1_300,
    "CONTRIBUTING.md": 820,
    "SECURITY.md": 150,
    # Start
    "docs/guide.md": 1_800,
    "docs/choose.md": 600,
    "docs/not-included.md": 600,
    # Frameworks
    "docs/frameworks.md": 1_300,
    "docs/flask.md": 950,
    "docs/django.md": 1_300,
    "docs/pyramid.md": 750,
    # Your code
    "docs/guards.md": 1_200,
    "docs/users.md": 1_150,
    "docs/user-data.md": 1_610,
    "docs/events.md": 1_100,
    "docs/webhooks.md": 500,
    "docs/personal-data.md": 450,
    "docs/testing.md": 900,
    "docs/extend.md": 1_650,
    # Logins
    "docs/sessions.md": 1_000,
    "docs/passwordless.md": 750,
    "docs/two-factor.md": 1_200,
    "docs/passkeys.md": 650,
    "docs/providers.md": 1_800,
    "docs/provider-errors.md": 900,
    "docs/mail.md": 1_700,
    # People and pages
    "docs/staff.md": 1_200,
    "docs/templates.md": 1_400,
    "docs/languages.md": 600,
    # Programs
    "docs/apps.md": 1_800,
    "docs/api-keys.md": 600,
    "docs/services.md": 1_500,
    "docs/forward-auth.md": 1_400,
    "docs/subdomains.md": 700,
    "docs/log-in-with-this-site.md": 2_200,
    "docs/write-an-app.md": 1_400,
    "docs/mcp.md": 800,
    "docs/endpoints.md": 6_150,
    # Operate
    "docs/deployment.md": 2_750,
    "docs/settings.md": 3_000,
    "docs/command-line.md": 1_450,
    "docs/clusters.md": 1_200,
    "docs/capacity.md": 1_050,
    "docs/migration.md": 2_600,
    "docs/versions.md": 740,
    # Trust
    "docs/security.md": 1_960,
    "docs/promises.md": 4_300,
    "docs/asvs.md": 1_500,
    "docs/architecture.md": 1_530,
    "docs/concurrency.md": 600,
}
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in LIMITS} | PAGES


def count(name):
    """Return the number of words of a page."""
    return len(TEXTS[name].split())


@pytest.mark.parametrize("name", LIMITS)
def test_a_page_is_within_its_limit(name):
    assert count(name) <= LIMITS[name]


def test_the_examples_are_within_their_limit():
    assert sum(map(count, TEXTS.keys() - LIMITS.keys())) <= EXAMPLES


def test_all_pages_together_are_within_their_limit():
    assert sum(map(count, TEXTS)) <= TOTAL


def test_an_old_address_leads_to_a_section_of_today():
    headings = {
        page.removesuffix(".md"): {slug(each) for each in re.findall("^#+ (.*)", text, re.M)}
        for page, text in PAGES.items()
    }
    for line in (ROOT / "docs/moved.txt").read_text("utf-8").splitlines():
        old, new = line.split()
        (old_page, _, old_anchor), (page, _, anchor) = old.partition("#"), new.partition("#")
        assert page in headings, line
        assert not anchor or anchor in headings[page], line
        assert old_anchor not in headings.get(old_page, ()), line
