"""What tests of all features ask of the answers for a proxy."""


def settings(folder, provider):
    """Answer proxies."""
    return {"FORWARD_AUTH": "on"}
