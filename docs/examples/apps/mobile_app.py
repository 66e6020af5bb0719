import threading

import httpx


class LoginNeededError(Exception):
    """The app shows its login screen."""


class Account:
    def __init__(self, site, keystore):
        self.http = httpx.Client(base_url=site, timeout=30)
        self.keystore = keystore
        self.access_token = None  # in memory only
        self.lock = threading.Lock()

    def register(self, username, email, password):
        """Return what is wrong, by field."""
        fields = {"username": username, "email": email, "password": password}
        answer = self.http.post("/auth/register", json=fields)
        if answer.status_code in (409, 422):
            return answer.json()["errors"]
        answer.raise_for_status()
        return {}

    def log_in(self, username, password, code=""):
        fields = {"username": username, "password": password, "code": code}
        answer = self.http.post("/auth/login", json={**fields, "refresh": True, "remember": True})
        if answer.status_code == 401:
            raise LoginNeededError(answer.json()["code"])  # such as second_factor_required
        self.keep(answer)

    def request(self, method, path, **options):
        token = self.access_token or self.renewed(None)
        answer = self.send(token, method, path, **options)
        if answer.status_code == 401:
            answer = self.send(self.renewed(token), method, path, **options)
        return answer.raise_for_status()

    def log_out(self):
        try:  # with a token that has not expired
            self.send(self.renewed(self.access_token), "POST", "/auth/logout")
        except LoginNeededError:
            pass  # the session has ended already
        finally:
            self.forget()

    def send(self, token, method, path, **options):
        headers = {"Authorization": f"Bearer {token}"}
        return self.http.request(method, path, headers=headers, **options)

    def renewed(self, token):
        with self.lock:
            if token != self.access_token:  # another thread has renewed it
                return self.access_token
            if "refresh_token" not in self.keystore:
                raise LoginNeededError("unauthenticated")
            body = {"refresh_token": self.keystore["refresh_token"]}
            answer = self.http.post("/auth/refresh", json=body)
            if answer.status_code == 401:
                self.forget()
                raise LoginNeededError(answer.json()["code"])
            self.keep(answer)
            return self.access_token

    def keep(self, answer):
        tokens = answer.raise_for_status().json()
        self.keystore["refresh_token"] = tokens["refresh_token"]  # before it is needed again
        self.access_token = tokens["access_token"]

    def forget(self):
        self.keystore.pop("refresh_token", None)
        self.access_token = None
