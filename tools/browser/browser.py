"""Headless Chromium, driven over the pipe of its debugging protocol with nothing but Python's library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class BrowserError(Exception):
    """What the browser refused, or did not do in time."""


class Browser:
    """One Chromium with a profile of its own, which goes with it."""

    def __init__(self, seconds=30):
        program = shutil.which("chromium")
        if not program:
            raise BrowserError("there is no chromium: apt-get install chromium")
        self.seconds = seconds
        self.profile = tempfile.mkdtemp(prefix="browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # The program reads from descriptor 3 and writes to descriptor 4.
        script = f"exec \"$0\" \"$@\" 3<&{to_browser} 4>&{from_browser}"
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={self.profile}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.pending = b""
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self, deadline):
        while b"\0" not in self.pending:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError("the browser did not answer in time")
            piece = os.read(self.input, 1 << 16)
            if not piece:
                raise BrowserError("the browser has ended")
            self.pending += piece
        line, self.pending = self.pending.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, session=None, **parameters):
        """Calls a method of the protocol and returns its result."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + self.seconds
        while True:
            answer = self._read(deadline)
            if answer.get("id") != self.number:
                if "method" in answer:
                    self.events = (self.events + [answer])[-10_000:]
                continue
            if "error" in answer:
                raise BrowserError(f"{method}: {answer['error'].get('message')}")
            return answer["result"]

    def open(self, url, width=1280, height=800):
        """A new tab at the address."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log"):
            tab.call(f"{domain}.enable")
        tab.size(width, height)
        tab.call("Page.navigate", url=url)
        tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'", "the page")
        return tab


class Tab:
    """One page."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def run(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression, what, seconds=None):
        """Waits until the expression is true, and returns its value."""
        deadline = time.monotonic() + (seconds or self.browser.seconds)
        while True:
            value = self.run(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise BrowserError(f"waited in vain for {what}; the page says: {self.run('document.body.innerText')[-500:]}"
                                   f" {self.complaints()[-5:]}")
            time.sleep(0.05)

    def type(self, selector, text):
        """Puts text into a field as a person does: with the focus on it."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Presses the mouse on the middle of an element."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def picture(self, path):
        """Writes a screenshot."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the page wrote to the console as errors, and what it threw."""
        said = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                said.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                said.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}".strip())
        return said
