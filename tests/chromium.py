"""Drives a headless Chromium through its debugging pipe: what a page shows, keys, and its errors.

Protocol: https://chromedevtools.github.io/devtools-protocol/, over descriptors 3 and 4, each
message ended by a zero byte.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, " ": 32}
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"),
    *("--remote-debugging-pipe", "--hide-scrollbars", "--disable-dev-shm-usage"),
    # A sandboxed iframe in a process of its own would be a target of its own here.
    "--disable-features=IsolateSandboxedIframes,Translate",
)


def found():
    """The browser's path, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One page. `errors` are what its console says, and what no script caught."""

    def __init__(self, send):
        self._send = send
        self.errors = []
        self.contexts = []

    def hear(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(given["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.errors.append(given["args"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(given["entry"])
        elif method == "Runtime.executionContextCreated":
            self.contexts.append(given["context"]["id"])

    def value(self, expression, context=None):
        """What an expression gives in the page, as JSON."""
        where = {} if context is None else {"contextId": context}
        answer = self._send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            **where,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self._send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=KEYS[key],
            )  # fmt: skip

    def click(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self, path):
        import base64

        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def opened(url, folder, size=(1366, 768)):
    """The page at a URL, loaded, with nothing that a browser keeps outside `folder`."""
    theirs, ours = os.pipe()
    mine, out = os.pipe()

    def wire():
        # To high numbers first: either may be 3 or 4 itself.
        high = os.dup2(theirs, 90), os.dup2(out, 91)
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    command = [
        found(),
        *SWITCHES,
        f"--user-data-dir={folder}",
        f"--window-size={size[0]},{size[1]}",
    ]
    process = subprocess.Popen(
        [*command, "about:blank"], preexec_fn=wire,  # noqa: PLW1509 - it only moves descriptors
        close_fds=False, pass_fds=(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    os.close(theirs)
    os.close(out)
    numbers, buffer = itertools.count(1), b""
    page = None

    def read():
        nonlocal buffer
        while b"\0" not in buffer:
            data = os.read(mine, 1 << 20)
            if not data:
                raise ConnectionError("the browser has gone")
            buffer += data
        line, _, buffer = buffer.partition(b"\0")
        return json.loads(line)

    def send(method, session=None, until=None, **given):
        number = next(numbers)
        asked = {"id": number, "method": method, "params": given}
        if session:
            asked["sessionId"] = session
        os.write(ours, json.dumps(asked).encode() + b"\0")
        answer = None
        while answer is None or until is not None:
            message = read()
            if message.get("id") == number:
                assert "error" not in message, message
                answer = message["result"]
            elif message.get("method") == until:
                until = None
            if page is not None:
                page.hear(message)
        return answer

    try:
        targets = send("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        session = send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

        def in_page(method, **given):
            return send(method, session=session, **given)

        page = Page(in_page)
        for domain in ("Page", "Runtime", "Log"):
            in_page(f"{domain}.enable")
        page.contexts.clear()
        in_page("Page.navigate", url=url, until="Page.loadEventFired")
        yield page
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours)
        os.close(mine)
