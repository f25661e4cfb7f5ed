#!/usr/bin/env python3
"""Sessions of one node whose clients go on with them at the others, while that node is dead, stands still or is cut off.

    sessions.py CLUSTER-FILE NODE EACH [--comes-back]

Opens EACH sessions of each kind at NODE: in a room that another node leads, in a room that NODE itself leads, in no room,
and anonymous ones. Then it says `ready` and waits for a line, before which the caller breaks NODE. Every client connects
with its session elsewhere, and enters again. Each must be the same session, with its seat, and nobody may see it leave or
come, for longer than the grace. With --comes-back NODE goes on then, after a second line: it has to end its copies with
4410. Exit code 1 otherwise.
"""

import concurrent.futures
import json
import os
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile"))
import chat  # noqa: E402

GRACE_SECONDS = 10


class Swarm:
    def __init__(self, path, node):
        self.file, self.node = chat.cluster(path), node
        self.others = [one["id"] for one in self.file["nodes"] if one["id"] != node]
        self.findings = []

    def place(self, node, field="client"):
        host, port = next(one[field] for one in self.file["nodes"] if one["id"] == node).rsplit(":", 1)
        return host, int(port)

    def call(self, method, path, body=None):
        host, port = self.place(self.others[0], "api")
        request = urllib.request.Request(
            f"http://{host}:{port}{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.file['adminKey']}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def room(self, led_here):
        """A room that this node leads, or another one."""
        for number in range(1_000):
            room = f"sessions-{os.getpid()}-{'own' if led_here else 'other'}-{number}"
            self.call("POST", "/v1/rooms", {"id": room, "creator": "host"})
            leader = self.call("GET", f"/v1/rooms/{room}").get("leader")
            if leader and (leader == self.node) == led_here:
                return room
        raise SystemExit("failed: no room has such a leader")


class Member:
    """One session, its first connection and its second one."""

    def __init__(self, swarm, kind, number, room):
        self.swarm, self.room, self.anonymous = swarm, room, kind == "anonymous"
        self.name, self.entered = f"{kind}-{number}", None
        self.first = chat.Client(swarm.place(swarm.node))
        answer = self.connect(self.first, None)
        self.session, self.user = answer["session"], answer["user"]
        if room:
            self.entered = self.enter(self.first, {})
            if not self.anonymous:
                self.first.ask("queueSet", {"room": room, "key": self.name, "value": "x", "transient": True})

    def connect(self, client, session):
        fields = {"anonymous": True} if self.anonymous else {"token": chat.token(self.swarm.file, self.name)}
        if session:
            fields["session"] = session
        answer = client.ask("connect", fields)
        if "error" in answer:
            raise ConnectionError(str(answer["error"]))
        return answer["connect"]

    def enter(self, client, fields):
        deadline = time.monotonic() + GRACE_SECONDS
        while True:
            answer = client.ask("enter", {"room": self.room, "nick": self.name, "avatar": "a", **fields})
            if "enter" in answer:
                return answer["enter"]
            if answer["error"]["code"] not in (503, 416) or time.monotonic() > deadline:
                raise ConnectionError(str(answer["error"]))
            time.sleep(answer["error"].get("retryAfterMs", 200) / 1_000)

    def come_back(self, number):
        """Returns what is wrong, or None, and how long it took."""
        began = time.monotonic()
        try:
            self.second = chat.Client(self.swarm.place(self.swarm.others[number % len(self.swarm.others)]))
            answer = self.connect(self.second, self.session)
            if not answer.get("resumed") or answer["session"] != self.session or answer["user"] != self.user:
                return f"{self.name}: another session", 0
            if self.room:
                seen = {"since": self.entered["seq"], "epoch": self.entered["epoch"]}
                if not self.enter(self.second, seen).get("recovered"):
                    return f"{self.name}: not recovered", 0
        except (OSError, ConnectionError) as error:
            return f"{self.name}: {error}", 0
        return None, time.monotonic() - began

    def ended(self):
        """What is wrong with the end of the first connection, or None."""
        try:
            while True:
                self.first.items()
        except OSError as error:
            return None if "4410" in str(error) else f"{self.name}: its copy has not ended with 4410, but: {error}"


class Watcher(threading.Thread):
    """Notes every 301, 302 and 313 of a room."""

    def __init__(self, swarm, room):
        super().__init__(daemon=True)
        self.comings, self.isJudging = [], False
        self.client = chat.Client(swarm.place(swarm.others[0]), timeout=None)
        self.client.login(swarm.file, "watcher")
        self.client.ask("enter", {"room": room})
        self.start()

    def run(self):
        while True:
            for item in self.client.items():
                event = item.get("message", {}).get("event")
                if self.isJudging and event in (301, 302, 313, 350):
                    self.comings.append((event, [one["user"] for one in item["message"].get("targets", [])]))


def main():
    each, comes_back = int(sys.argv[3]), "--comes-back" in sys.argv
    swarm = Swarm(sys.argv[1], sys.argv[2])
    other, own = swarm.room(False), swarm.room(True)
    watchers = [Watcher(swarm, other), Watcher(swarm, own)]
    kinds = {"gateway": other, "both": own, "nowhere": None, "anonymous": other}
    members = [Member(swarm, kind, number, room) for kind, room in kinds.items() for number in range(each)]
    time.sleep(1)
    for watcher in watchers:
        watcher.isJudging = True
    print("ready", flush=True)
    sys.stdin.readline()
    with concurrent.futures.ThreadPoolExecutor(len(members)) as pool:
        results = list(pool.map(lambda pair: pair[1].come_back(pair[0]), enumerate(members)))
    findings = [finding for finding, _ in results if finding]
    if comes_back:
        print("back", flush=True)
        sys.stdin.readline()
        with concurrent.futures.ThreadPoolExecutor(len(members)) as pool:
            findings += [finding for finding in pool.map(Member.ended, members) if finding]
    time.sleep(GRACE_SECONDS + 3)
    for watcher in watchers:
        findings += [f"others saw {event} of {users}" for event, users in watcher.comings]
    for room, kind in ((other, "gateway"), (own, "both")):
        queue = {element["key"]: element for element in swarm.call("GET", f"/v1/rooms/{room}/queue")["elements"]}
        for number in range(each):
            element = queue.get(f"{kind}-{number}")
            if element is None or element.get("held"):
                findings.append(f"the seat of {kind}-{number} is {'held' if element else 'gone'}")
    slowest = max((seconds for finding, seconds in results if not finding), default=0)
    print(f"{sum(not finding for finding, _ in results)} of {len(members)} sessions went on, the slowest after {slowest:.2f} s")
    for finding in findings[:20]:
        print(finding)
    sys.exit(1 if findings else 0)


main()
