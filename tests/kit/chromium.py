# SPDX-License-Identifier: MIT
"""A headless Chromium that is told what to do through pipes, by its DevTools protocol.

    with Browser(program, profile_dir) as b:
        b.open("file:///...", width=400, dark=True)
        b.run("document.title")
        b.complaints        # of the console, and exceptions, of the page that is open
        b.screenshot("page.png")
"""
import base64
import json
import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")


def find():
    """The program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program, profile):
        self.next, self.complaints, self.seen = 0, [], []
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()

        def pipes():  # the protocol is on descriptors 3 and 4
            a, b = os.dup(to_read), os.dup(back_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--force-device-scale-factor=1", "--hide-scrollbars", "--user-data-dir=" + profile, "--remote-debugging-pipe"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=pipes)
        os.close(to_read)
        os.close(back_write)
        self.rest, self.session = b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.back)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def message(self):
        while b"\0" not in self.rest:
            got = os.read(self.back, 1 << 16)
            if not got:
                raise RuntimeError("the browser is gone")
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def note(self, m):
        """What happens in the page."""
        p = m.get("params", {})
        self.seen.append(m.get("method"))
        if m.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(p["exceptionDetails"].get("text", "exception"))
        elif m.get("method") == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif m.get("method") == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append("%s %s" % (p["entry"]["text"], p["entry"].get("url", "")))

    def call(self, method, **params):
        self.next += 1
        m = {"id": self.next, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.to, json.dumps(m).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") != self.next:
                self.note(got)
            elif "error" in got:
                raise RuntimeError("%s: %s" % (method, got["error"]["message"]))
            else:
                return got["result"]

    def open(self, url, width, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.complaints, self.seen = [], []
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.seen:
            self.note(self.message())

    def run(self, script):
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"]["text"] + " " + got["exceptionDetails"].get("exception", {}).get("description", ""))
        return got["result"].get("value")

    def screenshot(self, path, top=0, height=None):
        """The whole page, or `height` pixels of it from `top` on."""
        width, whole = self.run("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": top, "width": width, "height": min(height or whole, whole - top), "scale": 1})
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))
