"""Selenium's commands over Marionette, the protocol that Firefox itself speaks.

Debian has no geckodriver, which would translate between the two. The packages of npm download it,
and PyPI has it of 2023, built by a third party. The protocol is described at
https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

import json
import socket

PATIENCE = 120  # seconds for an answer, as Selenium has for those of drivers
NAMES = {  # of the commands that tests use; without "WebDriver:"
    "actions": "PerformActions",
    "clearElement": "ElementClear",
    "clickElement": "ElementClick",
    "deleteAllCookies": "DeleteAllCookies",
    "findElement": "FindElement",
    "findElements": "FindElements",
    "get": "Navigate",
    "getCurrentUrl": "GetCurrentURL",
    "getElementTagName": "GetElementTagName",
    "getElementValueOfCssProperty": "GetElementCSSValue",
    "getElementText": "GetElementText",
    "goBack": "Back",
    "isElementEnabled": "IsElementEnabled",
    "newSession": "NewSession",
    "quit": "DeleteSession",
    "refresh": "Refresh",
    "sendKeysToElement": "ElementSendKeys",
    "w3cExecuteScript": "ExecuteScript",
    "w3cGetActiveElement": "GetActiveElement",
}


class Marionette:
    """Sends the commands of a Selenium driver to a Firefox that listens on a port."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._answers = self._socket.makefile("rb")
        self._read()  # who is there
        self._sent = 0

    def execute(self, command, parameters):
        """Send a command, and return the answer as Selenium expects it."""
        if command == "newSession":
            parameters = parameters["capabilities"]["alwaysMatch"]
        self._sent += 1
        message = json.dumps([0, self._sent, f"WebDriver:{NAMES[command]}", parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            return {"status": error["error"], "value": error}
        is_wrapped = isinstance(result, dict) and result.keys() == {"value"}
        return {"value": result["value"] if is_wrapped else result}

    def close(self):
        self._answers.close()
        self._socket.close()

    def _read(self):
        length = bytearray()
        while (byte := self._answers.read(1)) != b":":
            if not byte:
                raise ConnectionError("Firefox has closed the connection")
            length += byte
        return json.loads(self._answers.read(int(length)))
