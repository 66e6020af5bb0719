"""What wsgiauth's own features declare."""

from wsgiauth.feature import changes_of, composers_of, letter_samples_of, ways_in_of
from wsgiauth.features.registry import FEATURES

CHANGES = changes_of(FEATURES)
COMPOSERS = composers_of(FEATURES)
LETTER_SAMPLES = letter_samples_of(FEATURES)
WAYS_IN = ways_in_of(FEATURES)
