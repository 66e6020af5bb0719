"""What applications can rely on, as lines to compare with a record: see docs/versions.md.

A line is a kind, a name and perhaps a part of it: `setting SESSION_HOURS: …`,
`path POST /auth/login`, `path POST /auth/login | request password`.
`python -m tests.public_surface` prints all of them, and `make surface` records them.
"""
