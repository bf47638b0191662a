"""Control Firefox with Selenium through Marionette, the protocol that Firefox itself speaks.

Selenium controls Firefox through the program geckodriver, which Debian does not package. It only
translates each command of WebDriver into one of Marionette.
"""

import json
import shutil
import socket
import subprocess
from pathlib import Path

from selenium.webdriver import FirefoxOptions, Remote
from selenium.webdriver.remote.command import Command

from tests.conftest import until

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")

COMMANDS = {
    Command.NEW_SESSION: "NewSession",
    Command.GET: "Navigate",
    Command.GO_BACK: "Back",
    Command.REFRESH: "Refresh",
    Command.GET_CURRENT_URL: "GetCurrentURL",
    Command.W3C_EXECUTE_SCRIPT: "ExecuteScript",
    Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript",
    Command.FIND_ELEMENT: "FindElement",
    Command.FIND_ELEMENTS: "FindElements",
    Command.W3C_GET_ACTIVE_ELEMENT: "GetActiveElement",
    Command.CLICK_ELEMENT: "ElementClick",
    Command.SEND_KEYS_TO_ELEMENT: "ElementSendKeys",
    Command.GET_ELEMENT_TEXT: "GetElementText",
    Command.GET_ELEMENT_TAG_NAME: "GetElementTagName",
    Command.GET_ELEMENT_PROPERTY: "GetElementProperty",
    Command.GET_ELEMENT_RECT: "GetElementRect",
    Command.GET_ELEMENT_VALUE_OF_CSS_PROPERTY: "GetElementCSSValue",
    Command.W3C_ACTIONS: "PerformActions",
    Command.W3C_GET_WINDOW_HANDLES: "GetWindowHandles",
    Command.SWITCH_TO_WINDOW: "SwitchToWindow",
    Command.CLOSE: "CloseWindow",
    Command.SCREENSHOT: "TakeScreenshot",
}


class Marionette:
    """Execute the commands of a Selenium driver in one Firefox."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._read()  # The greeting.

    def execute(self, command: str, params: dict[str, object]) -> dict[str, object]:
        """Send one command; return its result or error as geckodriver would."""
        error, result = self._send(f"WebDriver:{COMMANDS[command]}", params)
        if error:
            return {"status": 500, "value": json.dumps({"value": error})}
        if isinstance(result, dict) and result.keys() == {"value"}:
            return dict(result)
        return {"value": result}

    def _send(self, name: str, params: dict[str, object]) -> list[object]:
        self._number += 1
        message = json.dumps([0, self._number, name, params]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        return self._read()[2:]

    def _read(self) -> list[object]:
        """Return the next message: a decimal length, a colon and JSON of that length."""
        length = b""
        while (character := self._file.read(1)) != b":":
            length += character
        return json.loads(self._file.read(int(length)))

    def quit(self) -> None:
        self._send("Marionette:Quit", {"flags": ["eAttemptQuit"]})
        self._file.close()
        self._socket.close()


class Firefox:
    """A headless Firefox with the profile in `folder`, and the Selenium `driver` of it."""

    def __init__(self, folder: Path) -> None:
        # A mouse, which can hover: a headless Firefox may have no pointer.
        (folder / "user.js").write_text(
            'user_pref("marionette.port", 0);\n'
            'user_pref("ui.primaryPointerCapabilities", 6);\n'
            'user_pref("ui.allPointerCapabilities", 6);\n'
        )
        port = folder / "MarionetteActivePort"
        port.unlink(missing_ok=True)  # An earlier process with this profile has written it.
        self._log = (folder / "log").open("wb")
        command = [str(FIREFOX), "--headless", "--no-remote", "--marionette"]
        self._process = subprocess.Popen(
            [*command, "--profile", str(folder)], stdout=self._log, stderr=self._log
        )
        until(lambda: port.exists() and bool(port.read_text()))
        self._connection = Marionette(int(port.read_text()))
        self.driver = Remote(self._connection, options=FirefoxOptions())  # type: ignore[arg-type]

    def stop(self) -> None:
        self._connection.quit()
        self._process.wait(timeout=30)
        self._log.close()
