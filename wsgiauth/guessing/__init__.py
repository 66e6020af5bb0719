"""Detect passwords that are easy to guess: patterns, and lists of known passwords."""
