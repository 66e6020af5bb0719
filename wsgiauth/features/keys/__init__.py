"""API keys, also as the passwords of Basic authentication."""
