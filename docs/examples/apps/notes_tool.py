"""Usage: notes_tool.py login USERNAME | list | add TEXT | logout"""

import fcntl
import json
import os
import sys
from contextlib import contextmanager
from getpass import getpass
from pathlib import Path

import httpx

SITE = "http://127.0.0.1:8080"
FOLDER = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "notes"
TOKENS = FOLDER / "tokens.json"


@contextmanager
def locked():
    """Let one process at a time replace the tokens."""
    FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed, also by the end of the process
        yield


def read():
    try:
        return json.loads(TOKENS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.exit("You are not logged in. Run: notes_tool.py login USERNAME")


def save(answer):
    tokens = answer.raise_for_status().json()
    new = TOKENS.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(tokens, file)
    new.replace(TOKENS)  # so that other processes never read half of it
    return tokens


def post(path, document):
    return httpx.post(SITE + path, json=document, timeout=30)


def log_in(username):
    password = getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    fields = {"username": username, "password": password, "refresh": True, "remember": True}
    answer = post("/auth/login", fields)
    if answer.json().get("code") == "second_factor_required":
        code = input("Code: ")
        answer = post("/auth/login", {**fields, "code": code})
    if answer.status_code == 401:
        sys.exit(answer.json()["detail"])
    with locked():
        save(answer)


def renewed(used):
    with locked():
        tokens = read()
        if tokens["access_token"] != used:  # another process has renewed them
            return tokens["access_token"]
        answer = post("/auth/refresh", {"refresh_token": tokens["refresh_token"]})
        if answer.status_code == 401:
            TOKENS.unlink()
            sys.exit("Your session has ended. Run: notes_tool.py login USERNAME")
        return save(answer)["access_token"]


def send(method, path, **options):
    key = os.environ.get("NOTES_KEY")
    token = key or read()["access_token"]
    answer = request(token, method, path, **options)
    if answer.status_code == 401 and not key:
        answer = request(renewed(token), method, path, **options)
    if answer.status_code == 401:
        sys.exit("The API key is not valid.")
    return answer.raise_for_status().json()


def request(token, method, path, **options):
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.request(method, SITE + path, headers=headers, timeout=30, **options)


match sys.argv[1:]:
    case ["login", username]:
        log_in(username)
    case ["list"]:
        print(*send("GET", "/notes"), sep="\n")
    case ["add", text]:
        send("POST", "/notes", json={"text": text})
    case ["logout"]:
        request(renewed(read()["access_token"]), "POST", "/auth/logout")
        TOKENS.unlink()
    case _:
        sys.exit(__doc__)
