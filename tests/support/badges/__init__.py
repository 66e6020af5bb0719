"""A feature of others, which has one of everything that a feature keeps in its own folder."""
