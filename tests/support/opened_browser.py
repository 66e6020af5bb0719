"""The browser that programs on the computer of a person open, as BROWSER names it."""

import os
import threading
from contextlib import contextmanager

_SCRIPT = """#!/bin/sh
printf '%s\\n' "$1" > '{pipe}'
"""


@contextmanager
def opened_browser(person, folder):
    """Yield the environment of programs that open URLs in the browser of a person.

    The person logs in at each URL, allows the app, and is sent back to the program.
    """
    pipe, script, failures = folder / "urls", folder / "browser", []
    os.mkfifo(pipe)
    script.write_text(_SCRIPT.format(pipe=pipe), encoding="utf-8")
    script.chmod(0o755)

    def visit():
        # Opened for writing, too, so that it does not end with the first program that wrote.
        with pipe.open("r+b", buffering=0) as urls:
            while url := urls.readline().decode().strip():
                try:
                    assert person.visit(url).status_code == 200
                except Exception as error:
                    failures.append(error)

    thread = threading.Thread(target=visit)
    thread.start()
    try:
        yield {"PATH": os.environ["PATH"], "BROWSER": str(script), "HOME": str(folder)}
    finally:
        pipe.write_text("\n")
        thread.join()
    assert failures == []
