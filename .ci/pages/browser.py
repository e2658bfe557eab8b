"""Chromium, over the WebDriver protocol."""

import base64
import http.client
import json
import pathlib
import re
import subprocess
import time


class Browser:
    def __init__(self, folder):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = None
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                port = int(found[1])
                break
        assert port, "chromedriver did not start"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
        ]
        options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        self.path = ""
        self.path = "/session/" + self.post("/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def send(self, method, path, body=None):
        self.connection.request(method, self.path + path, json.dumps(body) if body is not None else None)
        value = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{path}: {value['error']}: {value.get('message')}")
        return value

    def post(self, path, body):
        return self.send("POST", path, body)

    def open(self, file):
        self.post("/url", {"url": pathlib.Path(file).resolve().as_uri()})
        self.wait("document.documentElement.dataset.ready")

    def run(self, script):
        return self.post("/execute/sync", {"script": script, "args": []})

    def get(self, expression):
        return self.run(f"return {expression}")

    def wait(self, expression, seconds=30):
        """Waits until an expression is true, and returns its value."""
        ends = time.monotonic() + seconds
        while not (value := self.get(expression)):
            assert time.monotonic() < ends, f"never true: {expression}; console: {self.complaints()}; page:\n{self.text('body')[:2000]}"
            time.sleep(0.02)
        return value

    def element(self, selector):
        found = self.post("/element", {"using": "css selector", "value": selector})
        return "/element/" + next(iter(found.values()))

    def click(self, selector):
        self.post(self.element(selector) + "/click", {})

    def type(self, selector, text):
        self.post(self.element(selector) + "/value", {"text": text})

    def press(self, keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def drag(self, selector, from_x, to_x):
        at = {"element-6066-11e4-a52e-4f735466cecf": self.element(selector).split("/")[-1]}
        move = lambda x: {"type": "pointerMove", "origin": at, "x": x, "y": 0, "duration": 20}
        actions = [move(from_x), {"type": "pointerDown", "button": 0}, move(to_x), {"type": "pointerUp", "button": 0}]
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def text(self, selector):
        return self.get(f"document.querySelector({json.dumps(selector)}).innerText")

    def filter(self, text):
        """Types a filter, and waits until it has been applied."""
        self.run("document.getElementById('filter').value = ''; document.documentElement.dataset.searched = 'nothing yet'")
        if text:
            self.type("#filter", text)
        else:
            self.run("document.getElementById('filter').dispatchEvent(new Event('input'))")
        self.wait(f"document.documentElement.dataset.searched === {json.dumps(text)}")

    def resize(self, width, height):
        """Sets the size of the viewport, which may be smaller than a window can be."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.post("/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})

    def set_dark(self, is_dark):
        value = "dark" if is_dark else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def screenshot(self, file):
        pathlib.Path(file).write_bytes(base64.b64decode(self.send("GET", "/screenshot")))

    def complaints(self):
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"})]

    def close(self):
        try:
            self.send("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
