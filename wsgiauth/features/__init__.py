"""The features: a folder for each, and `registry`, which lists them."""
