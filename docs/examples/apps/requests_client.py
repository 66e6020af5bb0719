import threading

import requests
from requests.adapters import HTTPAdapter


class Login(HTTPAdapter):
    """Sends the access token, and renews it after a 401."""

    def __init__(self, site, username, password):
        super().__init__()
        self.site = site
        self.lock = threading.Lock()
        account = {"username": username, "password": password, "refresh": True}
        self.tokens = self.post("/auth/login", account)

    def send(self, request, **options):
        token = self.tokens["access_token"]
        request.headers["Authorization"] = f"Bearer {token}"
        response = super().send(request, **options)
        if response.status_code != 401:
            return response
        response.close()
        request.headers["Authorization"] = f"Bearer {self.renewed(token)}"
        return super().send(request, **options)

    def renewed(self, token):
        with self.lock:
            if token == self.tokens["access_token"]:  # otherwise, another thread has renewed it
                body = {"refresh_token": self.tokens["refresh_token"]}
                self.tokens = self.post("/auth/refresh", body)
            return self.tokens["access_token"]

    def post(self, path, document):
        answer = requests.post(self.site + path, json=document, timeout=30)
        answer.raise_for_status()
        return answer.json()


def connect(login):
    session = requests.Session()
    session.mount(f"{login.site}/", login)
    return session
