#!/usr/bin/env python3
"""One call of the server API, from an address of this machine's own choice.

    ask.py CLUSTER-FILE NODE PATH SOURCE

SOURCE is an address of 127.0.0.0/8, all of which a Linux machine has. Prints the status, 000 for none, and how long the
answer took in ms.
"""

import http.client
import sys
import time

import chat


def main():
    file, name, path, source = chat.cluster(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    host, port = chat.node(file, name, "api")
    began, status = time.monotonic(), 0
    try:
        connection = http.client.HTTPConnection(host, port, timeout=10, source_address=(source, 0))
        connection.request("GET", path, headers={"Authorization": f"Bearer {file['adminKey']}"})
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except (OSError, http.client.HTTPException):
        pass
    print(f"{status:03} {int((time.monotonic() - began) * 1000)}")


main()
