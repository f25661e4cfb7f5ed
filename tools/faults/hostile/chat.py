"""The least of a client: tokens, WebSocket, JSON frames. Standard library only, blocking, this machine only."""

import base64
import hashlib
import hmac
import json
import os
import socket
import struct
import time


def cluster(path):
    """What cluster/up says of the cluster."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def address(text):
    """HOST:PORT as a pair. Nothing here goes to another machine."""
    host, port = text.rsplit(":", 1)
    if host not in ("127.0.0.1", "localhost"):
        raise SystemExit(f"{text} is not on this machine.")
    return "127.0.0.1", int(port)


def node(file, name, field):
    return next(address(one[field]) for one in file["nodes"] if one["id"] == name)


def token(file, user, seconds=3600):
    """A token of the cluster's own key (PROTOCOL.md, "Tokens")."""

    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    key = file["tokenKey"]
    head = encoded(json.dumps({"alg": "HS256", "typ": "JWT", "kid": key["kid"]}).encode())
    body = encoded(json.dumps({"sub": user, "exp": int(time.time()) + seconds, "iat": int(time.time())}).encode())
    code = hmac.new(key["secret"].encode(), head + b"." + body, hashlib.sha256).digest()
    return (head + b"." + body + b"." + encoded(code)).decode()


def connected(place, timeout=10):
    sock = socket.create_connection(place, timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def frame(payload, opcode=1):
    """A whole frame of a client. The mask is zero, which is allowed and costs nothing."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + b"\0\0\0\0" + payload


class Client:
    """One connection to a gateway, without a login until `login`."""

    def __init__(self, place, protocol="json", timeout=10):
        self.sock = connected(place, timeout)
        self.buffer = b""
        self.requests = 0
        key = base64.b64encode(os.urandom(16)).decode()
        self.sock.sendall(
            f"GET /v1/ws HTTP/1.1\r\nHost: {place[0]}:{place[1]}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: chatroom.v1.{protocol}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(head.split(b"\r\n", 1)[0].decode())

    def more(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise ConnectionError("closed")
        return data

    def send(self, *requests):
        """Requests of one frame; each is (operation, fields). Returns the ID of the last one."""
        lines = []
        for operation, fields in requests:
            self.requests += 1
            lines.append(json.dumps({"id": self.requests, operation: fields}, ensure_ascii=False))
        self.sock.sendall(frame("\n".join(lines).encode()))
        return self.requests

    def items(self):
        """The items of the next frame. Answers pings on the way."""
        while True:
            while len(self.buffer) < 2:
                self.buffer += self.more()
            opcode, size, start = self.buffer[0] & 15, self.buffer[1] & 127, 2
            if size >= 126:
                start = 4 if size == 126 else 10
                while len(self.buffer) < start:
                    self.buffer += self.more()
                size = int.from_bytes(self.buffer[2:start], "big")
            while len(self.buffer) < start + size:
                self.buffer += self.more()
            payload, self.buffer = self.buffer[start : start + size], self.buffer[start + size :]
            if opcode == 9:
                self.sock.sendall(frame(payload, 10))
            elif opcode == 8:
                raise ConnectionError(f"closed with {int.from_bytes(payload[:2], 'big')} {payload[2:].decode()}")
            elif opcode == 1:
                return [json.loads(line) for line in payload.decode().split("\n") if line.strip()]

    def ask(self, operation, fields):
        """The answer to one request; pushes are dropped."""
        return self.answer(self.send((operation, fields)))

    def answer(self, number):
        """The answer to a request that has been sent; all else that comes before it is dropped."""
        while True:
            for item in self.items():
                if item.get("id") == number:
                    return item

    def login(self, file, user):
        answer = self.ask("connect", {"token": token(file, user)})
        if "error" in answer:
            raise ConnectionError(str(answer))
        return self

    def close(self):
        self.sock.close()
