"""Log in by a code in an email."""
