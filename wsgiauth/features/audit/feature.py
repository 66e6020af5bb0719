"""What the feature `audit` declares: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.audit.questions import QUESTIONS

FEATURE = Feature(name="audit", questions=QUESTIONS)
