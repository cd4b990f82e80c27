"""A real browser without a window, spoken to over a pipe in Chrome's DevTools protocol.

Any Chromium, Chrome or Edge will do, and nothing need be installed beside it.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_PATIENCE_S = 60.0


def find_browser() -> str | None:
    """The browser of LENET_BENCH_BROWSER, else the first that is installed."""
    return os.environ.get("LENET_BENCH_BROWSER") or next(
        filter(None, map(shutil.which, _NAMES)), None
    )


class Browser:
    """One page at a time."""

    def __init__(self, executable: str, home: Path) -> None:
        self._count = 0
        self._unread = b""
        self.complaints: list[str] = []  # what the console and the page's errors said
        self.requests: list[str] = []  # what the page asked for
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        command = [executable, "--headless", "--remote-debugging-pipe", f"--user-data-dir={home}"]
        command += ["--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "about:blank"]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # which Chromium asks of root

        def connect() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            command, pass_fds=(3, 4), preexec_fn=connect, stderr=subprocess.DEVNULL
        )
        for end in (theirs_in, theirs_out, *theirs):
            os.close(end)
        target = self._call("Target.createTarget", url="about:blank", session="")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True, session="")
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        scheme: str = "light",
        medium: str = "",
        scripts: bool = True,
    ) -> None:
        """Open a file as a screen of that width, or paper, shows it."""
        self.complaints.clear()
        self.requests.clear()
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=medium, features=features)
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self._call("Page.navigate", url=path.resolve().as_uri())
        self._wait_for(lambda message: message.get("method") == "Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39}
        typed = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=codes[key],
                **(typed if kind == "keyDown" else {}),
            )

    def _call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session != "":
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._wait_for(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]  # type: ignore[no-any-return]

    def _wait_for(self, wanted: Any) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            message = self._read(deadline)
            self._note(message)
            if wanted(message):
                return message

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], deadline - time.monotonic())
            piece = os.read(self._from, 1 << 16) if ready else b""
            assert piece, "the browser does not answer"
            self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)  # type: ignore[no-any-return]

    def _note(self, message: dict[str, Any]) -> None:
        """Keep what a page should not do: complain, fail, fetch."""
        told = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(told["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
