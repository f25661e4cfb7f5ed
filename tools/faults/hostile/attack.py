#!/usr/bin/env python3
"""What strangers and members can do to a node on purpose, one thing at a time, against a cluster on this machine.

    attack.py CLUSTER-FILE NODE ATTACK SECONDS [ROOM]

Each attack is bounded in time (SECONDS, at most 120) and in what it sends, and goes to 127.0.0.1 only. Prints what it
has sent and how it was answered. Being refused is success for the node, so nothing of that is an error here.
"""

import collections
import json
import resource
import select
import sys
import time

import chat


class Attack:
    def __init__(self, path, node, seconds, room):
        self.file, self.name, self.room = chat.cluster(path), node, room
        self.until = time.monotonic() + min(seconds, 120)
        self.counts = collections.Counter()
        self.failed = ""

    def goes_on(self):
        return time.monotonic() < self.until

    def place(self, field="client"):
        return chat.node(self.file, self.name, field)

    def wait(self, seconds):
        time.sleep(max(0, min(seconds, self.until - time.monotonic())))

    def member(self, user, timeout=10):
        client = chat.Client(self.place(), timeout=timeout).login(self.file, user)
        answer = client.ask("enter", {"room": self.room})
        if "error" in answer:
            raise ConnectionError(str(answer))
        return client

    # 1. Four requests a second whose header value is one long run of regional indicators.
    def headers(self):
        for size in (31_000, 15_500):
            value = "\U0001F1E9" * (size // 4)
            request = f"GET /v1/ws HTTP/1.1\r\nHost: a\r\nX-Flag: {value}\r\n\r\n".encode()
            until = time.monotonic() + (self.until - time.monotonic()) / (2 if size > 20_000 else 1)
            while time.monotonic() < until:
                self.one(request)
                self.wait(0.25)

    def one(self, request):
        try:
            with chat.connected(self.place(), 5) as sock:
                sock.sendall(request)
                self.counts[sock.recv(64).split(b"\r\n")[0].decode("ascii", "replace")] += 1
        except OSError as error:
            self.counts[type(error).__name__] += 1

    # 2. Frames with very many barrage items of nothing but combining marks.
    def barrage(self):
        for size in (2_000, 250):
            marks = ["".join(chr(0x300 + (k * 7 + j) % 0x6F) for j in range(100)) for k in range(size)]
            payload = "\n".join(
                json.dumps({"barrage": {"room": self.room, "text": "a" + text}}, ensure_ascii=False) for text in marks
            ).encode()
            for _ in range(6):
                if not self.goes_on():
                    return
                try:
                    client = self.member("hostile-barrage")
                    client.sock.sendall(chat.frame(payload))
                    self.counts[f"frames of {len(payload) >> 10} KB"] += 1
                    client.ask("ping", {})
                    client.close()
                except (OSError, ConnectionError) as error:
                    self.counts[str(error)[:40]] += 1
                self.wait(1)

    # 3. Before connect: frames of 350,000 malformed requests with an ID each; nothing is read.
    def requests(self):
        payload = b"\x02\x08\x01" * 349_000
        clients = []
        for _ in range(20):
            try:
                client = chat.Client(self.place(), "protobuf")
                client.sock.setblocking(False)
                clients.append([client.sock, chat.frame(payload, 2)])
            except (OSError, ConnectionError) as error:
                self.counts[str(error)[:40]] += 1
        self.pour(clients)
        # The requests that the bound on bytes lets through: as many as have room in 15 KB, again and again.
        small = chat.frame(b"\x02\x08\x01" * 5_000, 2)
        while self.goes_on():
            clients = []
            for _ in range(20):
                try:
                    client = chat.Client(self.place(), "protobuf")
                    client.sock.setblocking(False)
                    clients.append([client.sock, small])
                except (OSError, ConnectionError) as error:
                    self.counts[str(error)[:40]] += 1
            self.pour(clients)
            for sock, _ in clients:
                sock.close()
            # So that what it sends does not drown what it causes to be read.
            self.wait(0.02)

    def pour(self, pairs):
        """Gives each socket its bytes as it takes them; closed ones are counted and left."""
        open_pairs = {sock: memoryview(data) for sock, data in pairs}
        while open_pairs and self.goes_on():
            poller = select.poll()
            numbers = {}
            for sock in open_pairs:
                poller.register(sock, select.POLLOUT)
                numbers[sock.fileno()] = sock
            for number, _ in poller.poll(500):
                sock = numbers[number]
                try:
                    sent = sock.send(open_pairs[sock][: 1 << 16])
                    self.counts["bytes"] += sent
                    open_pairs[sock] = open_pairs[sock][sent:]
                except BlockingIOError:
                    continue
                except OSError:
                    self.counts["closed"] += 1
                    open_pairs.pop(sock)
                    continue
                if not open_pairs[sock]:
                    self.counts["whole"] += 1
                    open_pairs.pop(sock)

    # 4. A room full of COMBINEs, and members who ask for its history and go away without reading.
    def history(self):
        author = self.member("hostile-author")
        messages = []
        for number in range(12):
            if "send" in (answer := self.said(author, {"type": "TEXT", "text": "x" * 32_000}, number)):
                messages.append(answer["send"]["messageId"])
        for number in range(40):
            answer = self.said(
                author, {"type": "COMBINE", "title": "t", "summary": "s", "messageIds": messages[: 7 + number % 2]}, number)
            self.counts["combines" if "send" in answer else f"refused {answer['error']['code']}"] += 1
        author.close()
        while self.goes_on():
            readers = []
            for number in range(10):
                try:
                    reader = self.member(f"hostile-reader-{number}")
                    reader.send(*[("history", {"room": self.room, "limit": 100}) for _ in range(15)])
                    readers.append(reader)
                    self.counts["history"] += 15
                except (OSError, ConnectionError) as error:
                    self.counts[str(error)[:40]] += 1
            self.wait(1)
            for reader in readers:
                reader.close()

    def said(self, client, body, number):
        """Sends as fast as it is allowed to."""
        while True:
            answer = client.ask("send", {"room": self.room, "clientId": f"{number}-{time.time_ns()}", **body})
            error = answer.get("error")
            if error is None or error["code"] != 416 or not self.goes_on():
                return answer
            self.wait(min(1, error.get("retryAfterMs", 200) / 1000))

    # 5. COMBINEs of as many bytes as may be, ten a second, from one guest.
    def copies(self):
        client = self.member("hostile-copier")
        messages = []
        for number in range(24):
            if "send" in (answer := self.said(client, {"type": "TEXT", "text": "y" * 32_000}, number)):
                messages.append(answer["send"]["messageId"])
        number = 0
        while self.goes_on():
            number += 1
            size = (24, 7)[number % 2]
            body = {"type": "COMBINE", "title": "t", "summary": "s", "messageIds": messages[:size]}
            answer = client.ask("send", {"room": self.room, "clientId": f"{number}-{time.time_ns()}", **body})
            self.counts["combines" if "send" in answer else f"refused {answer['error']['code']}"] += 1

    # 6. Thousands of connections, each with the greatest part of a frame that never ends: strangers with what they may
    # send before connect, members with more.
    def buffers(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(20_000, hard), hard))
        count = min(3_000, min(20_000, hard) - 200)
        stranger, member = chat.frame(bytes(64_000), 2)[:60_000], chat.frame(bytes(1 << 20), 1)[:250_000]
        pairs = []
        # Members first: strangers have ten seconds for their connect.
        for number in range(count):
            if not self.goes_on():
                break
            try:
                if number < count // 3:
                    client = chat.Client(self.place(), timeout=5).login(self.file, f"hostile-holder-{number}")
                else:
                    client = chat.Client(self.place(), "protobuf", timeout=5)
                client.sock.setblocking(False)
                pairs.append((client.sock, member if number < count // 3 else stranger))
                self.counts["connections"] += 1
            except (OSError, ConnectionError) as error:
                self.counts[str(error)[:40]] += 1
        self.pour(pairs)
        self.counts["MB offered"] = sum(len(begun) for _, begun in pairs) >> 20
        self.wait(120)

    # 7. Sixty users who set an element with a long value and take it out, as often as they may: nothing of it has to be
    # remembered.
    def changes(self):
        self.take_turns(lambda number: {})

    # 7. The same, but each has to be remembered, with the value that the queue has no more.
    def results(self):
        self.take_turns(lambda number: {"clientId": f"{number}-{time.time_ns()}"})

    def take_turns(self, identity):
        users = []
        for number in range(60):
            try:
                users.append(self.member(f"hostile-owner-{number}"))
            except (OSError, ConnectionError) as error:
                self.counts[str(error)[:40]] += 1
        number = remembered = 0
        while self.goes_on():
            number += 1
            began = time.monotonic()
            for operation in ("queueSet", "queueTake"):
                asked = []
                for owner, client in enumerate(users):
                    fields = {"room": self.room, "key": f"k{owner}", "notify": False, **identity(number)}
                    if operation == "queueSet":
                        fields["value"] = f"{number:08}" + "v" * 4000
                    asked.append((client, client.send((operation, fields))))
                for client, request in asked:
                    answer = client.answer(request)
                    if "error" in answer:
                        self.counts[f"refused {answer['error']['code']}"] += 1
                        continue
                    self.counts["changes"] += 1
                    if identity(number):
                        # As the node counts it, without names.
                        remembered += 392 + (4008 if operation == "queueTake" else 0)
            self.wait(max(0, 0.2 - (time.monotonic() - began)))
        if remembered:
            self.counts["MB to remember"] = remembered >> 20

    # 8. One user whose newer connections take the older ones over, each with as much as one may send at once.
    def takeover(self):
        began, taken, session, number = time.monotonic(), 0, None, 0
        while self.goes_on():
            try:
                client = chat.Client(self.place(), timeout=10)
                answer = client.ask("connect", {"token": chat.token(self.file, "hostile-mover"), **({"session": session} if session else {})})
                session = answer["connect"]["session"]
                client.ask("enter", {"room": self.room})
                for _ in range(25):
                    number += 1
                    body = {"room": self.room, "clientId": f"m{number}-{time.time_ns()}", "type": "TEXT", "text": "t"}
                    if "send" in client.ask("send", body):
                        taken += 1
            except (OSError, ConnectionError, KeyError) as error:
                self.counts[type(error).__name__] += 1
                self.wait(0.2)
        seconds = time.monotonic() - began
        self.counts["messages"] = taken
        # Twenty at once and ten a second, whatever connection they come on (PROTOCOL.md, "Rates").
        if taken > 21 + 10 * seconds:
            self.failed = f"{taken} messages of one session were taken in {seconds:.0f} s"

    # 9. Requests at the server API whose head never ends.
    def api(self):
        self.hold("api", 1_050, b"GET /v1/stats HTTP/1.1\r\nHost: a\r\nX: ")

    # 10. Connections to the link that say nothing.
    def link(self):
        # Where one ends, the next is there before a node can be: a call is tried again after 50 ms at the earliest.
        self.hold("link", 140, b"", pause=0.005)

    def hold(self, field, count, begun, pause=0.05):
        """Keeps so many connections open: looks for those that were closed all the time, and opens others for them."""
        sockets = {}
        while self.goes_on():
            opened = 0
            while len(sockets) < count and opened < count and self.goes_on():
                opened += 1
                try:
                    sock = chat.connected(self.place(field), 2)
                    sock.sendall(begun)
                    sock.setblocking(False)
                    sockets[sock.fileno()] = sock
                    self.counts["opened"] += 1
                except OSError as error:
                    self.counts[type(error).__name__] += 1
                    break
            poller = select.poll()
            for number in sockets:
                poller.register(number, select.POLLIN)
            self.wait(pause)
            for number, _ in poller.poll(0):
                try:
                    if sockets[number].recv(4096):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                self.counts["closed"] += 1
                sockets.pop(number).close()


ATTACKS = ("headers", "barrage", "requests", "history", "copies", "buffers", "changes", "results", "takeover",
           "api", "link")


def main():
    if len(sys.argv) < 5 or sys.argv[3] not in ATTACKS:
        raise SystemExit(__doc__ + f"\nAttacks: {' '.join(ATTACKS)}")
    attack = Attack(sys.argv[1], sys.argv[2], float(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else "")
    try:
        getattr(attack, sys.argv[3])()
    except (OSError, ConnectionError) as error:
        attack.counts[f"ended by {error}"[:60]] += 1
    print(", ".join(f"{what}: {count}" for what, count in sorted(attack.counts.items())) or "nothing")
    if attack.failed:
        raise SystemExit(attack.failed)


main()
