"""A client of the relay in plain Python: lines over TCP, Unix sockets and TLS."""

import json
import os
import socket
import ssl
import urllib.parse

ROOT = "ahp-root://"
SERVICES = "ahp-client-services://"
PATIENCE = 20  # seconds for what must come


def check(ok, what):
    if not ok:
        raise AssertionError(what)


class Peer:
    """One connection: it sends lines and receives lines."""

    def __init__(self, url):
        u = urllib.parse.urlsplit(url)
        if u.scheme == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(u.path)
        else:
            self.socket = socket.create_connection((u.hostname, u.port))
        if u.scheme == "tls":
            context = ssl.create_default_context(cafile=os.environ["INTEROP_CA"])
            self.socket = context.wrap_socket(self.socket, server_hostname=u.hostname)
        self.socket.settimeout(PATIENCE)
        self.rest = b""

    def send(self, *lines):
        self.socket.sendall("".join(line + "\n" for line in lines).encode())

    def line(self):
        """The next line, None at the end of the connection."""
        while b"\n" not in self.rest:
            data = self.socket.recv(1 << 16)
            if not data:
                check(self.rest == b"", f"half a line at the end: {self.rest!r}")
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def expect(self, want):
        got = self.line()
        check(got == want, f"got  {got}\nwant {want}")

    def message(self):
        return json.loads(self.line())

    def request(self, id, method, params):
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        answer = self.message()
        check(answer["jsonrpc"] == "2.0" and answer["id"] == id, answer)
        return answer

    def result(self, id, method, params):
        answer = self.request(id, method, params)
        check("result" in answer, answer)
        return answer["result"]

    def quiet(self):
        """Nothing waits: the next line is the answer to a ping sent now."""
        check(self.result("quiet", "ping", {"channel": ROOT}) is None, "ping")

    def close(self):
        self.socket.close()


def hello(url, client_id):
    peer = Peer(url)
    result = peer.result(0, "initialize", {"channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": client_id})
    check(result["clientServices"]["channel"] == SERVICES, result)
    return peer


def notify(service, method, params):
    return f'{{"jsonrpc":"2.0","method":"clientService/notify","params":{{"channel":"{SERVICES}","serviceId":"{service}","method":"{method}","params":{params}}}}}'


def request(id, service, method, params):
    return f'{{"jsonrpc":"2.0","id":{id},"method":"clientService/request","params":{{"channel":"{SERVICES}","serviceId":"{service}","method":"{method}","params":{params}}}}}'


def answer(id, result):
    return f'{{"jsonrpc":"2.0","id":{id},"result":{result}}}'
