"""The configuration of a JupyterHub whose users log in with an OpenID provider, for tests."""

import os

from jupyterhub.proxy import Proxy
from oauthenticator.generic import GenericOAuthenticator

ISSUER, ADDRESS = os.environ["ISSUER"], os.environ["ADDRESS"]


class NoProxy(Proxy):
    """The browser opens the hub itself, because no user starts a server."""

    should_start = False

    async def get_all_routes(self):
        """Return the only route."""
        return {"/": {"routespec": "/", "target": ADDRESS, "data": {}}}

    async def add_route(self, routespec, target, data):
        """Do nothing."""

    async def delete_route(self, routespec):
        """Do nothing."""


c = get_config()  # noqa: F821 - of traitlets
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_bind_url = ADDRESS
c.JupyterHub.bind_url = ADDRESS
c.JupyterHub.db_url = "sqlite:///hub.db"
c.JupyterHub.redirect_to_server = False
c.JupyterHub.authenticator_class = GenericOAuthenticator
c.GenericOAuthenticator.client_id = os.environ["CLIENT_ID"]
c.GenericOAuthenticator.client_secret = os.environ["CLIENT_SECRET"]
c.GenericOAuthenticator.oauth_callback_url = f"{ADDRESS}/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = f"{ISSUER}/auth/authorize"
c.GenericOAuthenticator.token_url = f"{ISSUER}/auth/oauth/token"
c.GenericOAuthenticator.userdata_url = f"{ISSUER}/auth/userinfo"
c.GenericOAuthenticator.scope = ["openid", "profile", "groups"]
c.GenericOAuthenticator.username_claim = "sub"
c.GenericOAuthenticator.admin_users = {os.environ["ADMIN"]}
c.GenericOAuthenticator.manage_groups = True
c.GenericOAuthenticator.auth_state_groups_key = "oauth_user.groups"
c.GenericOAuthenticator.allowed_groups = {"notebooks"}
c.GenericOAuthenticator.enable_auth_state = True
c.GenericOAuthenticator.auth_refresh_age = -1  # asks the provider again for each page
c.CryptKeeper.keys = [b"a key of a test, of 32 bytes ..."]
