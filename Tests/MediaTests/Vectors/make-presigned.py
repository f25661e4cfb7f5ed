#!/usr/bin/env python3
"""Makes presigned.json: URLs of Signature Version 4 as botocore signs them. Needs PyPI's `botocore`.

Run once and committed. Usage: make-presigned.py > presigned.json
"""
import datetime
import json
import random
import urllib.parse

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

random.seed(21)
KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def signed(method, authority, key, query, headers, time, seconds, region):
    botocore.auth.get_current_datetime = lambda *_, **__: time
    path = "/" + urllib.parse.quote(key, safe="/~")
    url = f"https://{authority}{path}"
    if query:
        url += "?" + "&".join(f"{urllib.parse.quote(n, safe='~')}={urllib.parse.quote(v, safe='~')}" for n, v in query)
    request = AWSRequest(method=method, url=url)
    for name, value in headers:
        request.headers[name] = value
    request.headers["Host"] = authority
    botocore.auth.S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", region, expires=seconds).add_auth(request)
    query_of = urllib.parse.parse_qs(urllib.parse.urlsplit(request.url).query)
    return {
        "method": method, "authority": authority, "path": path, "query": [list(pair) for pair in query],
        "headers": [list(pair) for pair in headers], "milliseconds": int(time.timestamp() * 1000), "seconds": seconds,
        "region": region, "signedHeaders": query_of["X-Amz-SignedHeaders"][0],
        "signature": query_of["X-Amz-Signature"][0],
    }


def text(alphabet, most):
    return "".join(random.choice(alphabet) for _ in range(random.randint(1, most)))


def times():
    yield datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
    yield datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=datetime.timezone.utc)
    yield datetime.datetime(2000, 3, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    while True:
        yield datetime.datetime.fromtimestamp(random.randint(0, 4_000_000_000), datetime.timezone.utc)


def main():
    when = times()
    vectors = [
        signed("GET", "media.s3.eu-central-1.amazonaws.com", "content/ab/6c697665/9f-00",
               [("response-content-type", "image/png"),
                ("response-content-disposition", "inline; filename*=UTF-8''%22%C3%A4.png")],
               [], next(when), 60, "eu-central-1"),
        signed("PUT", "127.0.0.1:9000", "media/incoming/ab/6c697665/9f",
               [], [("content-length", "48213"), ("content-type", "image/png;  a=b"),
                    ("x-amz-checksum-sha256", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")],
               next(when), 3600, "us-east-1"),
    ]
    odd = "abcXYZ019-_.~ !\"#$%&'()*+,/:;=?@[]äß€😀"
    while len(vectors) < 60:
        vectors.append(signed(
            random.choice(["GET", "HEAD", "PUT", "DELETE"]),
            random.choice(["s3.example.org", "bucket.s3.example.org:8443", "[::1]:9000"]),
            text(odd.replace("?", "").replace("#", ""), 40).lstrip("/") or "k",
            [(name, text(odd, 30)) for name in random.sample(["list-type", "prefix", "Marker", "a", "response-content-type"],
                                                            random.randint(0, 4))],
            [(name, text("abc 123 /;=\"+", 20).strip() or "v") for name in random.sample(
                ["content-type", "x-amz-copy-source", "x-amz-meta-A", "Range"], random.randint(0, 3))],
            next(when), random.randint(1, 604_800), random.choice(["us-east-1", "eu-central-1", "garage"])))
    print(json.dumps(vectors, indent=1, ensure_ascii=True))


main()
