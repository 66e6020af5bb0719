"""What browsers say of where a request comes from, by the Referrer-Policy of its page.

Browsers that send no Sec-Fetch-Site, such as Safari before 16.4, say it by Origin alone.
"""

from urllib.parse import urljoin, urlsplit

from tests.support.sites import BROWSER

DEFAULT = "strict-origin-when-cross-origin"  # of a page without a policy


def origin_of_form(policy, page, target):
    """Return the Origin of a form that is sent by POST from the URL `page` to the URL `target`.

    The Fetch standard, "append a request `Origin` header", for a navigation.
    """
    match policy:
        case "no-referrer":
            is_sent = False
        case "same-origin":
            is_sent = origin_of(page) == origin_of(target)
        case "no-referrer-when-downgrade" | "strict-origin" | "strict-origin-when-cross-origin":
            is_sent = not is_downgrade(page, target)
        case "origin" | "origin-when-cross-origin" | "unsafe-url":
            is_sent = True
    return origin_of(page) if is_sent else "null"


def referrer_of(policy, page, target):
    """Return the Referer of a request from the URL `page` to the URL `target`; or an empty string.

    Referrer Policy, section 8.3.
    """
    is_strict = policy.startswith("strict-") or policy == "no-referrer-when-downgrade"
    if is_strict and is_downgrade(page, target):
        return ""
    is_same = origin_of(page) == origin_of(target)
    match policy:
        case "no-referrer":
            return ""
        case "same-origin":
            return page if is_same else ""
        case "origin" | "strict-origin":
            return f"{origin_of(page)}/"
        case "origin-when-cross-origin" | "strict-origin-when-cross-origin":
            return page if is_same else f"{origin_of(page)}/"
        case "no-referrer-when-downgrade" | "unsafe-url":
            return page


def origin_of(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def is_downgrade(page, target):
    return urlsplit(page).scheme == "https" and urlsplit(target).scheme != "https"


def secrets_sent_from(answer, secret):
    """Return the addresses to which the page of an answer would send a secret in its own one."""
    page, policy = answer.request.url, policy_of(answer)
    assert secret in page
    targets = (urljoin(page, "/"), "https://images.example.com/", "http://images.example.com/")
    return [each for each in targets if secret in referrer_of(policy, page, each)]


def policy_of(answer):
    return answer.headers.get("Referrer-Policy", DEFAULT)


def headers_of_form(answer, action=""):
    """Return what a browser without Sec-Fetch-Site sends with a form of an answer's page."""
    page, policy = answer.request.url, policy_of(answer)
    target = urljoin(page, action)
    referrer = referrer_of(policy, page, target)
    host, origin = urlsplit(target).netloc, origin_of_form(policy, page, target)
    headers = {**BROWSER, "Host": host, "Origin": origin}
    return headers | ({"Referer": referrer} if referrer else {})
