"""Terms of use: each user accepts the version that the site has now."""
