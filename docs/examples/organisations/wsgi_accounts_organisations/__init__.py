"""Organisations of users, a feature for wsgiauth: FEATURES=wsgi_accounts_organisations:FEATURE."""

from .feature import FEATURE
from .guard import organisation_required
from .memberships import Membership

__all__ = ["FEATURE", "Membership", "organisation_required"]
