#!/usr/bin/env python3
"""A well-behaved member: sends a message some times a second through every node, and reads history once a second.

    witness.py CLUSTER-FILE ROOM RESULTS SECONDS

Appends a line for each answer to RESULTS: time in ms, node, `send` or `history`, how long it took in ms, and `ok` or what
went wrong. Ends after SECONDS, or when RESULTS.stop exists.
"""

import os
import sys
import threading
import time

import chat


def watch(file, name, room, results, until, lock):
    rate, timeout = 5, 10
    client = None
    number = 0

    def note(kind, began, outcome):
        took = (time.monotonic() - began) * 1000
        with lock:
            results.write(f"{int(time.time() * 1000)} {name} {kind} {took:.1f} {outcome}\n")
            results.flush()

    while time.monotonic() < until and not os.path.exists(results.name + ".stop"):
        began = time.monotonic()
        kind = "history" if number % rate == rate - 1 else "send"
        number += 1
        try:
            if client is None:
                client = chat.Client(chat.node(file, name, "client"), timeout=timeout)
                client.login(file, f"witness-{name}")
                answer = client.ask("enter", {"room": room})
                if "error" in answer:
                    raise ConnectionError(str(answer))
                began = time.monotonic()
            if kind == "send":
                answer = client.ask(
                    "send", {"room": room, "clientId": f"{name}-{number}-{time.time_ns()}", "type": "TEXT", "text": "well"})
            else:
                answer = client.ask("history", {"room": room, "limit": 20})
            error = answer.get("error")
            note(kind, began, "ok" if error is None else f"error-{error.get('code')}")
        except (OSError, ConnectionError) as error:
            note(kind, began, str(error).replace(" ", "-") or type(error).__name__)
            if client is not None:
                client.close()
            client = None
            time.sleep(0.5)
        time.sleep(max(0, 1 / rate - (time.monotonic() - began)))


def main():
    file, room, path, seconds = chat.cluster(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
    lock = threading.Lock()
    with open(path, "a", encoding="utf-8") as results:
        until = time.monotonic() + min(seconds, 3600)
        threads = [
            threading.Thread(target=watch, args=(file, one["id"], room, results, until, lock)) for one in file["nodes"]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
