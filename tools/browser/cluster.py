"""The cluster that `cluster/up` has started: its addresses, its keys, its server API."""

import base64
import hashlib
import hmac
import json
import os
import time
import urllib.request


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Cluster:
    """What `cluster.json` says of a running cluster."""

    def __init__(self, directory=None):
        directory = directory or os.environ.get("CLUSTER_RUN_DIR", ".run")
        with open(os.path.join(directory, "cluster.json"), encoding="utf-8") as file:
            self.file = json.load(file)
        self.nodes = self.file["nodes"]

    def token(self, user, seconds=3600, **claims):
        """A token of the user, signed with the client key."""
        key = self.file["tokenKey"]
        header = {"alg": "HS256", "typ": "JWT", "kid": key["kid"]}
        claims = {"sub": user, "exp": int(time.time()) + seconds, **claims}
        signed = ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))
        return f"{signed}.{_base64(hmac.new(key['secret'].encode(), signed.encode(), hashlib.sha256).digest())}"

    def ask(self, method, path, body=None, node=0):
        """A call of the server API."""
        request = urllib.request.Request(
            f"http://{self.nodes[node]['api']}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.file['adminKey']}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"{}")
