"""A journey in browsers of other engines than Chromium's."""
