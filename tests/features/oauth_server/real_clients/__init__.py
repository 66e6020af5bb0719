"""Tests of logins of other apps with the site: it is an OpenID provider."""
