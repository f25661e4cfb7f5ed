#!/usr/bin/env python3
"""An example receiver of webhook batches: checks the signature, ignores repeats, prints what happened.

usage: CHATROOM_WEBHOOK_SECRET=... receiver.py PORT
"""
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

SECRET = os.environ["CHATROOM_WEBHOOK_SECRET"].encode()
OLDEST_SECONDS = 300
BODY_BYTES_MAX = 16 << 20
seen = set()  # A real receiver keeps the IDs, or the last seq of each room, in its database.


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(length)
        sent = self.headers.get("X-Chatroom-Time", "")
        expected = "sha256=" + hmac.new(SECRET, sent.encode() + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, self.headers.get("X-Chatroom-Signature", "")):
            return self.answer(401)
        if abs(time.time() * 1000 - int(sent)) > OLDEST_SECONDS * 1000:
            return self.answer(401)
        batch = json.loads(body)
        if batch.get("dropped"):
            print(f"{batch['dropped']} items were left out", flush=True)
        for item in batch["items"]:
            if item["id"] in seen:
                continue
            text = item.get("message", {}).get("text", "")
            # A sanction is of no room, and an item of a user has no message.
            user = item.get("user", {}).get("user", "")
            print(item["event"], item.get("room", "-"), item.get("seq", "-"), text or user, flush=True)
            seen.add(item["id"])  # Behind the work: what fails is to come again.
        self.answer(204)  # Only after everything is stored: 2xx means that it will not be sent again.

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print("listening", server.server_address[1], flush=True)
    server.serve_forever()
