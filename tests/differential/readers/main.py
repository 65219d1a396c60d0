"""Reads forwarded messages as a Python server does: json for the text, urllib.parse for addresses.

One message a line on stdin, base64; one line of JSON facts on stdout.
"""

import base64
import json
import math
import struct
import sys
import urllib.parse

WATCHED = ("force", "path", "amount", "mode", "kind")


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(read(base64.b64decode(line))), flush=True)


def read(text: bytes) -> list[dict]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    messages = value if isinstance(value, list) else [value]
    return [one(message) for message in messages if isinstance(message, dict)]


def one(message: dict) -> dict:
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    method = message.get("method")
    facts: dict = {"arguments": {}}
    put(facts, "method", method)
    if "id" in message:
        facts["id"] = normal(message["id"])
    put(facts, "name", params.get("name"))
    put(facts, "uri", params.get("uri"))
    ref = params.get("ref")
    if isinstance(ref, dict):
        put(facts, "refType", ref.get("type"))
        put(facts, "refName", ref.get("name"))
        put(facts, "refUri", ref.get("uri"))
    holder = params.get("arguments")
    if holder is None and not (isinstance(method, str) and "/" in method):
        holder = params
    if isinstance(holder, dict):
        for name in WATCHED:
            if name in holder:
                facts["arguments"][name] = normal(holder[name])
    uri = params.get("uri")
    if isinstance(uri, str):
        try:
            parts = urllib.parse.urlsplit(uri)
            facts["parsedUri"] = {
                "scheme": parts.scheme,
                "host": parts.hostname or "",
                "port": "" if parts.port is None else str(parts.port),
                "path": urllib.parse.unquote(parts.path),
            }
        except ValueError:
            pass
    return facts


def put(facts: dict, name: str, value: object) -> None:
    if isinstance(value, str):
        facts[name] = value


def normal(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(normal(item) for item in value) + "]"
    assert isinstance(value, dict)
    return "{" + ",".join(f"{text(key)}:{normal(item)}" for key, item in value.items()) + "}"


def text(value: str) -> str:
    return "$" + value.encode("utf-8", "surrogatepass").hex()


def number(value: float) -> str:
    try:
        double = float(value)
    except OverflowError:
        double = math.inf if value > 0 else -math.inf
    if math.isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    return "#" + format(struct.unpack(">Q", struct.pack(">d", double + 0.0))[0], "x")


main()
