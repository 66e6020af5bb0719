"""An app with a user model of its own."""
