#!/usr/bin/env python3
"""Reads the Bloom filters of github.com/seed79a3ff49/bloom, as docs/format.md describes them.

    f = load("seen.bloom")          # or read(data); text is base64
    f.contains("https://go.dev/")   # str (its UTF-8) or bytes
    f.info                          # n, p, hash, comment: what it was made for
    f.which("key")                  # of a bank: the numbers of the members that may hold the key

    python3 bloom.py FILE < keys    # writes true or false for each line, which LF ends

False is certain. True is wrong as often as the filter's rate says. Damaged bytes raise a
ValueError. All checksums take a second for 10 MB; load(path, verify=False) leaves out
those of the filter's words. Needs Python 3.8 and nothing else.
"""
import collections
import itertools
import struct
import sys
import time

M64 = (1 << 64) - 1
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
Info = collections.namedtuple("Info", "n p hash comment")


TABLE = list(range(256))
for _ in range(8):
    TABLE = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in TABLE]


def need(ok, message):
    if not ok:
        raise ValueError(message)


def crc(data, value=0, table=TABLE):
    value ^= 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def rotl(x, r):
    return (x << r | x >> 64 - r) & M64


def mix(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


def digest(key):
    key = key.encode("utf-8") if isinstance(key, str) else key
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    whole = len(key) & ~15
    for a, b in struct.iter_unpack("<QQ", key[:whole]):
        h1 ^= rotl(a * c1 & M64, 31) * c2 & M64
        h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) & M64
        h2 ^= rotl(b * c2 & M64, 33) * c1 & M64
        h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) & M64
    a, b = struct.unpack("<QQ", bytes(key[whole:]).ljust(16, b"\0"))
    h1 ^= rotl(a * c1 & M64, 31) * c2 & M64 ^ len(key)
    h2 ^= rotl(b * c2 & M64, 33) * c1 & M64 ^ len(key)
    h1, h2 = mix(h1 + h2 & M64), mix(h1 + 2 * h2 & M64)
    return h1 + h2 & M64, h1 + 2 * h2 & M64


def guava_bits(h1, h2, k, m):
    for _ in range(k):
        yield (h1 & M64 >> 1) % m
        h1 = h1 + h2 & M64


def parse_trailer(head, body, trailer, verify):
    need(36 <= len(trailer) <= 4388 and len(trailer) % 8 == 4, "no trailer has %d bytes" % len(trailer))
    sum1, length, magic, sum2 = struct.unpack(">IH6sI", trailer[-16:])
    need(magic == b"bloom\1" and length == len(trailer), "the filter is followed by no trailer")
    need(sum1 == crc(trailer[:-16], crc(head)), "the checksum of header and info is wrong")
    need(not verify or sum2 == crc(trailer[:-4], crc(body, crc(head))), "the checksum is wrong")
    n, p, middle, comment = struct.unpack(">QdHH", trailer[:20])
    text, end = trailer[20:-16], middle + comment
    need(middle <= 255 and comment <= 4096 and (end + 7) // 8 * 8 == len(text), "texts of wrong lengths")
    need(0 <= p < 1 and not any(text[end:]), "P or the end of the info is wrong")
    return Info(n, p, str(text[:middle], "utf-8"), str(text[middle:end], "utf-8"))


class Frame:
    def __init__(self, data, verify=True, more=False):
        head = 8 + struct.calcsize(self.form)
        need(len(data) >= head, "truncated")
        version, trailer = struct.unpack("<HH", data[4:8])
        need(version == 1, "version %d" % version)
        count = self.check(*struct.unpack(self.form, data[8:head]))
        need(0 <= count <= 1 << 37, "%d words" % count)
        end, self.size = head + 8 * count, head + 8 * count + trailer
        need(len(data) == self.size or more and len(data) > self.size, "%d bytes, not %d" % (len(data), self.size))
        self.words = data[head:end]
        self.info = parse_trailer(data[:head], self.words, data[end : self.size], verify)

    def contains(self, key):
        return self.contains_hash(*digest(key))

    def at(self, i):
        return self.words[i >> 3] >> (i & 7) & 1


class Guava(Frame):
    def __init__(self, data, verify=True):
        need(len(data) >= 6, "truncated")
        self.strategy, self.k, count = struct.unpack(">BBI", data[:6])
        need(self.strategy <= 1 and self.k > 0 and 1 <= count < 1 << 31, "no header")
        end = 6 + 8 * count
        self.m, self.words, self.info = 64 * count, data[6:end], Info(0, 0.0, "", "")
        need(len(data) >= end, "truncated")
        if len(data) > end:
            self.info = parse_trailer(data[:6], self.words, data[end:], verify)

    def contains_hash(self, h1, h2):
        bits = guava_bits(h1, h2, self.k, self.m) if self.strategy else self.mitz32(h1)
        return all(self.at(i ^ 56) for i in bits)  # words are big-endian

    def mitz32(self, h1):
        c = (h1 + i * (h1 >> 32) & 0xFFFFFFFF for i in range(1, self.k + 1))
        return ((x ^ 0xFFFFFFFF if x >> 31 else x) % self.m for x in c)


class Blocked(Frame):
    form = "<QQQ"

    def check(self, blocks, lines, reserved):
        need(1 <= blocks <= 1 << 35 and 1 <= lines <= 4 and reserved == 0, "parameters out of range")
        self.blocks, self.lines = blocks, lines
        return 4 * blocks

    def contains_hash(self, h1, h2):
        values = (h1, h2, h1 + h2 & M64, rotl(h1, 32) + h2 & M64)
        for i in range(self.lines):
            rest = values[i ^ 1] >> 32 if self.blocks > 1 << 30 else 0
            block = (values[i] >> 32 << 32 | rest) * self.blocks >> 64
            bits = (32 * j + ((values[i] * salt & 0xFFFFFFFF) >> 27) for j, salt in enumerate(SALTS))
            if not all(self.at(256 * block + bit) for bit in bits):
                return False
        return True


class Growing(Frame):
    form = "<QdQ"

    def __init__(self, data, verify=True):
        super().__init__(data, verify, more=True)
        self.shards, rest = [], data[self.size :]
        for (layers,) in struct.iter_unpack("<Q", self.words):
            need(1 <= layers <= 64, "a shard has %d layers" % layers)
            self.shards.append([])
            for _ in range(layers):
                need(rest[:4] == b"BLMB", "a layer is no blocked filter")
                self.shards[-1].append(Blocked(rest, verify, more=True))
                rest = rest[self.shards[-1][-1].size :]
        need(not rest, "%d bytes too many" % len(rest))

    def check(self, n, p, shards):
        need(n <= 1 << 40 and 1e-9 <= p < 1 and shards == 16, "parameters out of range")
        return shards

    def contains_hash(self, h1, h2):
        shard = ((h1 ^ rotl(h2, 19)) * 0x9E3779B97F4A7C15 & M64) >> 60
        return any(layer.contains_hash(h1, h2) for layer in self.shards[shard])


class Counting(Frame):
    form = "<QQ"

    def check(self, words, k):
        need(1 <= words < 1 << 31 and 1 <= k <= 255, "parameters out of range")
        self.m, self.k = 64 * words, k
        return 4 * words

    def contains_hash(self, h1, h2):
        at = (64 * (b // 64 * 4 + b % 4) + b % 64 // 4 * 4 for b in guava_bits(h1, h2, self.k, self.m))
        return all(self.words[i >> 3] >> (i & 7) & 15 for i in at)


class Window(Frame):
    form = "<5Qq3Qd"
    now = staticmethod(time.time_ns)  # nanoseconds since 1970

    def check(self, span, generations, k, blocks, lanes, seconds, nanoseconds, generation, capacity, rate):
        need(1 <= generations <= 63 and generations * 10**6 <= span < 1 << 63, "span of %d ns" % span)
        self.width = max(8, 1 << generations.bit_length())
        need(k in range(2, 256, 2) and blocks > 0 and capacity > 0 and 0 < rate < 1, "parameters out of range")
        need(lanes in range(1 if blocks == 1 else 8192, 16385) and lanes * self.width % 64 == 0, "%d lanes" % lanes)
        need(nanoseconds < 10**9 and generation < 1 << 63, "time out of range")
        self.span, self.generations, self.k, self.blocks, self.lanes = span, generations, k, blocks, lanes
        self.epoch, self.generation = seconds * 10**9 + nanoseconds, generation
        return blocks * lanes * self.width // 64

    def contains_hash(self, h1, h2):
        at = max(self.generation, (self.now() - self.epoch) * self.generations // self.span)
        seen = sum(1 << g % self.width for g in range(max(0, at - self.generations), self.generation + 1))
        block, x = h1 * self.blocks >> 64, h1 * self.blocks & M64
        for _ in range(self.k // 2):
            for half in (x & 0xFFFFFFFF, x >> 32):
                bit = (block * self.lanes + (half * self.lanes >> 32)) * self.width
                seen &= int.from_bytes(self.words[bit >> 3 : bit + self.width >> 3], "little")
            x, h2 = x + h2 & M64, h2 + 0x9E3779B96A09E667 & M64
        return seen != 0


class Flower(Frame):
    form = "<QQQ"

    def check(self, slots, ways, bits):
        need(bits in (8, 16, 32) and 1 <= ways <= 64 and ways <= slots <= (1 << 37) * 64 // bits, "parameters out of range")
        self.slots, self.ways, self.bytes = slots, ways, bits // 8
        return (slots * bits + 63) // 64

    def contains_hash(self, h1, h2):
        for way in range(self.ways):
            n = self.slots // self.ways + (way < self.slots % self.ways)
            slot, rest = h1 * n >> 64, h1 * n & M64
            value = self.words[(slot * self.ways + way) * self.bytes :][: self.bytes]
            if int.from_bytes(value, "little") == (rest * ((1 << 8 * self.bytes) - 1) >> 64) + 1:
                return True
            h1 = h1 * 0x5851F42D4C957F2D + h2 & M64
        return False


class Bank(Frame):
    form = "<QQQQ"

    def __init__(self, data, verify=True):
        super().__init__(data, verify)
        need(not any(self.words[: self.start]), "padding")
        for s, r in itertools.product(range(self.segments) if verify else (), range(self.m)):
            row, (check,) = self.row(s, r)[:-4], struct.unpack("<I", self.row(s, r)[-4:])
            need(check == crc(row, crc(struct.pack("<QQ", s, r))), "the checksum of row %d is wrong" % r)
            need(int.from_bytes(row, "little") >> min(self.members - 32736 * s, 32736) == 0, "bits without a member")
        self.names, end, table = [], 0, 12 * self.members * (self.name_bytes > 0)
        names = self.words[len(self.words) - (self.name_bytes + 7) // 8 * 8 :]
        for i, (to, check) in enumerate(struct.iter_unpack("<QI", names[:table])):
            need(end <= to <= min(end + 65535, self.name_bytes - table), "name %d has no place" % i)
            name = names[table + end : table + to]
            need(check == crc(name, crc(struct.pack("<QQQ", i, end, to))), "the checksum of name %d is wrong" % i)
            self.names.append(bytes(name).decode("utf-8", "replace"))
            end = to
        need(table + end == self.name_bytes and not any(names[self.name_bytes :]), "the names do not fill their place")

    def check(self, size, k, members, names):
        need(1 <= size < 1 << 31 and 1 <= k <= 255 and members <= 1 << 37, "parameters out of range")
        need(names == 0 or names >= 12 * members > 0, "%d bytes of names" % names)
        self.m, self.k, self.members, self.name_bytes = 64 * size, k, members, names
        full, rest = divmod(members, 32736)
        self.last = 8 << ((rest + 31) // 64).bit_length()  # bytes of a row of the last segment, if it is not full
        self.start, self.segments = -40 % (4096 if full else self.last), full + (rest > 0)
        return (self.start + self.m * (4096 * full + self.last * (rest > 0)) + names + 7) // 8

    def row(self, s, r):
        size = 4096 if 32736 * (s + 1) <= self.members else self.last
        return self.words[self.start + s * self.m * 4096 + r * size :][:size]

    def contains(self, key):
        return bool(self.which(key))

    def which(self, key):
        (h1, h2), found = digest(key), []
        for s in range(self.segments):
            left = (1 << min(self.members - 32736 * s, 32736)) - 1
            for r in guava_bits(h1, h2, self.k, self.m):
                left &= int.from_bytes(self.row(s, r), "little")
            found += [32736 * s + i for i in range(left.bit_length()) if left >> i & 1]
        return found


def read(data, verify=True):
    data = memoryview(bytes(data))
    kinds = {b"B": Blocked, b"G": Growing, b"C": Counting, b"W": Window, b"F": Flower, b"K": Bank}
    kind = kinds.get(bytes(data[3:4])) if data[:3] == b"BLM" else Guava
    need(kind, "kind %r is unknown" % bytes(data[3:4]))
    return kind(data, verify)


def load(path, verify=True):
    with open(path, "rb") as file:
        return read(file.read(), verify)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bloom.py FILE < keys")
    try:
        f = load(sys.argv[1])
    except (ValueError, OSError) as error:
        sys.exit("bloom.py: %s: %s" % (sys.argv[1], error))
    for line in sys.stdin.buffer:
        print("true" if f.contains(line[:-1] if line.endswith(b"\n") else line) else "false")


if __name__ == "__main__":
    main()
