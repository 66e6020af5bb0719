"""The users of a site with Django who have an email address and no username."""
