"""The declaration of the feature `transfer`: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature

FEATURE = Feature(name="transfer")
