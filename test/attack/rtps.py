"""Attacks a running node with forged RTPS packets, and checks that its memory stays bounded and that it still works.

    python test/attack/rtps.py                                # starts a node (URDF_USD_BIN or target/debug/urdf_usd) and attacks it
    python test/attack/rtps.py --domain 42 --pid 1234         # attacks that one
    python test/attack/rtps.py --packets 5000 --parts matched --seed 3

Parts, each with its own figures:

    unmatched     packets of every submessage kind with extreme numbers, from participants that have introduced no endpoints
    matched       the same from a peer whose endpoints are connected with all of the node's, with valid headers and mutated fields, payloads
                  and parameter lists, and valid packets with flipped bytes
    fragments     a matched writer that starts large samples and completes none (--megabytes)
    participants  announcements of distinct forged participants (--floods)
    endpoints     announcements of distinct endpoints of one participant (--floods)

Packets are sent as fast as the node takes them: the queues and drops of its sockets are watched. After the first tenth, memory may grow by
at most --growth MiB in `unmatched` and `matched`. The floods are inherent to a protocol without authentication: their cost is printed per
participant and endpoint.

All traffic stays on 127.0.0.1. The same seed sends the same packets, except for answers to requests of the node. Exit code 1: a check failed.
"""

import argparse
import os
import random
import socket
import struct
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# ---- RTPS 2.5 on the wire, little-endian -------------------------------------------------------------------------------------------

PAD, ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_SRC, INFO_REPLY_IP4, INFO_DST, INFO_REPLY = 0x01, 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0D, 0x0E, 0x0F
NACK_FRAG, HEARTBEAT_FRAG, DATA, DATA_FRAG = 0x12, 0x13, 0x15, 0x16
KINDS = (PAD, ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_SRC, INFO_REPLY_IP4, INFO_DST, INFO_REPLY, NACK_FRAG, HEARTBEAT_FRAG, DATA, DATA_FRAG)
#: Submessages of DDS Security, of Adlink, and unassigned ones.
OTHER_KINDS = (0x02, 0x30, 0x31, 0x32, 0x33, 0x34, 0x7F, 0x80, 0x81, 0x82, 0xFF)

UNKNOWN = 0
SPDP_WRITER, SPDP_READER = 0x000100C2, 0x000100C7
PUBLICATIONS_WRITER, PUBLICATIONS_READER = 0x000003C2, 0x000003C7
SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS_READER = 0x000004C2, 0x000004C7
MESSAGE_WRITER, MESSAGE_READER = 0x000200C2, 0x000200C7
BUILTIN = {
    SPDP_WRITER: SPDP_READER,
    PUBLICATIONS_WRITER: PUBLICATIONS_READER,
    SUBSCRIPTIONS_WRITER: SUBSCRIPTIONS_READER,
    MESSAGE_WRITER: MESSAGE_READER,
}
PARTICIPANT = 0x000001C1

VENDORS = (b"\x01\x10", b"\x01\x0f", b"\x01\x01", b"\x01\x12", b"\x00\x00")
CYCLONE = VENDORS[0]

#: Values at the edges of their types, and sizes that an implementation may use as limits.
EXTREME_64 = (0, 1, 2, 255, 256, 257, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 258, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)
EXTREME_32 = (0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 65535, 65536, 2**25, 2**25 + 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
EXTREME_16 = (0, 1, 3, 4, 8, 16, 28, 255, 1024, 1344, 32767, 32768, 65532, 65535)
MAX_DATAGRAM = 65507


def entity(number):
    return struct.pack(">I", number & 0xFFFFFFFF)


def sequence_number(number):
    return struct.pack("<II", (number >> 32) & 0xFFFFFFFF, number & 0xFFFFFFFF)


def submessage(kind, body, flags=1, length=None):
    """Returns a submessage; `length` overrides the size of its body."""
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<BBH", kind, flags, min(len(body), 65535) if length is None else length) + body


def packet(prefix, *submessages, vendor=CYCLONE, version=b"\x02\x01"):
    return (b"RTPS" + version + vendor + prefix + b"".join(submessages))[:MAX_DATAGRAM]


def info_dst(prefix):
    return submessage(INFO_DST, prefix)


def bitmap(base, count, bits, wide=True):
    return (sequence_number(base) if wide else struct.pack("<I", base & 0xFFFFFFFF)) + struct.pack("<I", count & 0xFFFFFFFF) + bits


def heartbeat(reader, writer, first, last, count, flags=1):
    body = entity(reader) + entity(writer) + sequence_number(first) + sequence_number(last) + struct.pack("<I", count & 0xFFFFFFFF)
    return submessage(HEARTBEAT, body, flags)


def acknack(reader, writer, base, count, bits, counter, flags=1):
    return submessage(ACKNACK, entity(reader) + entity(writer) + bitmap(base, count, bits) + struct.pack("<I", counter & 0xFFFFFFFF), flags)


def gap(reader, writer, start, base, count, bits):
    return submessage(GAP, entity(reader) + entity(writer) + sequence_number(start) + bitmap(base, count, bits))


def nack_frag(reader, writer, number, base, count, bits, counter):
    body = entity(reader) + entity(writer) + sequence_number(number) + bitmap(base, count, bits, wide=False)
    return submessage(NACK_FRAG, body + struct.pack("<I", counter & 0xFFFFFFFF))


def heartbeat_frag(reader, writer, number, last, counter):
    body = entity(reader) + entity(writer) + sequence_number(number) + struct.pack("<II", last & 0xFFFFFFFF, counter & 0xFFFFFFFF)
    return submessage(HEARTBEAT_FRAG, body)


def data(reader, writer, number, payload, flags=5, inline=b"", to_inline=16):
    body = struct.pack("<HH", 0, to_inline) + entity(reader) + entity(writer) + sequence_number(number) + inline + payload
    return submessage(DATA, body, flags)


def data_frag(reader, writer, number, first, count, size, total, payload, flags=1, to_inline=28):
    body = struct.pack("<HH", 0, to_inline) + entity(reader) + entity(writer) + sequence_number(number)
    body += struct.pack("<IHHI", first & 0xFFFFFFFF, count & 0xFFFF, size & 0xFFFF, total & 0xFFFFFFFF)
    return submessage(DATA_FRAG, body + payload, flags)


SENTINEL = struct.pack("<HH", 1, 0)
PL_CDR_LE, CDR_LE = b"\x00\x03\x00\x00", b"\x00\x01\x00\x00"


def parameter(pid, value, length=None):
    value += b"\0" * (-len(value) % 4)
    return struct.pack("<HH", pid, min(len(value), 65532) if length is None else length) + value


def text(value, length=None):
    value = value.encode() + b"\0"
    return struct.pack("<I", len(value) if length is None else length) + value


def locator(port, address="127.0.0.1", kind=1):
    return struct.pack("<iI", kind, port) + b"\0" * 12 + socket.inet_aton(address)


def parameters_of(payload):
    """Returns the parameters of a list, without its CDR header."""
    order = "<" if payload[1:2] in b"\x01\x03" else ">"
    at, found = 4, {}
    while at + 4 <= len(payload):
        pid, length = struct.unpack_from(order + "HH", payload, at)
        if pid == 1:
            break
        found[pid] = payload[at + 4 : at + 4 + length]
        at += 4 + length
    return found, order


def text_of(value, order):
    (length,) = struct.unpack_from(order + "I", value)
    return value[4 : 4 + length - 1].decode()


def announcement(prefix, port, lease=10, endpoints=0xC3F, more=b""):
    """Returns the payload that announces a participant (SPDP)."""
    return b"".join(
        (
            PL_CDR_LE,
            parameter(0x15, b"\x02\x01"),
            parameter(0x16, CYCLONE),
            parameter(0x50, prefix + entity(PARTICIPANT)),
            parameter(0x58, struct.pack("<I", endpoints)),
            parameter(0x31, locator(port)),
            parameter(0x32, locator(port)),
            parameter(0x02, struct.pack("<iI", lease, 0)),
            more,
            SENTINEL,
        )
    )


def endpoint(prefix, number, topic, kind, is_reliable, is_durable, more=b""):
    """Returns the payload that announces a reader or writer (SEDP)."""
    return b"".join(
        (
            PL_CDR_LE,
            parameter(0x5A, prefix + entity(number)),
            parameter(0x50, prefix + entity(PARTICIPANT)),
            parameter(0x05, text(topic)),
            parameter(0x07, text(kind)),
            parameter(0x1A, struct.pack("<IiI", 2 if is_reliable else 1, 0, 2**31)),
            parameter(0x1D, struct.pack("<I", int(is_durable))),
            more,
            SENTINEL,
        )
    )


def submessages_of(message):
    """Returns the submessages of a packet: kind, flags, body."""
    at = 20
    while at + 4 <= len(message):
        kind, flags = message[at], message[at + 1]
        (length,) = struct.unpack_from("<H" if flags & 1 else ">H", message, at + 2)
        if length == 0 and kind not in (PAD, INFO_TS):
            length = len(message) - at - 4
        yield kind, flags, message[at + 4 : at + 4 + length]
        at += 4 + length


# ---- The process under attack ------------------------------------------------------------------------------------------------------


@dataclass
class Process:
    """The node as the kernel sees it."""

    pid: int

    def is_alive(self):
        try:
            return "\nState:\tZ" not in Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return False

    def _sockets(self):
        """Returns its UDP sockets by port: queued bytes, dropped packets."""
        inodes = set()
        for entry in os.scandir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(entry.path)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        found = {}
        for line in Path(f"/proc/{self.pid}/net/udp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                found[int(fields[1].rpartition(":")[2], 16)] = (int(fields[4].partition(":")[2], 16), int(fields[12]))
        return found

    def ports(self):
        return sorted(self._sockets())

    def waiting_by_port(self):
        """Returns the queued bytes of each socket."""
        return {port: waiting for port, (waiting, _) in sorted(self._sockets().items())}

    def waiting(self, ports=None):
        """Returns the queued bytes of the busiest socket."""
        return max((bytes_ for port, bytes_ in self.waiting_by_port().items() if ports is None or port in ports), default=0)

    def drops(self):
        return sum(drops for _, drops in self._sockets().values())

    def memory(self):
        """Returns the current and the maximum resident set, in MiB."""
        values = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines() if ":" in line)
        return tuple(int(values[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))

    def seconds(self):
        """Returns the processor time used so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Dead(Exception):
    """The node ended or no longer receives packets."""


class Sender:
    """Sends packets no faster than the node receives them."""

    #: Maximum number of queued bytes in a socket of the node. Its buffers hold at least 200 KiB, including the kernel's overhead.
    MAX_WAITING = 96 << 10
    #: Seconds after which a node that receives nothing counts as hung.
    PATIENCE = 30

    def __init__(self, process):
        self.process = process
        self.sent = self.bytes = self._unseen = 0
        self.ports = self._heard()
        if not self.ports:
            raise Dead(f"process {process.pid} has no UDP socket that it listens to")

    def _heard(self):
        """Returns the ports that the node listens on; its other sockets only send."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as where:
            for port in self.process.ports():
                where.sendto(packet(CYCLONE + b"probe probe"[:10]), ("127.0.0.1", port))
        end, waiting = time.monotonic() + 2, True
        while waiting and time.monotonic() < end:
            time.sleep(0.02)
            waiting = self.process.waiting()
        return [port for port, bytes_ in self.process.waiting_by_port().items() if not bytes_]

    def send(self, where, message, port):
        if len(message) > MAX_DATAGRAM:
            message = message[:MAX_DATAGRAM]
        where.sendto(message, ("127.0.0.1", port))
        self.sent += 1
        self.bytes += len(message)
        self._unseen += len(message) + 1024
        if self._unseen > self.MAX_WAITING // 2:
            self.settle()

    def settle(self):
        """Waits until the node has received most of the packets."""
        end = time.monotonic() + self.PATIENCE
        while True:
            if not self.process.is_alive():
                raise Dead("the node ended")
            try:
                waiting = self.process.waiting(self.ports)
            except OSError:
                raise Dead("the node ended") from None
            if waiting < self.MAX_WAITING // 4:
                break
            if time.monotonic() > end:
                raise Dead(f"the node took no packets for {self.PATIENCE} s ({waiting} bytes wait)")
            time.sleep(0.001)
        self._unseen = 0


# ---- Our participant ---------------------------------------------------------------------------------------------------------------


@dataclass
class Writer:
    """A writer of ours, with its samples and sequence numbers."""

    number: int
    reader: int  # of the node
    topic: str
    is_reliable: bool
    samples: dict = field(default_factory=dict)
    last: int = 0
    count: int = 0


@dataclass
class Reader:
    """A reader of ours, and the writer of the node that it reads from."""

    number: int
    writer: int
    topic: str
    count: int = 0


class Participant:
    """A hand-written participant: announces itself and a counterpart for every endpoint of the node, and follows the protocol."""

    #: Endpoints of the node that get a counterpart.
    MAX_MIRRORED = 64

    def __init__(self, dice, sender, lease=10):
        self.dice, self.sender, self.lease = dice, sender, lease
        self.prefix = CYCLONE + dice.randbytes(10)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self.node = None
        self.lock = threading.RLock()
        self.announced = {number: Writer(number, BUILTIN[number], "", True) for number in (PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER, MESSAGE_WRITER)}
        self.writers, self.readers = {}, {}
        self.heard = {}  # sequence numbers of the node's writers, by entity
        self.found = {}  # endpoints of the node, by entity: topic, type, reliable, durable
        self.asked = set()  # our writers from which the node has requested samples
        self.count = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self, *, says_so=True):
        self.is_over.set()
        self.thread.join()
        if says_so:
            key = PL_CDR_LE + parameter(0x50, self.prefix + entity(PARTICIPANT)) + SENTINEL
            gone = parameter(0x71, b"\0\0\0\x03") + SENTINEL
            self._send(packet(self.prefix, data(UNKNOWN, SPDP_WRITER, 1 << 40, key, flags=11, inline=gone)))
        self.socket.close()

    def _send(self, message):
        for port in self.sender.ports:
            self.socket.sendto(message, ("127.0.0.1", port))

    def to_node(self, *submessages):
        return packet(self.prefix, info_dst(self.node), *submessages)

    def introduce(self):
        self.count += 1
        payload = announcement(self.prefix, self.port, self.lease)
        self._send(packet(self.prefix, data(UNKNOWN, SPDP_WRITER, self.count, payload)))

    def connected(self, timeout=30):
        """Waits until the node has requested samples from some of our writers, so that its readers are matched with them."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with self.lock:
                reliable = {number for number, writer in self.writers.items() if writer.is_reliable}
                if reliable and self.readers and reliable <= self.asked:
                    return self
            time.sleep(0.02)
        with self.lock:
            if self.writers and self.asked:
                return self
        raise Dead(f"no connection with the node after {timeout} s (known: {self.node}, endpoints: {len(self.found)}, asked: {len(self.asked)})")

    def _run(self):
        next_introduction = 0.0
        while not self.is_over.is_set():
            if time.monotonic() > next_introduction:
                next_introduction = time.monotonic() + (0.5 if not self.writers else 2)
                self.introduce()
            try:
                message, _ = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            if message[:4] == b"RTPS" and len(message) >= 20:
                with self.lock:
                    self._handle(message)

    def _handle(self, message):
        source = message[8:20]
        for kind, flags, body in submessages_of(message):
            order = "<" if flags & 1 else ">"
            try:
                if kind == DATA:
                    self._handle_data(source, order, flags, body)
                elif source == self.node and kind == HEARTBEAT:
                    self._handle_heartbeat(order, body)
                elif source == self.node and kind == ACKNACK:
                    self._handle_acknack(order, body)
            except (struct.error, UnicodeDecodeError, IndexError):
                continue

    def _handle_data(self, source, order, flags, body):
        (to_inline,) = struct.unpack_from(order + "H", body, 2)
        writer = struct.unpack_from(">I", body, 8)[0]
        high, low = struct.unpack_from(order + "II", body, 12)
        at = 4 + to_inline
        if flags & 2:
            while True:
                pid, length = struct.unpack_from(order + "HH", body, at)
                at += 4 + (0 if pid == 1 else length)
                if pid == 1:
                    break
        payload = body[at:]
        if writer == SPDP_WRITER:
            found, _ = parameters_of(payload)
            # Do not attack other participants of the domain.
            if self.node is None and flags & 4 and found.get(0x50, b"")[:12] == source and self._is_of_process(found):
                self.node = source
                for sedp, reader in ((PUBLICATIONS_WRITER, PUBLICATIONS_READER), (SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS_READER)):
                    self._send(self.to_node(acknack(reader, sedp, 1, 0, b"", 0, flags=1)))
            return
        if source != self.node:
            return
        self.heard.setdefault(writer, set()).add(high << 32 | low)
        if writer in (PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER) and flags & 4:
            self._mirror(payload, writer == PUBLICATIONS_WRITER)

    def _is_of_process(self, found):
        for pid in (0x31, 0x32):
            if pid in found and struct.unpack_from("<I", found[pid], 4)[0] in self.sender.ports:
                return True
        return False

    def _mirror(self, payload, is_writer):
        """Announces a counterpart of an endpoint of the node."""
        found, order = parameters_of(payload)
        number = struct.unpack(">I", found[0x5A][12:16])[0]
        if number in self.found or len(self.found) >= self.MAX_MIRRORED:
            return
        topic, kind = text_of(found[0x05], order), text_of(found[0x07], order)
        is_reliable = 0x1A in found and struct.unpack_from(order + "I", found[0x1A])[0] >= 2
        is_durable = 0x1D in found and struct.unpack_from(order + "I", found[0x1D])[0] >= 1
        self.found[number] = (topic, kind, is_reliable, is_durable, is_writer)
        ours = (0x100 + len(self.found)) << 8
        if is_writer:
            self.readers[ours | 4] = Reader(ours | 4, number, topic)
            self.announce(SUBSCRIPTIONS_WRITER, endpoint(self.prefix, ours | 4, topic, kind, is_reliable, is_durable))
        else:
            self.writers[ours | 3] = Writer(ours | 3, number, topic, is_reliable)
            self.announce(PUBLICATIONS_WRITER, endpoint(self.prefix, ours | 3, topic, kind, True, True))

    def announce(self, number, payload):
        """Sends a discovery sample, which is resent on request."""
        with self.lock:
            writer = self.announced[number]
            writer.last += 1
            writer.samples[writer.last] = payload
            self._send(self.to_node(data(writer.reader, number, writer.last, payload), self._heartbeat(writer)))

    def _heartbeat(self, writer):
        writer.count += 1
        return heartbeat(UNKNOWN, writer.number, 1, writer.last, writer.count)

    def _handle_heartbeat(self, order, body):
        writer = struct.unpack_from(">I", body, 4)[0]
        first = struct.unpack_from(order + "II", body, 8)
        last = struct.unpack_from(order + "II", body, 16)
        first, last = first[0] << 32 | first[1], last[0] << 32 | last[1]
        self.count += 1
        if writer in (PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER):
            heard = self.heard.setdefault(writer, set())
            base = first
            while base in heard:
                base += 1
            count = max(0, min(last - base + 1, 256))
            words = [0] * ((count + 31) // 32)
            for i in range(count):
                if base + i not in heard:
                    words[i // 32] |= 1 << (31 - i % 32)
            bits = struct.pack(f"<{len(words)}I", *words)
            self._send(self.to_node(acknack(BUILTIN[writer], writer, base, count, bits, self.count, flags=3)))
        for reader in self.readers.values():
            if reader.writer == writer:
                self._send(self.to_node(acknack(reader.number, writer, last + 1, 0, b"", self.count, flags=3)))

    def _handle_acknack(self, order, body):
        number = struct.unpack_from(">I", body, 4)[0]
        high, low, count = struct.unpack_from(order + "III", body, 8)
        base = high << 32 | low
        writer = self.announced.get(number) or self.writers.get(number)
        if writer is None:
            return
        self.asked.add(number)
        parts = []
        for i in range(min(count, 256)):
            (word,) = struct.unpack_from(order + "I", body, 20 + i // 32 * 4)
            if word & 1 << (31 - i % 32) and base + i in writer.samples:
                parts.append(data(writer.reader, number, base + i, writer.samples[base + i]))
        # A reader that has received nothing requests nothing.
        if base == 1 and not parts:
            parts = [data(writer.reader, number, sn, payload) for sn, payload in writer.samples.items()]
        for part in parts:
            self._send(self.to_node(part))
        self._send(self.to_node(self._heartbeat(writer)))


# ---- Mutations ---------------------------------------------------------------------------------------------------------------------


class Mutations:
    """Forged packets from a seeded generator."""

    def __init__(self, dice):
        self.dice = dice
        self.counter = 0

    def number(self, extremes, bits):
        """Returns a number that is mostly an extreme, else near one, or arbitrary."""
        which = self.dice.random()
        value = self.dice.choice(extremes)
        if which < 0.2:
            value += self.dice.randint(-3, 3)
        elif which < 0.3:
            value = self.dice.getrandbits(bits)
        elif which < 0.5:
            value = self.dice.randint(1, 40)
        return value & ((1 << bits) - 1)

    def sn(self):
        return self.number(EXTREME_64, 64)

    def u32(self):
        return self.number(EXTREME_32, 32)

    def u16(self):
        return self.number(EXTREME_16, 16)

    def count(self):
        self.counter += 1
        return self.counter if self.dice.random() < 0.7 else self.u32()

    def blob(self, most=256):
        return self.dice.randbytes(self.dice.randint(0, most) & ~3)

    def bits(self, count):
        """Returns the bits of a set of that size, or too few or too many."""
        size = (min(count, 512) + 31) // 32 * 4
        if self.dice.random() < 0.1:
            size = self.dice.randint(0, 40) * 4
        return self.dice.choice((b"\xff" * size, self.dice.randbytes(size), b"\0" * size))

    def body(self, kind, reader, writer):
        """Returns the body of a submessage of that kind with mutated numbers."""
        dice = self.dice
        match kind:
            case 0x01:
                return submessage(PAD, self.blob(64), length=dice.choice((None, 0, self.u16())))
            case 0x06:
                count = dice.choice((0, 1, 31, 32, 255, 256, self.u32()))
                return acknack(reader, writer, self.sn(), count, self.bits(count), self.count(), flags=dice.choice((1, 3)))
            case 0x07:
                return heartbeat(reader, writer, self.sn(), self.sn(), self.count(), flags=dice.choice((1, 3, 5, 7)))
            case 0x08:
                count = dice.choice((0, 1, 255, 256, self.u32()))
                return gap(reader, writer, self.sn(), self.sn(), count, self.bits(count))
            case 0x09:
                return submessage(INFO_TS, struct.pack("<II", self.u32(), self.u32()), flags=dice.choice((1, 3)))
            case 0x0C:
                return submessage(INFO_SRC, struct.pack("<I", 0) + dice.choice((b"\x02\x01", b"\x02\x05", dice.randbytes(2))) + dice.choice(VENDORS) + dice.randbytes(12))
            case 0x0D | 0x0F:
                return submessage(kind, struct.pack("<I", self.u32()) + self.blob(96))
            case 0x0E:
                return info_dst(dice.choice((b"\0" * 12, dice.randbytes(12))))
            case 0x12:
                count = dice.choice((0, 1, 255, 256, self.u32()))
                return nack_frag(reader, writer, self.sn(), self.u32(), count, self.bits(count), self.count())
            case 0x13:
                return heartbeat_frag(reader, writer, self.sn(), self.u32(), self.count())
            case 0x15:
                inline, flags = self.inline()
                flags |= dice.choice((1, 5, 5, 5, 9, 13))
                return data(reader, writer, self.sn(), self.payload(), flags, inline, to_inline=dice.choice((16, 16, 16, self.u16())))
            case 0x16:
                return data_frag(
                    reader, writer, self.sn(), self.u32(), self.u16(), self.u16(), self.u32(),
                    dice.choice((CDR_LE, PL_CDR_LE, b"")) + self.blob(1500), flags=dice.choice((1, 3, 5)), to_inline=dice.choice((28, 28, self.u16())),
                )  # fmt: skip
        return submessage(kind, self.blob(64), flags=dice.getrandbits(8), length=dice.choice((None, self.u16())))

    def inline(self):
        """Returns inline QoS and its flag."""
        which = self.dice.random()
        if which < 0.6:
            return b"", 0
        many = [parameter(self.dice.choice((0x70, 0x71, 0x0015, 0x0059, 0, self.u16())), self.blob(32), self.dice.choice((None, None, self.u16()))) for _ in range(self.dice.randint(0, 6))]
        return b"".join(many) + (SENTINEL if which < 0.95 else b""), 2

    def payload(self):
        """Returns a payload: a text, a list of parameters, or arbitrary bytes."""
        dice = self.dice
        match dice.randrange(4):
            case 0:
                return dice.choice((CDR_LE, b"\x00\x00\x00\x00", b"\x00\x07\x00\x00", dice.randbytes(4))) + text("x" * dice.randint(0, 64), self.u32())
            case 1:
                return dice.choice((CDR_LE, PL_CDR_LE)) + struct.pack("<II", self.u32(), self.u32()) + self.blob(512)
            case 2:
                return self.parameters(b"")
        return self.blob(1024)

    def parameters(self, valid):
        """Returns a list of parameters with lengths and counts beyond their content, among `valid` ones."""
        dice = self.dice
        parts = [valid]
        for _ in range(dice.randint(1, 8)):
            pid = dice.choice((
                0x05, 0x07, 0x2C, 0x2D, 0x2E, 0x29, 0x2F, 0x30, 0x31, 0x32, 0x33, 0x48, 0x43, 0x59, 0x5A, 0x50, 0x62, 0x1A, 0x1D, 0x1B, 0x1E, 0x23,
                0x40, 0x41, 0x73, 0x75, 0x02, 0x0F, 0x58, 0x52, 0x1001, 0x1002, 0x4014, 0x8001, 0x8019, 0x801A, 0x8021, self.u16(),
            ))  # fmt: skip
            match dice.randrange(5):
                case 0:  # A text or sequence longer than the parameter.
                    value = struct.pack("<I", self.u32()) + self.blob(128)
                case 1:  # Many texts or properties.
                    value = struct.pack("<I", self.u32()) + b"".join(text("p" * dice.randint(0, 9), dice.choice((None, None, self.u32()))) for _ in range(dice.randint(0, 60)))
                case 2:
                    value = locator(self.u32(), dice.choice(("127.0.0.1", "127.0.0.2", "239.255.0.1")), kind=dice.choice((1, 2, 4, -1, 0x40000000, self.u32() - 2**31)))
                case 3:
                    value = struct.pack("<II", self.u32(), self.u32()) * dice.randint(1, 4)
                case _:
                    value = self.blob(512)
            parts.append(parameter(pid & 0xFFFF, value, dice.choice((None, None, None, self.u16()))))
        if dice.random() < 0.05:  # A list as long as a packet may be.
            parts.append(parameter(0x59, struct.pack("<I", 2000) + (text("k") + b"\0\0" + text("v") + b"\0\0") * 2000))
        if dice.random() < 0.05:
            parts.append(b"".join(parameter(0x2F, locator(1 + i, f"127.{i >> 8}.{i & 255}.1")) for i in range(dice.randint(1, 1800))))
        dice.shuffle(parts)
        return PL_CDR_LE + b"".join(parts) + (SENTINEL if dice.random() < 0.95 else b"")

    def flipped(self, message):
        """Returns a packet with some bytes changed, removed or repeated."""
        dice, changed = self.dice, bytearray(message)
        for _ in range(dice.choice((1, 1, 2, 4, 8))):
            at = dice.randrange(4, len(changed))
            match dice.randrange(4):
                case 0:
                    changed[at] ^= 1 << dice.randrange(8)
                case 1:
                    changed[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
                case 2:
                    width = dice.choice((2, 4, 8))
                    changed[at & ~3 : (at & ~3) + width] = self.number(EXTREME_64, 64).to_bytes(8, "little")[:width]
                case 3 if dice.random() < 0.3:
                    del changed[at & ~3 :]
                    break
        if dice.random() < 0.1:
            changed += bytes(changed[20:])
        return bytes(changed)[:MAX_DATAGRAM]


def unmatched_packets(dice, ids, node):
    """Yields packets of participants without endpoints. There are few participants, as each costs memory by design (see `participants`)."""
    forge = Mutations(dice)
    prefixes = [dice.choice(VENDORS) + dice.randbytes(10) for _ in range(16)]
    ids = (*BUILTIN, *BUILTIN.values(), 0, PARTICIPANT, 0xFFFFFFFF, *ids)
    while True:
        prefix = dice.choice(prefixes)
        parts = [info_dst(node)] if dice.random() < 0.3 else []
        if dice.random() < 0.1:
            # An announcement with mutated parameters.
            valid = announcement(prefix, 9, lease=dice.choice((0, 1, 10)))[4:-4]
            parts.append(data(UNKNOWN, SPDP_WRITER, forge.sn(), forge.parameters(valid)))
        for _ in range(dice.choice((1, 1, 1, 2, 4, 16))):
            kind = dice.choice(KINDS) if dice.random() < 0.95 else dice.choice(OTHER_KINDS)
            parts.append(forge.body(kind, dice.choice(ids), dice.choice(ids)))
        message = packet(prefix, *parts, vendor=dice.choice((*VENDORS, dice.randbytes(2))), version=dice.choice((b"\x02\x01", b"\x02\x05", b"\x02\x01", b"\x02\xff", dice.randbytes(2))))
        yield forge.flipped(message) if dice.random() < 0.2 else message


class Matched:
    """Packets of a peer whose endpoints are matched with those of the node."""

    #: Packets after which a new peer replaces the old one: a writer with an extreme sequence number cannot send any more.
    LIFE = 2000

    def __init__(self, dice, sender):
        self.dice, self.sender = dice, sender
        self.forge = Mutations(dice)
        self.peer = None
        self.peers = 0
        self.left = 0

    def close(self):
        if self.peer is not None:
            self.peer.close()
            self.peer = None

    def _renew(self):
        self.close()
        self.peer = Participant(self.dice, self.sender).connected()
        self.peers += 1
        self.left = self.LIFE
        with self.peer.lock:
            self.writers = [*self.peer.writers.values(), *self.peer.announced.values()]
            self.readers = [*self.peer.readers.values()]
            self.numbers = {writer.number: writer.last for writer in self.writers}
            self.pairs = [(writer.reader, writer.number) for writer in self.writers]
            self.pairs += [(reader.number, reader.writer) for reader in self.readers]
            # Our readers for the discovery writers of the node.
            self.pairs += [(BUILTIN[number], number) for number in (PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER, MESSAGE_WRITER)]
            self.valid = self._valid()

    def _valid(self):
        """Returns valid packets whose bytes are flipped."""
        peer = self.peer
        found = [packet(peer.prefix, data(UNKNOWN, SPDP_WRITER, 1, announcement(peer.prefix, peer.port)))]
        for writer in self.writers:
            for number, payload in list(writer.samples.items())[:2]:
                found.append(peer.to_node(data(writer.reader, writer.number, number, payload), heartbeat(UNKNOWN, writer.number, 1, number, 1)))
            found.append(peer.to_node(data(writer.reader, writer.number, 3, CDR_LE + text("<robot/>")), heartbeat(writer.reader, writer.number, 1, 3, 5)))
            found.append(peer.to_node(data_frag(writer.reader, writer.number, 4, 1, 1, 64, 256, CDR_LE + b"x" * 60), heartbeat_frag(writer.reader, writer.number, 4, 4, 1)))
            found.append(peer.to_node(gap(writer.reader, writer.number, 1, 3, 32, b"\xf0\0\0\0")))
        for reader, writer in self.pairs:
            found.append(peer.to_node(acknack(reader, writer, 1, 32, b"\xff" * 4, 7), nack_frag(reader, writer, 1, 1, 32, b"\xff" * 4, 9)))
        return found

    def _next(self, writer):
        self.numbers[writer.number] += 1
        return self.numbers[writer.number]

    def _deliver(self, writer, payload, flags=5, inline=b""):
        """Sends a sample with the next sequence number, which reaches the reader."""
        number = self._next(writer)
        self.forge.counter += 1
        front = heartbeat(UNKNOWN, writer.number, number, number, self.forge.counter + (1 << 20))
        return self.peer.to_node(front, data(writer.reader, writer.number, number, payload, flags, inline))

    def _fragments(self, writer):
        """Sends fragments of a sample that overlap, leave gaps, or disagree about its size."""
        dice, peer = self.dice, self.peer
        number = self._next(writer)
        size = dice.choice((1, 4, 100, 1000, 1344, 32768))
        whole = dice.choice((2, 3, 5, 40)) * size
        header = PL_CDR_LE if writer.number in BUILTIN else CDR_LE
        yield peer.to_node(heartbeat(UNKNOWN, writer.number, number, number, self.forge.count()))
        for _ in range(dice.randint(1, 5)):
            total = whole if dice.random() < 0.6 else dice.choice((size + 1, 2 * size, 60000, 2**25, 2**31 - 1, 2**32 - 1, self.forge.u32()))
            first = dice.randint(1, max(1, min(total // size, 12)))
            count = dice.choice((1, 1, 2, dice.randint(1, max(1, 60000 // size))))
            # Fragments cover the sample, whatever size they declare.
            length = min(count * size, 60000, max(4, total - (first - 1) * size))
            yield peer.to_node(data_frag(writer.reader, writer.number, number, first, count, size, total, (header + b"\x41" * 60000)[:length]))

    def _disagreement(self, writer):
        """Sends a fragment that declares a small sample, followed by a large one of the same sample."""
        number, dice = self._next(writer), self.dice
        header = PL_CDR_LE if writer.number in BUILTIN else CDR_LE
        yield self.peer.to_node(heartbeat(UNKNOWN, writer.number, number, number, self.forge.count()))
        first = data_frag(writer.reader, writer.number, number, 1, 1, 1000, 2000, header + b"\x41" * 996)
        many = dice.choice((2, 10, 60))
        second = data_frag(writer.reader, writer.number, number, 2, many, 1000, 1000 * (many + 1), b"\x42" * (1000 * many))
        for part in dice.sample((first, second), 2):
            yield self.peer.to_node(part)

    def _storm(self):
        """Sends a packet full of submessages."""
        dice, parts, size = self.dice, [], 0
        reader, writer = dice.choice(self.pairs)
        kind = dice.choice((ACKNACK, NACK_FRAG, HEARTBEAT, GAP, INFO_SRC, INFO_DST, DATA, HEARTBEAT_FRAG))
        while size < 60000:
            if kind == ACKNACK:  # A count of 0 is answered each time.
                part = acknack(reader, writer, 1, 0, b"", 0)
            elif kind == INFO_DST:
                part = info_dst(self.peer.node)
            elif kind == DATA:
                part = data(reader, writer, 1, CDR_LE)
            else:
                part = self.forge.body(kind, reader, writer)
            parts.append(part)
            size += len(part)
        return self.peer.to_node(*parts)

    def packets(self):
        dice = self.dice
        while True:
            if self.left <= 0:
                self._renew()
            for message in self._some():
                self.left -= 1
                yield self.peer, message

    def _some(self):
        dice, peer, forge = self.dice, self.peer, self.forge
        writer = dice.choice(self.writers)
        which = dice.random()
        if which < 0.30:  # Every kind, under the names of connected endpoints.
            reader, number = dice.choice(self.pairs)
            parts = [forge.body(dice.choice(KINDS), dice.choice((reader, reader, UNKNOWN)), number) for _ in range(dice.choice((1, 1, 2, 4)))]
            # Keep one of two kinds of writer usable: its numbers do not jump.
            if number in (PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER) and dice.random() < 0.8:
                parts = [part for part in parts if part[0] not in (HEARTBEAT, GAP)] or [submessage(PAD, b"")]
            yield peer.to_node(*parts)
        elif which < 0.45:
            yield from self._fragments(writer)
        elif which < 0.50:
            yield from self._disagreement(writer)
        elif which < 0.65:  # Introductions of endpoints with mutated parameters.
            sedp = peer.announced[dice.choice((PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER))]
            ours = (0x900 + dice.randrange(64)) << 8 | (3 if sedp.number == PUBLICATIONS_WRITER else 4)
            topic = dice.choice([found[0] for found in peer.found.values()])
            valid = endpoint(peer.prefix, ours, topic, "std_msgs::msg::dds_::String_", True, True)[4:-4]
            if dice.random() < 0.1:
                valid = parameter(0x5A, peer.prefix + entity(ours)) + parameter(0x71, b"\0\0\0\x03")
            yield self._deliver(sedp, forge.parameters(valid), flags=dice.choice((5, 5, 5, 9)))
        elif which < 0.85:  # Payloads of the wrong type.
            inline, flags = forge.inline()
            yield self._deliver(writer, forge.payload(), flags=5 | flags, inline=inline)
        elif which < 0.99:
            yield forge.flipped(dice.choice(self.valid))
        else:
            yield self._storm()


# ---- The parts ---------------------------------------------------------------------------------------------------------------------


class Attack:
    """Runs the parts and keeps their figures."""

    #: Maximum growth by mutated packets in MiB, including the first tenth; tables and buffers of a working stack are far below.
    MAX_EVER = 192
    #: Lease of forged participants in seconds.
    LEASE = 10

    def __init__(self, process, seed, report=print):
        self.process, self.seed, self.report = process, seed, report
        self.sender = Sender(process)
        self.faults = []

    def _rows(self, title):
        self.report(f"\n{title}\n{'packets':>9} {'MiB sent':>9} {'RSS MiB':>9} {'HWM MiB':>9} {'drops':>7} {'CPU s':>7} {'s':>7}")

    def _row(self, since, drops, cpu):
        rss, most = self.process.memory()
        self.report(
            f"{self.sender.sent:9} {self.sender.bytes / 2**20:9.1f} {rss:9.1f} {most:9.1f} {self.process.drops() - drops:7} "
            f"{self.process.seconds() - cpu:7.1f} {time.monotonic() - since:7.1f}"
        )
        return rss

    def _mutated(self, title, packets, count, growth):
        """Sends `count` packets and checks memory after each tenth."""
        self._rows(title)
        since, drops, cpu = time.monotonic(), self.process.drops(), self.process.seconds()
        self.sender.sent = self.sender.bytes = 0
        dice = random.Random(self.seed)
        before, warm = self.process.memory()[0], None
        for n in range(count):
            where, message = next(packets)
            self.sender.send(where, message, dice.choice(self.sender.ports))
            if (n + 1) % max(1, count // 10) == 0:
                self.sender.settle()
                rss = self._row(since, drops, cpu)
                most = self.process.memory()[1]
                if most - before > self.MAX_EVER:
                    self.faults.append(f"{title}: memory grew to {most:.1f} MiB, from {before:.1f} (at most {self.MAX_EVER} MiB more)")
                    return
                if warm is None:
                    warm = rss
                if rss - warm > growth:
                    self.faults.append(f"{title}: memory grew by {rss - warm:.1f} MiB after the first tenth (at most {growth} MiB)")
                    return

    def unmatched(self, count, growth):
        dice = random.Random(f"{self.seed} unmatched")
        peer = Participant(random.Random(f"{self.seed} scout"), self.sender)
        try:
            peer.connected()
            ids, node = [*peer.found], peer.node
        finally:
            peer.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as where:
            where.bind(("127.0.0.1", 0))
            self._mutated("unmatched peer", ((where, message) for message in unmatched_packets(dice, ids, node)), count, growth)

    def matched(self, count, growth):
        matched = Matched(random.Random(f"{self.seed} matched"), self.sender)
        try:
            self._mutated("matched peer", ((peer.socket, message) for peer, message in matched.packets()), count, growth)
            self.report(f"{matched.peers} peers, of the last one {len(matched.writers)} writers and {len(matched.readers)} readers")
        finally:
            matched.close()

    def fragments(self, megabytes, growth):
        """Sends large samples that are never completed."""
        before = self.process.memory()[0]
        self._rows("fragments of samples that are never completed")
        since, drops, cpu = time.monotonic(), self.process.drops(), self.process.seconds()
        self.sender.sent = self.sender.bytes = 0
        peer = Participant(random.Random(f"{self.seed} fragments"), self.sender).connected()
        try:
            writers = [writer for writer in peer.writers.values() if writer.is_reliable]
            numbers = {writer.number: writer.last + 1 for writer in writers}
            peak, step, size, n = before, max(1, megabytes // 10), 60000, 0
            while self.sender.bytes < megabytes << 20:
                # Each writer in turn starts four samples of the maximum size.
                writer = writers[n // (4 * 538) % len(writers)]
                sample, part = numbers[writer.number] + n % 4, 2 + n // 4 % 538
                total = 31 << 20
                self.sender.send(
                    peer.socket,
                    peer.to_node(data_frag(writer.reader, writer.number, sample, part, 1, size, total, b"\x43" * size)),
                    self.sender.ports[n % len(self.sender.ports)],
                )
                n += 1
                if n % (step * 17) == 0:
                    self.sender.settle()
                    peak = max(peak, self._row(since, drops, cpu))
            self.sender.settle()
            peak = max(peak, self._row(since, drops, cpu))
        finally:
            peer.close()
        self.report(f"at most {peak - before:.1f} MiB more")
        if peak - before > growth:
            self.faults.append(f"fragments: memory grew by {peak - before:.1f} MiB (at most {growth} MiB)")

    def participants(self, count):
        """Announces forged participants, and counts those that the node writes to."""
        dice = random.Random(f"{self.seed} participants")
        before, kept, known = self.process.memory()[0], [], set()
        self._rows("announcements of distinct participants")
        since, drops, cpu = time.monotonic(), self.process.drops(), self.process.seconds()
        self.sender.sent = self.sender.bytes = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as where:
            where.bind(("127.0.0.1", 0))
            where.settimeout(0.02)
            port = where.getsockname()[1]

            def listen(seconds):
                """Listens for that long, or until the node has written to every participant."""
                end = time.monotonic() + seconds
                while time.monotonic() < end and len(known) < n + 1:
                    try:
                        message, _ = where.recvfrom(65536)
                    except TimeoutError:
                        continue
                    known.update(body[:12] for kind, _, body in submessages_of(message) if kind == INFO_DST)

            for n in range(count):
                prefix = CYCLONE + dice.randbytes(10)
                message = packet(prefix, data(UNKNOWN, SPDP_WRITER, 1, announcement(prefix, port, lease=self.LEASE)))
                for to in self.sender.ports:
                    self.sender.send(where, message, to)
                if n % 16 == 15:
                    # A full queue drops announcements. Beyond the node's limit there are no answers.
                    listen(0.5)
                if (n + 1) % max(1, count // 10) == 0:
                    self.sender.settle()
                    kept.append(self._row(since, drops, cpu))
                    if len(known) < n // 2:
                        break
            listen(1)
        # Honest peers may be rejected before.
        time.sleep(self.LEASE + 2)
        self._flooded("participant", before, kept, len(known), n + 1)

    def endpoints(self, count):
        """Announces endpoints of one participant."""
        before, kept = self.process.memory()[0], []
        self._rows("announcements of distinct endpoints of one participant")
        since, drops, cpu = time.monotonic(), self.process.drops(), self.process.seconds()
        self.sender.sent = self.sender.bytes = 0
        peer = Participant(random.Random(f"{self.seed} endpoints"), self.sender).connected()
        try:
            sedp = peer.announced[PUBLICATIONS_WRITER]
            number = sedp.last
            for n in range(count):
                number += 1
                payload = endpoint(peer.prefix, (0x10000 + n) << 8 | 3, f"rt/forged_{n}", "std_msgs::msg::dds_::String_", True, True)
                message = peer.to_node(heartbeat(UNKNOWN, sedp.number, number, number, 1000 + n), data(sedp.reader, sedp.number, number, payload))
                for port in self.sender.ports[:2]:
                    self.sender.send(peer.socket, message, port)
                if (n + 1) % max(1, count // 10) == 0:
                    self.sender.settle()
                    kept.append(self._row(since, drops, cpu))
        finally:
            peer.close()
        self._flooded("endpoint", before, kept, None, count)

    def _flooded(self, what, before, kept, known, sent):
        """Reports the cost of a flood, which is lower if the allocator had free memory."""
        taken, most = sent if known is None else known, max(0, max(kept) - before)
        self.report(
            f"{sent} {what}s announced{'' if known is None else f', {known} taken'}: {most:.1f} MiB more at most, {most * 2**20 / max(1, taken):.0f} bytes each, "
            f"{max(0, self.process.memory()[0] - before):.1f} MiB once they are gone"
        )


def still_works(domain):
    """Checks that an honest peer's description becomes an asset, and that its call is answered."""
    import ros_peer
    from ros_node import box, description

    with ros_peer.Peer(domain) as peer:
        assets = peer.subscription("/urdf_usd/asset", ros_peer.Asset, latched=True, depth=100)
        name = f"honest_{random.randrange(10**9)}"
        description(peer, box(name))
        assets.wait(lambda asset: asset.robot == name, 60)
        answer = peer.call("/urdf_usd/get_parameters", ros_peer.GetParameters, ros_peer.GetParameters.request(names=["settle_time"]), 60)
        assert len(answer.values) == 1


PARTS = ("unmatched", "matched", "fragments", "participants", "endpoints")


def run(domain, pid, *, parts=PARTS, packets=100_000, seed=1, growth=32, megabytes=512, held=192, floods=2000, report=print):
    """Runs the attack; returns the checks that failed."""
    process = Process(pid)
    attack = Attack(process, seed, report)
    report(f"process {pid}, ports {attack.sender.ports}, seed {seed}")
    try:
        for part in parts:
            match part:
                case "unmatched":
                    attack.unmatched(packets, growth)
                case "matched":
                    attack.matched(packets, growth)
                case "fragments":
                    attack.fragments(megabytes, held)
                case "participants":
                    attack.participants(floods)
                case "endpoints":
                    attack.endpoints(floods)
            if attack.faults:
                return attack.faults
            still_works(domain)
            report(f"after {part}: an honest peer is served, RSS {process.memory()[0]:.1f} MiB")
    except Dead as error:
        attack.faults.append(f"{part}: {error}")
    except TimeoutError as error:
        attack.faults.append(f"after {part}: an honest peer is not served: {error}")
    return attack.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # Higher domains use ports in Linux's ephemeral range.
    parser.add_argument("--domain", type=int, default=100, choices=range(102), metavar="0 … 101")
    parser.add_argument("--pid", type=int, help="of the node; without it, one is started")
    parser.add_argument("--parts", default=",".join(PARTS), help="(default: %(default)s)")
    parser.add_argument("--packets", type=int, default=100_000, help="mutated packets of each peer (default: %(default)s)")
    parser.add_argument("--floods", type=int, default=2000, help="forged participants and endpoints (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=512, help="of fragments (default: %(default)s)")
    parser.add_argument("--growth", type=float, default=32, help="MiB that mutated packets may add after the first tenth (default: %(default)s)")
    parser.add_argument("--held", type=float, default=192, help="MiB that unfinished samples may hold (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--address-space", type=float, help="GiB that a node started here may map (RLIMIT_AS), to spare the machine")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")

    node, pid = None, options.pid
    if pid is None:
        from ros_node import Node

        folder = Path(tempfile.mkdtemp())
        node = Node(options.domain, folder / "out", folder / "log.txt", environment={"ROS_LOG_DIR": str(folder / "logs")})
        pid = node.process.pid
        if options.address_space:
            import resource

            most = int(options.address_space * 2**30)
            resource.prlimit(pid, resource.RLIMIT_AS, (most, most))
        node.logged("listening")
        print(f"log: {node.log_path}")
    try:
        faults = run(
            options.domain, pid, parts=parts, packets=options.packets, seed=options.seed, growth=options.growth,
            megabytes=options.megabytes, held=options.held, floods=options.floods,
        )  # fmt: skip
    finally:
        if node is not None:
            code = node.process.poll()
            node.kill()
            if code is not None:
                print(f"the node ended with {code}; the end of its log:\n{node.log[-2000:]}")
    for fault in faults:
        print(f"FAILED {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
