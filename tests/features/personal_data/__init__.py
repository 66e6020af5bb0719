"""Tests of the feature `personal_data`."""
