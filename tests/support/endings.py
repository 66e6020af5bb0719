"""What ends sessions, or what apps got in them: functions of a browser, its user, and settings."""

from tests.support.sites import PASSWORD, SAME_ORIGIN
from wsgiauth import change_password
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features.oauth_server import clients, grants
from wsgiauth.features.oauth_server.tables import Client

NEW_PASSWORD = "four other unrelated words"


def log_out(browser, ada, settings):
    browser.post("/auth/logout", headers=SAME_ORIGIN)


def log_out_everywhere(browser, ada, settings):
    sessions.revoke_all(ada)


def expire(browser, ada, settings):
    Session.update(expires_at=1).execute()


def copy_a_token_of_the_session(browser, ada, settings):
    sessions.end_copied(Session.get().id, ada.id)


def choose_a_password(browser, ada, settings):
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    browser.post("/auth/password", fields, headers=SAME_ORIGIN)


def get_a_password_by_an_operator(browser, ada, settings):
    change_password(ada, NEW_PASSWORD, settings=settings)


def deactivate(browser, ada, settings):
    ada.is_active = False
    ada.save()


def deactivate_and_activate(browser, ada, settings):
    deactivate(browser, ada, settings)
    ada.is_active = True
    ada.save()


def delete(browser, ada, settings):
    ada.delete_instance()


def revoke_the_app(browser, ada, settings):
    grants.revoke(ada, Client.get().id, 1)


def revoke_the_app_and_allow_it_again(browser, ada, settings):
    client = Client.get()
    grants.revoke(ada, client.id, 1)
    grants.allow(client, ada, ["openid", "offline_access"], 1)


def remove_the_client(browser, ada, settings):
    clients.remove(Client.get())


def leave_the_group(browser, ada, settings):
    ada.leave("Editors")


def delete_the_group(browser, ada, settings):
    ada.groups[0].delete_instance()


OF_SESSIONS = [log_out, log_out_everywhere, expire, copy_a_token_of_the_session]
ENDINGS = [
    choose_a_password,
    get_a_password_by_an_operator,
    deactivate,
    deactivate_and_activate,
    delete,
    revoke_the_app,
    revoke_the_app_and_allow_it_again,
    remove_the_client,
    leave_the_group,
    delete_the_group,
]
