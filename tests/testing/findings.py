"""What `check_feature` says of a feature."""

from wsgiauth.testing import check_feature


def lines(feature, settings=None, **options):
    """Return the findings."""
    try:
        check_feature(feature, settings, **options)
    except AssertionError as error:
        return str(error).splitlines()
    return []
