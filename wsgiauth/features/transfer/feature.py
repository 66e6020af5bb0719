"""What the feature `transfer` declares: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature

FEATURE = Feature(name="transfer")
