"""A server of S3 that we did not write (moto), and a proxy before it that fails."""

import contextlib
import hashlib
import http.client
import json
import os
import random
import socket
import subprocess
import threading
import time
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import ROOT

PYTHON = Path(os.environ.get("URDF_USD_OBJECTS_PYTHON") or ROOT / ".test-env" / "objects" / "bin" / "python")
BUCKET = "robots"
SECRET = "a-secret-of-these-tests"


class Proxy(BaseHTTPRequestHandler):
    """Passes requests on, and answers some of them with faults."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                self.send_header(name, value)
        length = dict((name.lower(), value) for name, value in headers).get("content-length") if self.command == "HEAD" else len(body)
        self.send_header("Content-Length", str(length or 0))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault(self)
        if fault == "slow":
            time.sleep(0.3)
        elif fault is not None and fault != "lost":
            status, code = fault
            self.answer(status, f"<Error><Code>{code}</Code><Message>by the proxy</Message></Error>".encode(), [("Content-Type", "application/xml")])
            return
        backend = http.client.HTTPConnection("127.0.0.1", self.server.backend, timeout=30)
        backend.request(self.command, self.path, body, dict(self.headers))
        response = backend.getresponse()
        content = response.read()
        backend.close()
        if fault == "lost":
            # The request had its effect, but its answer is lost.
            self.answer(500, b"<Error><Code>InternalError</Code></Error>")
        else:
            self.answer(response.status, content, response.getheaders())

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Programs that are killed close their connections."""

    def __init__(self, backend, fault):
        super().__init__(("127.0.0.1", 0), Proxy)
        self.backend, self.fault = backend, fault
        self.open, self.changed = 0, threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def count(self, difference):
        with self.changed:
            self.open += difference
            self.changed.notify_all()

    def process_request(self, *connection):
        self.count(1)
        super().process_request(*connection)

    def process_request_thread(self, *connection):
        try:
            super().process_request_thread(*connection)
        finally:
            self.count(-1)

    def wait_until_idle(self):
        """Waits until no connection is open: all requests of programs that ended had their effect."""
        for _ in range(2):
            # A connection may not have been accepted yet.
            time.sleep(0.1)
            with self.changed:
                assert self.changed.wait_for(lambda: self.open == 0, 60), "a connection stays open"


def at_random(seed):
    chance, lock = random.Random(seed), threading.Lock()

    def fault(_):
        with lock:
            return chance.choices([None, (500, "InternalError"), (503, "SlowDown"), "slow", "lost"], [70, 8, 8, 6, 8])[0]

    return fault


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A server of S3 with a bucket; its port."""
    with server(tmp_path_factory.mktemp("s3") / "log") as port:
        yield port


@contextlib.contextmanager
def server(path):
    """Runs a server of S3 with a bucket, and returns its port. `path` is for its log."""
    # Another program may take a port between its choice and the start of the server.
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with path.open("a") as log:
            process = subprocess.Popen([PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
        try:
            if has_started(process, port):
                yield port
                return
        finally:
            process.kill()
            process.wait()
    raise AssertionError(f"the server of S3 has not started:\n{path.read_text()}")


def has_started(process, port):
    """Waits until the server has a bucket; returns whether it is ours and answers within 30 s."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            if request(port, "PUT", f"/{BUCKET}")[0] == 200:
                # The program that has the port may be another server, and ours about to end.
                time.sleep(0.2)
                return process.poll() is None
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)
    return False


def request(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    # The server looks for a signature, and does not check it.
    signature = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    connection.request(method, path, body, {"Authorization": signature})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def get(port, name):
    status, content = request(port, "GET", f"/{BUCKET}/{name}")
    assert status == 200, (name, status)
    return content


def names(port, prefix):
    found, after = [], ""
    while True:
        status, content = request(port, "GET", f"/{BUCKET}?list-type=2&prefix={prefix}/&start-after={after}")
        assert status == 200
        page = [key.text for key in ET.fromstring(content).iter("{http://s3.amazonaws.com/doc/2006-03-01/}Key")]
        if not page:
            return found
        found += page
        after = page[-1]


def pointers(port, prefix):
    """Returns all pointers by key, having read each asset whole."""
    found = {}
    for name in names(port, f"{prefix}/robots"):
        pointer = json.loads(get(port, name))
        for file in (pointer["asset"] or {"files": []})["files"]:
            content = get(port, f"{prefix}/{pointer['asset']['folder']}/{file['path']}")
            assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"]), (name, file["path"])
        found[name.removeprefix(f"{prefix}/robots/").removesuffix(".json")] = pointer
    return found


def variables(port, cache):
    """Returns the variables for a program that uses the server at this port."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "XDG_CACHE_HOME": str(cache),
    }


def environment(port, cache, **more):
    """Returns the environment for a program that uses the server at this port; variables that are None are absent."""
    here = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    given = here | variables(port, cache) | more
    return {k: v for k, v in given.items() if v is not None}
