"""The first version of a feature of others: people have badges, which expire."""
