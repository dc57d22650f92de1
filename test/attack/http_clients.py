"""Attacks a web server of this program with clients that are slow in various ways, and measures how long an honest request takes.

    python test/attack/http_clients.py http://127.0.0.1:8642/ [--kind slow-body] [--connections 400] [--seconds 3]

Each kind holds its connections open, and opens a new one wherever the server ends one. The worst time of an honest request is printed for each
kind; the exit code is 1 if one takes longer than --limit seconds or gets no answer. Only Python's own library is used.
"""

import argparse
import json
import multiprocessing
import socket
import sys
import time
import urllib.parse

HOST = "Host: localhost\r\n"
WEBSOCKET = f"{HOST}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

#: The first bytes of each kind, and those that it repeats.
KINDS = {
    "idle": ("", ""),
    "slow-headers": (f"GET / HTTP/1.1\r\n{HOST}X-A: ", "a"),
    "slow-body": (f"POST /api/poses/x HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n", " "),
    "endless-body": (f"POST /api/poses/x HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
    "huge-body": (f"POST /api/poses/x HTTP/1.1\r\n{HOST}Content-Length: 99999999999\r\n\r\n", " " * 4096),
    "idle-keep-alive": (f"GET /api/robots HTTP/1.1\r\n{HOST}\r\n", ""),
    "slow-reading": (f"GET {{large}} HTTP/1.1\r\n{HOST}\r\n", ""),
    "unread-events": (f"GET /events HTTP/1.1\r\n{HOST}\r\n", ""),
    "unread-joints": (f"GET /joints HTTP/1.1\r\n{WEBSOCKET}", ""),
    "flood": ("", ""),
}


class Attack(multiprocessing.Process):
    """Holds connections of one kind open, in a separate process, so that it does not slow down honest requests."""

    def __init__(self, address, kind, connections, large):
        super().__init__(daemon=True)
        begin, self.more = KINDS[kind]
        self.address, self.kind, self.most = address, kind, connections
        self.begin = begin.replace("{large}", large).encode()
        self.open, self.opened, self.is_ended = set(), multiprocessing.Value("l", 0), multiprocessing.Event()

    def connect(self):
        client = socket.socket(socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET)
        # A small receive buffer, so that unread answers block the server.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(2)
        try:
            client.connect(self.address)
            client.sendall(self.begin)
        except OSError:
            client.close()
            return
        client.setblocking(False)
        self.open.add(client)
        self.opened.value += 1

    def has_ended(self, client):
        """Returns whether the server closed a connection. Does not read if not reading is the attack."""
        try:
            if self.more:
                client.send(self.more.encode())
            return client.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def run(self):
        while not self.is_ended.is_set():
            if self.kind == "flood":
                for client in list(self.open)[: self.most // 2]:
                    client.close()
                    self.open.discard(client)
            for client in [client for client in self.open if self.has_ended(client)]:
                client.close()
                self.open.discard(client)
            while len(self.open) < self.most and not self.is_ended.is_set():
                before = len(self.open)
                self.connect()
                if len(self.open) == before:
                    break
            time.sleep(0.02)
        for client in self.open:
            client.close()


def ask(address, path, patience):
    """Returns the seconds until an honest request is answered completely; `None` without an answer."""
    begin = time.monotonic()
    try:
        with socket.create_connection(address, timeout=patience) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n".encode())
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
                client.settimeout(max(0.01, patience - (time.monotonic() - begin)))
    except OSError:
        return None
    return time.monotonic() - begin if answer.startswith(b"HTTP/1.1 200 ") else None


def largest(address, patience):
    """Returns the path of the largest file of the server."""
    with socket.create_connection(address, timeout=patience) as client:
        client.sendall(f"GET /api/robots HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    files = []
    for robot in json.loads(answer.partition(b"\r\n\r\n")[2]):
        files += [(file["bytes"], f"/assets/{urllib.parse.quote(robot['key'])}/{urllib.parse.quote(file['path'])}") for file in robot["files"]]
    return max(files, default=(0, "/"))[1]


def attack(address, kind, *, connections=400, seconds=3.0, patience=5.0, path="/api/robots"):
    """Attacks in one way. Returns the durations of honest requests in seconds (`None` without an answer) and the number of connections."""
    attacker = Attack(address, kind, connections, largest(address, patience))
    attacker.start()
    # Wait until all connection slots are taken before the first honest request.
    end = time.monotonic() + 5
    while attacker.opened.value < connections and time.monotonic() < end:
        time.sleep(0.01)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 5:
        times.append(ask(address, path, patience))
        time.sleep(0.05)
    attacker.is_ended.set()
    attacker.join()
    return times, attacker.opened.value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the server's URL")
    parser.add_argument("--kind", choices=KINDS, action="append", help="a kind of attack; all by default")
    parser.add_argument("--connections", type=int, default=400, help="how many are held open (default: 400)")
    parser.add_argument("--seconds", type=float, default=3, help="how long each kind lasts (default: 3)")
    parser.add_argument("--limit", type=float, default=1, help="how many seconds an honest request may take (default: 1)")
    arguments = parser.parse_args()
    url = urllib.parse.urlsplit(arguments.url)
    address = (url.hostname, url.port or 80)
    is_well = True
    for kind in arguments.kind or KINDS:
        times, opened = attack(address, kind, connections=arguments.connections, seconds=arguments.seconds)
        answered = [taken for taken in times if taken is not None]
        worst = f"{max(answered) * 1000:7.1f} ms at worst" if answered else "no answer"
        print(f"{kind:16} {len(answered)} of {len(times)} honest requests answered, {worst}; {opened} connections", flush=True)
        is_well &= len(answered) == len(times) and max(answered) <= arguments.limit
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
