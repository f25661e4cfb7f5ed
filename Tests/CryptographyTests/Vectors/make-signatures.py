#!/usr/bin/env python3
"""Makes signatures.json: tokens and keys to be accepted and refused. Needs PyPI's `cryptography`.

Run once and committed; each run makes other keys. Usage: make-signatures.py > signatures.json
"""
import base64
import hashlib
import hmac
import json
import warnings

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa, utils, x25519

warnings.simplefilter("ignore")


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, length=None):
    return encode(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


def pem(key):
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, kind).decode()


def private_pem(key):
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def signed_part(header, payload=b'{"sub":"ann"}'):
    head = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return encode(head) + "." + encode(payload)


def raw(signature):
    r, s = utils.decode_dss_signature(signature)
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


p256 = ec.generate_private_key(ec.SECP256R1())
p384 = ec.generate_private_key(ec.SECP384R1())
k256 = ec.generate_private_key(ec.SECP256K1())
rsa2048 = rsa.generate_private_key(65537, 2048)
rsa3072 = rsa.generate_private_key(65537, 3072)
rsa_e3 = rsa.generate_private_key(3, 2048)
rsa1024 = rsa.generate_private_key(65537, 1024)
rsa2047 = rsa.generate_private_key(65537, 2047)
ed = ed25519.Ed25519PrivateKey.generate()
ed_other = ed25519.Ed25519PrivateKey.generate()
secret = b"a secret of these test vectors, of 42 bytes"

point = p256.public_key().public_numbers()
modulus = rsa2048.public_key().public_numbers()
ed_raw = ed.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
ed_private = ed.private_bytes(
    serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())

ec_jwk = {"kty": "EC", "crv": "P-256", "x": number(point.x, 32), "y": number(point.y, 32), "kid": "ec"}
rsa_jwk = {"kty": "RSA", "n": number(modulus.n), "e": number(modulus.e), "kid": "rsa"}
ed_jwk = {"kty": "OKP", "crv": "Ed25519", "x": encode(ed_raw), "kid": "ed"}

keys = {
    "hs": {"algorithm": "HS256", "secret": secret.decode()},
    "ec": {"algorithm": "ES256", "pem": pem(p256.public_key()), "jwk": ec_jwk},
    "rsa": {"algorithm": "RS256", "pem": pem(rsa2048.public_key()), "jwk": rsa_jwk},
    "rsa3072": {"algorithm": "RS256", "pem": pem(rsa3072.public_key())},
    "rsa-e3": {"algorithm": "RS256", "pem": pem(rsa_e3.public_key())},
    "ed": {"algorithm": "EdDSA", "pem": pem(ed.public_key()), "jwk": ed_jwk},
}

tokens = []


def token(key, comment, text, accepted=False):
    tokens.append({"key": key, "comment": comment, "jws": text, "accepted": accepted})


def finish(part, signature):
    return part + "." + encode(signature)


def mac(part, key=secret, digest=hashlib.sha256):
    return hmac.new(key, part.encode(), digest).digest()


def pkcs1(part, key=rsa2048, digest=hashes.SHA256()):
    return key.sign(part.encode(), padding.PKCS1v15(), digest)


def ecdsa(part, key=p256, digest=hashes.SHA256()):
    return key.sign(part.encode(), ec.ECDSA(digest))


# HS256.
hs = signed_part({"alg": "HS256", "kid": "hs"})
token("hs", "right", finish(hs, mac(hs)), True)
token("hs", "half of the code", finish(hs, mac(hs)[:16]))
token("hs", "a byte more", finish(hs, mac(hs) + b"\0"))
token("hs", "another secret", finish(hs, mac(hs, secret[::-1])))
for name, digest in (("HS384", hashlib.sha384), ("HS512", hashlib.sha512)):
    part = signed_part({"alg": name, "kid": "hs"})
    token("hs", name, finish(part, mac(part, digest=digest)))
    token("hs", "the code of " + name + " under HS256", finish(hs, mac(hs, digest=digest)))
for alg in ("none", "None", "NONE", "nOnE", "", "hs256", "HS256 ", "ES256", "RS256", "EdDSA"):
    part = signed_part({"alg": alg, "kid": "hs"})
    token("hs", f"alg {alg!r} without a signature", part + ".")
    token("hs", f"alg {alg!r} with the key's code", finish(part, mac(part)))
for comment, header in (
    ("crit of something", b'{"alg":"HS256","kid":"hs","crit":["x"],"x":1}'),
    ("crit of exp", b'{"alg":"HS256","kid":"hs","crit":["exp"],"exp":1}'),
    ("crit of b64", b'{"alg":"HS256","kid":"hs","crit":["b64"],"b64":true}'),
    ("empty crit", b'{"alg":"HS256","kid":"hs","crit":[]}'),
    ("crit null", b'{"alg":"HS256","kid":"hs","crit":null}'),
    ("crit a text", b'{"alg":"HS256","kid":"hs","crit":"x"}'),
    ("zip", b'{"alg":"HS256","kid":"hs","zip":"DEF"}'),
    ("alg twice, none last", b'{"alg":"HS256","kid":"hs","alg":"none"}'),
    ("alg twice, none first", b'{"alg":"none","kid":"hs","alg":"HS256"}'),
    ("kid twice", b'{"alg":"HS256","kid":"hs","kid":"hs"}'),
    ("a member twice, once escaped", b'{"alg":"HS256","kid":"hs","\\u0061lg":"HS256"}'),
    ("no alg", b'{"kid":"hs"}'),
    ("alg null", b'{"alg":null,"kid":"hs"}'),
    ("alg a number", b'{"alg":256,"kid":"hs"}'),
    ("alg a list", b'{"alg":["HS256"],"kid":"hs"}'),
    ("kid a number", b'{"alg":"HS256","kid":1}'),
    ("a list", b'[{"alg":"HS256","kid":"hs"}]'),
    ("a text", b'"HS256"'),
    ("not JSON", b'{"alg":"HS256","kid":"hs"'),
    ("something behind it", b'{"alg":"HS256","kid":"hs"}{}'),
    ("a byte-order mark", b'\xef\xbb\xbf{"alg":"HS256","kid":"hs"}'),
    ("UTF-16", '{"alg":"HS256","kid":"hs"}'.encode("utf-16-le")),
    ("UTF-32", '{"alg":"HS256","kid":"hs"}'.encode("utf-32-be")),
    ("not UTF-8", b'{"alg":"HS256","kid":"hs","x":"\xff"}'),
    ("too long", b'{"alg":"HS256","kid":"hs","x":"' + b"x" * 800 + b'"}'),
):
    part = signed_part(header)
    token("hs", "header: " + comment, finish(part, mac(part)))
for comment, header in (
    ("typ and others", b'{"typ":"JWT","alg":"HS256","kid":"hs","x":{"alg":"none","alg":1},"y":["a:b",{}]}'),
    ("space", b' {\r\n\t"alg" : "HS256" , "kid" : "hs" } '),
    ("an escaped value", b'{"alg":"HS\\u003256","kid":"hs"}'),
):
    part = signed_part(header)
    token("hs", "header: " + comment, finish(part, mac(part)), True)
# Base64url: padding, the other alphabet, unused bits. The payload of two bytes ends in four of them.
part = signed_part({"alg": "HS256", "kid": "hs"}, b'"\xfb\xff')
token("hs", "payload in base64url", finish(part, mac(part)), True)
for comment, change in (
    ("the other alphabet", lambda t: t.replace("-", "+").replace("_", "/")),
    ("padding", lambda t: t + "="),
    ("a line break", lambda t: t + "\n"),
    ("a letter too many", lambda t: t + "A"),
):
    head, body = part.split(".")
    changed = head + "." + change(body)
    if changed != part:
        token("hs", "payload: " + comment, finish(changed, mac(changed)))
    changed = change(head) + "." + body
    if changed != part:
        token("hs", "header: " + comment, finish(changed, mac(changed)))
    whole = finish(part, mac(part))
    changed = part + "." + change(whole.split(".")[2])
    if changed != whole:
        token("hs", "signature: " + comment, changed)
odd = signed_part({"alg": "HS256", "kid": "hs"}, b"ab")
assert odd.endswith("YWI")
token("hs", "payload: unused bits that are not zero", finish(odd[:-1] + "J", mac(odd[:-1] + "J")))
# 32 bytes have two unused bits in their last letter.
last = finish(hs, mac(hs))
alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
token("hs", "signature: unused bits that are not zero", last[:-1] + alphabet[alphabet.index(last[-1]) + 1])

# A public key as the secret of a code.
for name in ("ec", "rsa", "ed"):
    part = signed_part({"alg": "HS256", "kid": name})
    token(name, "HS256 with the PEM as secret", finish(part, mac(part, keys[name]["pem"].encode())))
    own = signed_part({"alg": keys[name]["algorithm"], "kid": name})
    token(name, "a code under the key's algorithm", finish(own, mac(own, keys[name]["pem"].encode())))
    token(name, "none", signed_part({"alg": "none", "kid": name}) + ".")
    token(name, "no signature", own + ".")
jwk_part = signed_part({"alg": "HS256", "kid": "ed"})
token("ed", "HS256 with the key's bytes as secret", finish(jwk_part, mac(jwk_part, ed_raw)))

# ES256.
es = signed_part({"alg": "ES256", "kid": "ec"})
signature = ecdsa(es)
r, s = utils.decode_dss_signature(signature)
order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
token("ec", "right", finish(es, raw(signature)), True)
token("ec", "the other s, which is as right", finish(es, r.to_bytes(32, "big") + (order - s).to_bytes(32, "big")), True)
token("ec", "in DER", finish(es, signature))
token("ec", "r and s exchanged", finish(es, raw(signature)[32:] + raw(signature)[:32]))
token("ec", "63 bytes", finish(es, raw(signature)[:-1]))
token("ec", "65 bytes", finish(es, raw(signature) + b"\0"))
token("ec", "of SHA-384", finish(es, raw(ecdsa(es, digest=hashes.SHA384()))))
token("ec", "of another curve", finish(es, raw(ecdsa(es, key=k256))))
token("ec", "of another key", finish(es, raw(ecdsa(es, key=ec.generate_private_key(ec.SECP256R1())))))
token("ec", "of another payload", finish(signed_part({"alg": "ES256", "kid": "ec"}, b'{"sub":"bob"}'), raw(signature)))
for name in ("ES384", "ES256K", "ES512"):
    part = signed_part({"alg": name, "kid": "ec"})
    token("ec", "alg " + name, finish(part, raw(ecdsa(part))))
token("ec", "all zero", finish(es, bytes(64)))
token("ec", "all ones", finish(es, b"\xff" * 64))

# RS256.
rs = signed_part({"alg": "RS256", "kid": "rsa"})
token("rsa", "right", finish(rs, pkcs1(rs)), True)
for name, key in (("rsa3072", rsa3072), ("rsa-e3", rsa_e3)):
    part = signed_part({"alg": "RS256", "kid": name})
    token(name, "right", finish(part, pkcs1(part, key)), True)
for name, digest in (("RS384", hashes.SHA384()), ("RS512", hashes.SHA512())):
    part = signed_part({"alg": name, "kid": "rsa"})
    token("rsa", name, finish(part, pkcs1(part, digest=digest)))
    token("rsa", "the signature of " + name + " under RS256", finish(rs, pkcs1(rs, digest=digest)))
token("rsa", "of SHA-1", finish(rs, pkcs1(rs, digest=hashes.SHA1())))
pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
token("rsa", "PSS under RS256", finish(rs, rsa2048.sign(rs.encode(), pss, hashes.SHA256())))
part = signed_part({"alg": "PS256", "kid": "rsa"})
token("rsa", "PS256", finish(part, rsa2048.sign(part.encode(), pss, hashes.SHA256())))
token("rsa", "of another key", finish(rs, pkcs1(rs, rsa.generate_private_key(65537, 2048))))
token("rsa", "of a longer key", finish(rs, pkcs1(rs, rsa3072)))
token("rsa", "a byte less", finish(rs, pkcs1(rs)[:-1]))
token("rsa", "a zero in front", finish(rs, b"\0" + pkcs1(rs)))
token("rsa", "all zero", finish(rs, bytes(256)))
plus = int.from_bytes(pkcs1(rs), "big") + modulus.n
if plus.bit_length() <= 2048:
    token("rsa", "the modulus added", finish(rs, plus.to_bytes(256, "big")))

# EdDSA.
edd = signed_part({"alg": "EdDSA", "kid": "ed"})
signature = ed.sign(edd.encode())
group = 2**252 + 27742317777372353535851937790883648493
token("ed", "right", finish(edd, signature), True)
plus = int.from_bytes(signature[32:], "little") + group
token("ed", "s with the order added (RFC 8032, 5.1.7)", finish(edd, signature[:32] + plus.to_bytes(32, "little")))
token("ed", "of another key", finish(edd, ed_other.sign(edd.encode())))
token("ed", "of another payload", finish(signed_part({"alg": "EdDSA", "kid": "ed"}, b"{}"), signature))
token("ed", "of the digest", finish(edd, ed.sign(hashlib.sha512(edd.encode()).digest())))
token("ed", "63 bytes", finish(edd, signature[:-1]))
token("ed", "65 bytes", finish(edd, signature + b"\0"))
token("ed", "r and s exchanged", finish(edd, signature[32:] + signature[:32]))
token("ed", "all zero", finish(edd, bytes(64)))
token("ed", "r is the neutral point, s is zero", finish(edd, b"\1" + bytes(63)))
for name in ("Ed25519", "Ed448", "eddsa", "EDDSA"):
    part = signed_part({"alg": name, "kid": "ed"})
    token("ed", "alg " + name, finish(part, ed.sign(part.encode())))
token("ed", "of Ed448", finish(edd, ed448.Ed448PrivateKey.generate().sign(edd.encode())))
for place in range(0, 64, 7):
    bad = bytearray(signature)
    bad[place] ^= 1 << place % 8
    token("ed", f"a bit of byte {place}", finish(edd, bytes(bad)))

refused = []


def refuse(comment, algorithm, **key):
    refused.append({"comment": comment, "algorithm": algorithm} | key)


for algorithm in ("ES256", "RS256", "EdDSA"):
    for name in ("ec", "rsa", "ed"):
        if keys[name]["algorithm"] != algorithm:
            refuse("a key of " + name, algorithm, pem=keys[name]["pem"])
refuse("P-384", "ES256", pem=pem(p384.public_key()))
refuse("secp256k1", "ES256", pem=pem(k256.public_key()))
refuse("RSA of 1,024 bits", "RS256", pem=pem(rsa1024.public_key()))
refuse("RSA of 2,047 bits", "RS256", pem=pem(rsa2047.public_key()))
refuse("Ed448", "EdDSA", pem=pem(ed448.Ed448PrivateKey.generate().public_key()))
refuse("X25519", "EdDSA", pem=pem(x25519.X25519PrivateKey.generate().public_key()))
for key, algorithm in ((p256, "ES256"), (rsa2048, "RS256"), (ed, "EdDSA")):
    refuse("a private key", algorithm, pem=private_pem(key))
pkcs1_form = serialization.PublicFormat.PKCS1
refuse("PKCS #1", "RS256",
       pem=rsa2048.public_key().public_bytes(serialization.Encoding.PEM, pkcs1_form).decode())
refuse("HS256 in PEM", "HS256", pem=keys["ec"]["pem"])
whole = keys["ec"]["pem"]
refuse("cut off", "ES256", pem=whole[: len(whole) // 2])
refuse("something behind the key", "ES256", pem=whole.replace("==\n", "AAAA==\n"))
for text in ("", "x", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"):
    refuse("no key", "ES256", pem=text)
refuse("a point that is not on the curve", "ES256", jwk=ec_jwk | {"y": number(point.y ^ 1, 32)})
refuse("x beyond the field", "ES256", jwk=ec_jwk | {"x": encode(b"\xff" * 32)})
refuse("a coordinate of 31 bytes", "ES256", jwk=ec_jwk | {"x": ec_jwk["x"][:41] + "A"})
refuse("a coordinate of 33 bytes", "ES256", jwk=ec_jwk | {"x": encode(b"\0" + point.x.to_bytes(32, "big"))})
refuse("no y", "ES256", jwk={k: v for k, v in ec_jwk.items() if k != "y"})
refuse("padding", "ES256", jwk=ec_jwk | {"x": ec_jwk["x"] + "="})
refuse("P-384", "ES256", jwk=ec_jwk | {"crv": "P-384"})
refuse("no curve", "ES256", jwk={k: v for k, v in ec_jwk.items() if k != "crv"})
refuse("private", "ES256", jwk=ec_jwk | {"d": number(p256.private_numbers().private_value, 32)})
refuse("d null", "ES256", jwk=ec_jwk | {"d": None})
refuse("private", "RS256", jwk=rsa_jwk | {"d": number(rsa2048.private_numbers().d)})
refuse("a prime", "RS256", jwk=rsa_jwk | {"p": number(rsa2048.private_numbers().p)})
refuse("private", "EdDSA", jwk=ed_jwk | {"d": encode(ed_private)})
refuse("symmetric", "HS256", jwk={"kty": "oct", "k": encode(secret), "kid": "s"})
refuse("symmetric without its secret", "HS256", jwk={"kty": "oct", "kid": "s"})
refuse("exponent 1", "RS256", jwk=rsa_jwk | {"e": "AQ"})
refuse("exponent 0", "RS256", jwk=rsa_jwk | {"e": "AA"})
refuse("an even exponent", "RS256", jwk=rsa_jwk | {"e": "AQAA"})
refuse("an exponent of 72 bits", "RS256", jwk=rsa_jwk | {"e": encode(b"\1" + bytes(7) + b"\1")})
refuse("an even modulus", "RS256", jwk=rsa_jwk | {"n": number(modulus.n - 1)})
refuse("a modulus of 1,024 bits behind zeros", "RS256",
       jwk=rsa_jwk | {"n": encode(rsa1024.public_key().public_numbers().n.to_bytes(256, "big"))})
refuse("a modulus of 16,384 bits", "RS256", jwk=rsa_jwk | {"n": number(2**16383 + 1)})
refuse("no modulus", "RS256", jwk={"kty": "RSA", "e": "AQAB", "kid": "rsa"})
refuse("31 bytes", "EdDSA", jwk=ed_jwk | {"x": encode(ed_raw[:31])})
refuse("Ed448", "EdDSA", jwk=ed_jwk | {"crv": "Ed448"})
refuse("X25519", "EdDSA", jwk=ed_jwk | {"crv": "X25519"})
for name, jwk in (("ES256", ec_jwk), ("RS256", rsa_jwk), ("EdDSA", ed_jwk)):
    refuse("for encryption", name, jwk=jwk | {"use": "enc"})
    refuse("for signing only", name, jwk=jwk | {"key_ops": ["sign"]})
    refuse("for another algorithm", name, jwk=jwk | {"alg": "PS256" if name == "RS256" else "RS256"})
    refuse("a number as type", name, jwk=jwk | {"kty": 1})

print(json.dumps({"keys": keys, "tokens": tokens, "refusedKeys": refused}, indent=1))
