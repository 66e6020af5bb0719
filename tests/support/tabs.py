"""The cookies of a browser of which it has one for each tab that logs in."""

SECOND, OIDC, PROVIDER = (f"wsgiauth-{kind}-" for kind in ("second", "oidc", "provider"))


def tab_cookies(client, start):
    """Return the cookies of one kind that a client has, by their names, the oldest first."""
    return {name: client.cookies[name] for name in sorted(client.cookies) if name.startswith(start)}


def give_cookies(client, cookies):
    """Give a client these cookies."""
    for name, value in cookies.items():
        client.set_cookie(name, value)


def named(start, cookie):
    """Return one of several cookies by its name, for `give_cookies` and for a request."""
    return {start + cookie.tag: cookie.value}


def forget_session(client):
    """Delete the cookie of the session from a client."""
    for each in [each for each in client.cookiejar if each.name == "wsgiauth"]:
        client.cookiejar.clear(each.domain, each.path, each.name)
