"""Reads the filters of docs/format.md, and reports which keys they may contain. It was written from that page alone.

    f = bloom.load("words.bloom")   # maps the file; check=False is instant for gigabytes. Or loads(bytes), from_text(base64), from_parquet(bitset, xxh64)
    f.info.hash                     # how keys were hashed: look at it before the first look-up
    f.contains("hello")             # bytes, a string as UTF-8, or an integer as 8 little-endian bytes
    f.which("hello")                # the numbers of the members of a bank that may contain the key
    bloom.patched(f, patch)         # the filter that a patch makes of f
    python3 bloom.py FILE < lines   # true or false for each line; the list of members if FILE is a bank
    python3 bloom.py FILE PATCH < lines

False is certain only for a key that is hashed in the same way as the filter's keys. The keys of a list that
`bloom build --hex` made are bytes, not their digits: call f.contains(bytes.fromhex(line)). f.key(line) makes the key of
a line for every list of the command bloom, and raises ValueError for other lists. The program above uses f.key.

Bytes that are not a filter raise ValueError. All bytes are checked, and none are copied. The names come from the
page. Some upper limits are not checked: only a filter larger than memory can exceed them.
"""
import base64
import mmap
import os
import re
import struct
import sys
import time
from collections import namedtuple
from urllib.parse import parse_qs, unquote_to_bytes

Info = namedtuple("Info", "n p hash comment meta")

def require(condition, message="a parameter is out of range"):
    if not condition:
        raise ValueError(message)

M32, M64 = 2**32 - 1, 2**64 - 1

def rotl(x, r):
    return (x << r | x >> 64 - r) & M64

# Number i of width bits is bits i*width to i*width + width - 1 of an array of words.
def number(words, i, width, order="little"):
    word, bit = divmod(i * width, 64)
    return int.from_bytes(words[8 * word:8 * word + 8], order) >> bit & 2**width - 1

CRC_TABLE = range(256)
for _ in range(8):
    CRC_TABLE = [x >> 1 ^ (0x82F63B78 if x & 1 else 0) for x in CRC_TABLE]

def crc(*parts):
    c = M32
    for part in parts:
        at = 0
        while len(part) - at >= 64 * STRIDE:
            lanes = min((len(part) - at) // STRIDE, 16384)
            c = crc_lanes(c, part[at:at + lanes * STRIDE], lanes)
            at += lanes * STRIDE
        for byte in part[at:]:
            c = c >> 8 ^ CRC_TABLE[(c ^ byte) & 255]
    return c ^ M32

# A long part is cut into lanes of STRIDE bytes. Each step looks up one byte of every lane, with operations on whole
# strings. The states of the lanes are four strings, one for each byte of a state.
STRIDE = 1024
CRC_PLANES = [bytes(x >> shift & 255 for x in CRC_TABLE) for shift in (0, 8, 16, 24)]

def crc_lanes(c, data, lanes):
    data = bytes(data)
    states = [c >> shift & 255 for shift in (0, 8, 16, 24)]
    planes = [bytes([state]) + bytes(lanes - 1) for state in states]
    as_number, size = int.from_bytes, lanes
    numbers = [as_number(plane, "little") for plane in planes]
    for i in range(STRIDE):
        index = (numbers[0] ^ as_number(data[i::STRIDE], "little")).to_bytes(size, "little")
        looked = [as_number(index.translate(table), "little") for table in CRC_PLANES]
        numbers = [numbers[1] ^ looked[0], numbers[2] ^ looked[1], numbers[3] ^ looked[2], looked[3]]
    total = 0
    for state in zip(*(number.to_bytes(size, "little") for number in numbers)):
        total = crc_shift(total) ^ int.from_bytes(bytes(state), "little")
    return total

def crc_shift(c):
    """The state c after STRIDE zero bytes."""
    return SHIFTS[0][c & 255] ^ SHIFTS[1][c >> 8 & 255] ^ SHIFTS[2][c >> 16 & 255] ^ SHIFTS[3][c >> 24]

def shifts():
    bits = []
    for bit in range(32):
        c = 1 << bit
        for _ in range(STRIDE):
            c = c >> 8 ^ CRC_TABLE[c & 255]
        bits.append(c)
    for part in range(4):
        table = [0]
        for bit in bits[8 * part:8 * part + 8]:
            table += [x ^ bit for x in table]
        yield table

SHIFTS = list(shifts())

# The digest
def key_bytes(key):
    """The bytes of a key. Other values, and integers of more than 64 bits, raise an error."""
    if isinstance(key, int) and not isinstance(key, bool):
        require(-2**63 <= key < 2**64, "an integer key has more than 64 bits")
        return (key & M64).to_bytes(8, "little")
    return line_bytes(key)

def line_bytes(line):
    if isinstance(line, str):
        return line.encode()
    view = memoryview(line)
    if view.itemsize != 1 or view.ndim != 1 or not view.contiguous:
        raise TypeError("a key is bytes, text or an integer")
    return bytes(view)

def murmur3(key):
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    for at in range(0, len(key) - 15, 16):
        a, b = struct.unpack_from("<QQ", key, at)
        h1 = (rotl(h1 ^ rotl(a * c1 & M64, 31) * c2 & M64, 27) + h2) * 5 + 0x52DCE729 & M64
        h2 = (rotl(h2 ^ rotl(b * c2 & M64, 33) * c1 & M64, 31) + h1) * 5 + 0x38495AB5 & M64
    a, b = struct.unpack("<QQ", key[len(key) // 16 * 16:].ljust(16, b"\0"))
    h1 ^= rotl(a * c1 & M64, 31) * c2 & M64 ^ len(key)
    h2 ^= rotl(b * c2 & M64, 33) * c1 & M64 ^ len(key)
    h1 = h1 + h2 & M64
    h1, h2 = mix(h1), mix(h1 + h2 & M64)
    return h1 + h2 & M64, h1 + 2 * h2 & M64

def mix(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33

class Filter:
    """The base class of all filters. A Filter itself is the zero value, which contains nothing."""
    info = Info(0, 0.0, "", "", "")
    digest = staticmethod(murmur3)

    def key(self, line):
        """The key that the command bloom makes from a line for this filter. The line is bytes or a string."""
        shard = parse_qs(self.info.meta).get("shard")
        require(not shard, "the filter is shard %s of a list: bloom check reads the files of all shards" % (shard or [""])[0])
        hash = self.info.hash
        require(hash in WAYS, 'keys cannot be made from lines, because info.hash is "%s": '
                'make the keys in a program, and pass them to contains' % hash)
        return WAYS[hash](line_bytes(line))

    def key_part(self):
        """Describes the part of a line that is a key, with "" for a whole line. The second result is a function that
        reports whether a line is probably more than that part."""
        facts = parse_qs(self.info.meta, encoding="latin-1")
        number, name = facts.get("field", [""])[0], facts.get("json", [""])[0]
        separators = "".join(facts.get("sep", ["\t,"])).encode("latin-1")
        if name:
            return '"%s" of JSON objects' % name.encode("latin-1").decode(), lambda line: line.lstrip().startswith(b"{")
        if number == "several":
            return "several parts of lines", lambda line: False
        if not re.fullmatch("0*[1-9][0-9]*", number):
            return "", lambda line: False
        return "field %s of lines" % number, lambda line: any(byte in line for byte in separators)

    def contains(self, key):
        return self.contains_digest(*self.digest(key_bytes(key)))

    def contains_digest(self, h1, h2):
        return False

# Guava's form
class Guava(Filter):
    def __init__(self, data, check=True):
        require(len(data) >= 6, "the header is truncated")
        self.strategy, self.k, size = struct.unpack_from(">BBI", data)
        start = 6 + 8 * size
        require(self.k >= 1 and size >= 1 and len(data) >= start, "k or the number of words is 0, or the words are truncated")
        self.m, self.words = 64 * size, data[6:start]
        if len(data) > start:
            self.info = read_trailer(data, 6, start, check)

    def contains_digest(self, h1, h2):
        bits = strategy_1(h1, h2, self.k, self.m)
        if self.strategy == 0:
            # Guava's sums are signed: a sum of 2^31 or more is negative there, and ~c inverts its 32 bits.
            sums = [(h1 & M32) + i * (h1 >> 32) & M32 for i in range(1, self.k + 1)]
            bits = [(c ^ M32 if c >= 2**31 else c) % self.m for c in sums]
        return all(number(self.words, bit, 1, "big") for bit in bits)

def strategy_1(h1, h2, k, m):
    return [(h1 + i * h2) % 2**63 % m for i in range(k)]

# The trailer
def read_trailer(data, head, start, check):
    """The Info of data. head is the number of bytes before the words. The trailer begins at start. The checksum of all
    bytes is verified only if check is true."""
    size, end = len(data) - start, len(data) - 16
    require(data[-10:-4] == b"bloom\1", "a newer version wrote the trailer" if data[-10:-5] == b"bloom" else "the end is not a trailer")
    require(size >= 36 and size % 8 == 4, "a trailer has a wrong length")
    n, p, flags, hash_length, comment_length = struct.unpack_from(">QdBBH", data, start)
    require(flags < 16, "a newer version wrote the trailer")
    require(0 <= p < 1 and comment_length <= 4096, "P is outside [0, 1), or the comment is longer than 4096 bytes")
    texts, zeros = data[start + 20:end], hash_length + comment_length
    comment, meta = str(texts[hash_length:zeros], "utf-8"), ""
    if flags & 1:
        meta_length = int.from_bytes(texts[zeros:zeros + 2], "big")
        require(1 <= meta_length <= 4096, "Meta has a wrong length")
        meta = str(texts[zeros + 2:zeros + 2 + meta_length], "utf-8")
        zeros += 2 + meta_length
    rest = zeros + 7 & -8
    require(rest <= len(texts) and not any(texts[zeros:rest]),
            "the trailer is too short for the texts of the Info, or the bytes after them are not zero")
    head_crc, length, _, whole_crc = struct.unpack_from(">IH6sI", data, end)
    require(length == size, "the length that the trailer gives is wrong")
    require(head_crc == crc(data[:head], data[start:end]), "bytes are damaged")
    require(not check or whole_crc == crc(data[:-4]), "bytes are damaged")
    pairs = [META_PAIR.fullmatch(pair) for pair in meta.split("&")] if meta else []
    require(all(pairs), "Meta is not a list of pairs")
    names = [unquote_to_bytes(pair[1].replace("+", " ")) for pair in pairs]
    require(names == sorted(names), "the names of Meta do not ascend")
    return Info(n, p, str(texts[:hash_length], "utf-8"), comment, meta)

META_TEXT = r"((?:[A-Za-z0-9_.~+-]|%(?:[0189A-F][0-9A-F]|2[1-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]))*)"
META_PAIR = re.compile(META_TEXT + "=" + META_TEXT)

# Frames. Each class below is one kind of frame, made from its parameters. size is its number of words.
def read_frame(data, kinds=None, check=True):
    """The filter of the frame at the start of data, and the bytes after the frame. kinds replaces KINDS."""
    kinds = kinds or KINDS
    require(len(data) >= 8 and data[:3] == b"BLM", "neither a frame nor Guava's form")
    kind, version, zero, trailer = struct.unpack_from("<cBBH", data, 3)
    require(kind in kinds and version == 1 and zero == 0, "the kind or version of the frame is unknown, or byte 5 is not 0")
    form, parameters = kinds[kind]
    head = 8 + struct.calcsize(parameters)
    require(len(data) >= head, "the parameters are truncated")
    f = form(*struct.unpack_from(parameters, data, 8))
    start = head + 8 * f.size
    require(len(data) >= start + trailer, "the words or the trailer is truncated")
    f.words, f.info = data[head:start], read_trailer(data[:start + trailer], head, start, check)
    return f, data[start + trailer:]

class Blocked(Filter):
    SALTS = 0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31
    STEP = 0x9E3779B97F4A7C15

    def __init__(self, blocks, lines, zero):
        require(blocks >= 1 and 1 <= lines <= 4 and zero == 0)
        self.blocks, self.lines, self.size = blocks, lines, 4 * blocks

    def contains_digest(self, h1, h2):
        values = h1, h2 + self.STEP & M64, h1 + h2 + 2 * self.STEP & M64, rotl(h1, 32) + h2 + 3 * self.STEP & M64
        for i, value in enumerate(values[:self.lines]):
            block = (value >> 32) * self.blocks >> 32
            if self.blocks > 2**30:
                block = (value >> 32 << 32 | values[i ^ 1] >> 32) * self.blocks >> 64
            for lane, salt in enumerate(self.SALTS):
                if not number(self.words, 8 * block + lane, 32) >> ((value * salt & M32) >> 27) & 1:
                    return False
        return True

class Growing(Filter):
    def __init__(self, n, p, shards):
        require(n <= 2**40 and 1e-9 <= p < 1 and shards == 16)
        self.shards, self.size = [[] for _ in range(shards)], shards

    def read_rest(self, rest, check):
        """Reads the layers from the bytes after the frame. Returns the bytes after the layers."""
        for layers, count in zip(self.shards, struct.unpack("<16Q", self.words)):
            require(1 <= count <= 64, "a shard has no layers, or too many")
            while len(layers) < count:
                layer, rest = read_frame(rest, check=check)
                require(isinstance(layer, Blocked), "a layer is not blocked")
                layers.append(layer)
        return rest

    def contains_digest(self, h1, h2):
        shard = ((h1 ^ rotl(h2, 19)) * 0x9E3779B97F4A7C15 & M64) >> 60
        return any(layer.contains_digest(h1, h2) for layer in self.shards[shard])

class Counting(Filter):
    def __init__(self, w, k):
        require(w >= 1 and 1 <= k <= 255)
        self.k, self.m, self.size = k, 64 * w, 4 * w

    def contains_digest(self, h1, h2):
        bits = strategy_1(h1, h2, self.k, self.m)
        return all(number(self.words, 16 * (4 * (b // 64) + b % 4) + b % 64 // 4, 4) for b in bits)

class Cuckoo(Filter):
    def __init__(self, m, b, entries):
        require(m >= 1 and 7 <= b <= 33 and entries <= 32)
        self.m, self.b, self.buckets = m, b, -(-4 * b * m // 64)
        self.size, self.list = self.buckets + 1 + 3 * entries, {}

    def read_rest(self, rest, check):
        """Reads the list, and checks it and the buckets."""
        count, *words = struct.unpack("<%dQ" % (self.size - self.buckets), self.words[8 * self.buckets:])
        digests = list(zip(words[::3], words[1::3]))
        self.list = dict(zip(digests, words[2::3]))
        if not check:
            return rest
        require(digests == sorted(self.list) and all(1 <= times <= M32 for times in self.list.values()),
                "the list is out of order, or a count in it is out of range")
        tags = sum(self.slot(i) != 0 for i in range(4 * self.m))
        require(count == tags + sum(self.list.values()), "the number of keys is wrong")
        end = 4 * self.b * self.m
        require(end % 64 == 0 or number(self.words, end // 64, 64) >> end % 64 == 0, "bits after the last bucket are set")
        return rest

    def slot(self, i):
        byte, bit = divmod(i * self.b, 8)
        return int.from_bytes(self.words[byte:byte + 8], "little") >> bit & 2**self.b - 1

    def contains_digest(self, h1, h2):
        tag, i = (h2 * (2**self.b - 1) >> 64) + 1, h1 * self.m >> 64
        x = tag * 0x9E3779B97F4A7C15 & M64
        d = ((x ^ x >> 32) * 0xD6E8FEB86659FD93 & M64) * self.m >> 64
        slots = [4 * bucket + s for bucket in (i, (d - i) % self.m) for s in range(4)]
        return any(self.slot(slot) == tag for slot in slots) or (h1, h2) in self.list

class Window(Filter):
    now = staticmethod(time.time_ns)

    def __init__(self, n, p, span, generations, renew, k, pages, lanes, live, newest, count, full, lost, began, *ends):
        require(n >= 1 and 0 < p < 1 and 1 <= generations <= 31 and renew <= 1)
        require(span == 0 or generations * 10**6 <= span < 2**60)
        require(2 <= k <= 64 and k % 2 == 0)
        require(pages >= 1 and lanes >= 1 and (pages == 1 or lanes >= 4096))
        self.span, self.part = span, -(-span // generations) if span else 2**62
        self.k, self.pages, self.lanes, self.began, self.size = k, pages, lanes, began, pages * lanes
        self.life = span + (self.part if renew else 0)
        require(live <= 64 and newest <= 63)
        self.planes = [(newest - age) % 64 for age in reversed(range(live))]
        self.ends = {plane: end for plane, end in enumerate(ends) if plane in self.planes}
        require(abs(began) <= (2**62 if span else 0) and lost <= began)
        stamps = [self.ends[plane] for plane in self.planes]
        self.open = newest if live and not full >> newest & 1 else None  # the plane that has not ended by count
        require(stamps == sorted(stamps) and all(end >= -2**62 for end in stamps))
        require(all(self.ends[plane] <= began + (self.part if plane == self.open else 1) for plane in self.planes))

    def found_in(self):
        """The bits of the planes that are not dead."""
        now, bits = self.now(), 0
        for plane in self.planes:  # the oldest plane comes first; no plane dies before an older one
            end = self.ends[plane]
            if bits or not self.span or now < end + self.life:
                bits |= 1 << plane
        return bits

    def contains_digest(self, h1, h2):
        found = self.found_in()
        page, x = h1 * self.pages >> 64, h1 * self.pages & M64 ^ 0x9E3779B97F4A7C15
        for _ in range(self.k // 2):
            for half in x & M32, x >> 32:
                found &= number(self.words, page * self.lanes + (half * self.lanes >> 32), 64)
            x = x * 0x9E3779B97F4A7C15 + h2 & M64
        return found > 0

class Flower(Filter):
    def __init__(self, slots, ways, bits):
        require(bits in (8, 16, 32) and 1 <= ways <= 64 and ways <= slots)
        self.slots, self.ways, self.bits, self.size = slots, ways, bits, -(-slots * bits // 64)

    def contains_digest(self, x, step):
        n = self.slots // self.ways
        for w in range(self.ways):
            value = ((x & M32) * (2**self.bits - 1) >> 32) + 1
            if number(self.words, w * n + (x * n >> 64), self.bits) == value:
                return True
            x = (x << 21 & M64 | x >> 43) + step & M64
        return False

class Bank(Filter):
    def __init__(self, w, k, n, names):
        require(w >= 1 and 1 <= k <= 255 and (names == 0 or names >= 12 * n))
        self.k, self.m, self.n, self.names = k, 64 * w, n, names
        self.segments, self.padding = -(-n // 32736), 507 if n >= 32736 else 0
        last = self.segments - 1
        _, rows, q = self.grid(last)
        self.names_at = self.padding + (self.m * 512 * last + self.m // rows * q if n > 0 else 0)
        self.size = self.names_at + -(-names // 8)

    def members(self, segment):
        return min(self.n - 32736 * segment, 32736)

    def grid(self, segment):
        """The words of a row, the rows of a page, and the words of a page."""
        c = self.members(segment)
        s = -(-c // 64)
        g = max(g for g in (1, 2, 4, 8, 16, 32, 64) if g == 1 or g * s <= 511)
        return s, g, g * s if 1 <= c % 64 <= 32 else g * s + 1

    def page(self, segment, p):
        """The bits of a page, in bytes, and its CRC."""
        q = self.grid(segment)[2]
        at = self.padding + 512 * self.m * segment + q * (p + 1)
        return self.words[8 * (at - q):8 * at - 4], number(self.words, 2 * at - 1, 32)

    def row(self, segment, r):
        """The bits of a row as a number."""
        s, g, _ = self.grid(segment)
        bits, _ = self.page(segment, r // g)
        return int.from_bytes(bits[8 * s * (r % g):8 * s * (r % g + 1)], "little")

    def read_rest(self, rest, check):
        """Checks padding, pages and names."""
        if not check:
            return rest
        for segment in range(self.segments):
            s, g, _ = self.grid(segment)
            for p in range(self.m // g):
                bits, check = self.page(segment, p)
                require(check == crc(struct.pack("<QQ", segment, p), bits), "a page is damaged")
                require(not any(bits[8 * s * g:]), "a page has bits beyond its members")
            for r in range(self.m):
                require(self.row(segment, r) >> self.members(segment) == 0, "a page has bits beyond its members")
        table = self.words[8 * self.names_at:]
        texts, begin = table[12 * self.n:self.names], 0
        for member in range(self.n if self.names else 0):
            end, check = struct.unpack_from("<QI", table, 12 * member)
            require(begin <= end <= begin + 65535, "a name has a wrong length")
            require(check == crc(struct.pack("<QQQ", member, begin, end), texts[begin:end]), "a name is damaged")
            begin = end
        require(begin == len(texts), "the names have a wrong length")
        require(not any(self.words[:8 * self.padding]) and not any(table[self.names:]),
                "the bytes before the pages or after the names are not all zero")
        return rest

    def which_digest(self, h1, h2):
        found = []
        for segment in range(self.segments):
            both = -1
            for bit in strategy_1(h1, h2, self.k, self.m):
                both &= self.row(segment, bit)
            found += [32736 * segment + j for j in range(self.members(segment)) if both >> j & 1]
        return found

    def which(self, key):
        return self.which_digest(*self.digest(key_bytes(key)))

    def contains_digest(self, h1, h2):
        return self.which_digest(h1, h2) != []

# Patches
class Patch(Filter):
    def __init__(self, strategy, k, w, changed, r, length, proof):
        require(strategy <= 1 and 1 <= k <= 255 and 1 <= w < 2**31 and changed <= 64 * w and r <= 37)
        require(length <= w and changed <= 64 * length and proof <= M32)
        self.old, self.m, self.changed, self.r, self.size, self.proof = (strategy, k, w), 64 * w, changed, r, length, proof

    def indexes(self):
        """The indexes of the bits that differ."""
        stream = "".join(format(byte, "08b")[::-1] for byte in self.words)
        at, index = 0, -1
        for _ in range(self.changed):
            one = stream.find("1", at)
            low = stream[one + 1:one + 1 + self.r]
            require(one >= 0 and len(low) == self.r, "the stream ends within a gap")
            index += (one - at << self.r | int(low[::-1] or "0", 2)) + 1
            require(index < self.m, "a bit after the filter differs")
            yield index
            at = one + 1 + self.r
        require(len(stream) - at < 64 and "1" not in stream[at:], "bits after the last gap are set, or a word follows")

def patched(old, data):
    """The filter that the patch in data makes from old, a filter in Guava's form. It does not change old."""
    data = memoryview(data)
    patch, rest = read_frame(data, {b"P": (Patch, "<7Q")})
    require(len(rest) == 0, "bytes follow the patch")
    indexes = list(patch.indexes())
    require(isinstance(old, Guava) and (old.strategy, old.k, old.m // 64) == patch.old and crc(old.words) == patch.proof,
            "the patch was made from a different filter")
    words = bytearray(old.words)
    for index in indexes:
        words[index // 64 * 8 + 7 - index % 64 // 8] ^= 1 << index % 8
    new = Guava(struct.pack(">BBI", *patch.old) + words)
    new.info = patch.info._replace(hash=patch.info.hash or old.info.hash)
    return new

# All forms
KINDS = {b"B": (Blocked, "<3Q"), b"G": (Growing, "<QdQ"), b"C": (Counting, "<2Q"), b"U": (Cuckoo, "<3Q"), b"W": (Window, "<Qd10Q66q"),
         b"F": (Flower, "<3Q"), b"K": (Bank, "<4Q")}

def loads(data, check=True):
    data = memoryview(data)
    if data[:1] in (b"\0", b"\1"):
        return Guava(data, check)
    f, rest = read_frame(data, check=check)
    if isinstance(f, (Growing, Bank, Cuckoo)):
        rest = f.read_rest(rest, check)
    require(len(rest) == 0, "bytes follow the filter")
    return f

def load(path, check=True):
    """The filter in a file, which is mapped, not read. With check=False only the head, the lengths and the Info are
    checked. A file of gigabytes then opens at once, and a look-up reads only what it needs, but damaged words are not
    noticed."""
    with open(path, "rb") as file:
        return loads(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), check)

def from_text(text):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text, "the bits after the last byte of the text are not 0")
    return loads(data) if data else Filter()

def from_parquet(bitset, xxh64):
    require(len(bitset) % 32 == 0, "the length of the bitset is not a multiple of 32 bytes")
    f = Blocked(len(bitset) // 32, 1, 0)
    f.words, f.digest = memoryview(bitset), lambda key: (xxh64(key), 0)
    return f

# The ways in which the command bloom makes a key from a line: see WAYS
def without_return(line):
    return line[:-1] if line.endswith(b"\r") else line

# All characters that simple case folding changes in Unicode 15.0.0. An entry is a run of characters: the first and the
# last in hexadecimal, the step, and the number that is added to each
FOLDS = """
41-5a+32 b5+775 c0-d6+32 d8-de+32 100-12e/2+1 132-136/2+1 139-147/2+1 14a-176/2+1 178-121 179-17d/2+1 17f-268 181+210
182-184/2+1 186+206 187+1 189-18a+205 18b+1 18e+79 18f+202 190+203 191+1 193+205 194+207 196+211 197+209 198+1 19c+211
19d+213 19f+214 1a0-1a4/2+1 1a6+218 1a7+1 1a9+218 1ac+1 1ae+218 1af+1 1b1-1b2+217 1b3-1b5/2+1 1b7+219 1b8+1 1bc+1
1c4+2 1c5+1 1c7+2 1c8+1 1ca+2 1cb-1db/2+1 1de-1ee/2+1 1f1+2 1f2-1f4/2+1 1f6-97 1f7-56 1f8-21e/2+1 220-130 222-232/2+1
23a+10795 23b+1 23d-163 23e+10792 241+1 243-195 244+69 245+71 246-24e/2+1 345+116 370-372/2+1 376+1 37f+116 386+38
388-38a+37 38c+64 38e-38f+63 391-3a1+32 3a3-3ab+32 3c2+1 3cf+8 3d0-30 3d1-25 3d5-15 3d6-22 3d8-3ee/2+1 3f0-54 3f1-48
3f4-60 3f5-64 3f7+1 3f9-7 3fa+1 3fd-3ff-130 400-40f+80 410-42f+32 460-480/2+1 48a-4be/2+1 4c0+15 4c1-4cd/2+1
4d0-52e/2+1 531-556+48 10a0-10c5+7264 10c7+7264 10cd+7264 13f8-13fd-8 1c80-6222 1c81-6221 1c82-6212 1c83-1c84-6210
1c85-6211 1c86-6204 1c87-6180 1c88+35267 1c90-1cba-3008 1cbd-1cbf-3008 1e00-1e94/2+1 1e9b-58 1e9e-7615 1ea0-1efe/2+1
1f08-1f0f-8 1f18-1f1d-8 1f28-1f2f-8 1f38-1f3f-8 1f48-1f4d-8 1f59-1f5f/2-8 1f68-1f6f-8 1f88-1f8f-8 1f98-1f9f-8
1fa8-1faf-8 1fb8-1fb9-8 1fba-1fbb-74 1fbc-9 1fbe-7173 1fc8-1fcb-86 1fcc-9 1fd8-1fd9-8 1fda-1fdb-100 1fe8-1fe9-8
1fea-1feb-112 1fec-7 1ff8-1ff9-128 1ffa-1ffb-126 1ffc-9 2126-7517 212a-8383 212b-8262 2132+28 2160-216f+16 2183+1
24b6-24cf+26 2c00-2c2f+48 2c60+1 2c62-10743 2c63-3814 2c64-10727 2c67-2c6b/2+1 2c6d-10780 2c6e-10749 2c6f-10783
2c70-10782 2c72+1 2c75+1 2c7e-2c7f-10815 2c80-2ce2/2+1 2ceb-2ced/2+1 2cf2+1 a640-a66c/2+1 a680-a69a/2+1 a722-a72e/2+1
a732-a76e/2+1 a779-a77b/2+1 a77d-35332 a77e-a786/2+1 a78b+1 a78d-42280 a790-a792/2+1 a796-a7a8/2+1 a7aa-42308
a7ab-42319 a7ac-42315 a7ad-42305 a7ae-42308 a7b0-42258 a7b1-42282 a7b2-42261 a7b3+928 a7b4-a7c2/2+1 a7c4-48 a7c5-42307
a7c6-35384 a7c7-a7c9/2+1 a7d0+1 a7d6-a7d8/2+1 a7f5+1 ab70-abbf-38864 ff21-ff3a+32 10400-10427+40 104b0-104d3+40
10570-1057a+39 1057c-1058a+39 1058c-10592+39 10594-10595+39 10c80-10cb2+64 118a0-118bf+32 16e40-16e5f+32
1e900-1e921+34
"""

def parse_folds(table):
    for first, last, step, delta in re.findall(r"(\w+)(?:-(\w+))?(?:/(\d+))?([+-]\d+)\s", table):
        for char in range(int(first, 16), int(last or first, 16) + 1, int(step or 1)):
            yield char, char + int(delta)

FOLDED = dict(parse_folds(FOLDS))

def fold(line):
    """The line with each letter replaced with one form of that letter. Bytes that are not UTF-8 stay unchanged."""
    return line.decode(errors="surrogateescape").translate(FOLDED).encode(errors="surrogateescape")

def from_hex(line):
    digits = line.strip()
    try:
        return base64.b16decode(digits, casefold=True)
    except ValueError:
        raise ValueError("%s is not an even number of hexadecimal digits" % digits.decode(errors="replace")) from None

WAYS = {
    "": lambda line: line,  # the Info does not say how
    "SumString": without_return,
    "SumString, with carriage returns": lambda line: line,
    "SumString, case folded by Unicode 15.0.0": lambda line: fold(without_return(line)),
    "SumString, case folded by Unicode 15.0.0, with carriage returns": fold,
    "Sum of the bytes given in hexadecimal": from_hex,
}

# Files that are not lines: their name, the bytes that identify them, and what the error says. The bytes are offsets with
# hexadecimal digits; ? is any digit
KINDS_OF_FILES = """
gzip | 0:1f8b | it is compressed with gzip: unpack it first: gzip -dc
zstd | 0:28b52ffd | it is compressed with zstd: unpack it first: zstd -dc
zstd | 0:5?2a4d18 | it is compressed with zstd: unpack it first: zstd -dc
old zstd | 0:1?b52ffd | it is compressed with an old zstd: unpack it first: zstd -dc
old zstd | 0:2?b52ffd | it is compressed with an old zstd: unpack it first: zstd -dc
xz | 0:fd377a585a00 | it is compressed with xz: unpack it first: xz -dc
lzma | 0:5d0000 5:ffffffffffffffff | it is compressed with lzma: unpack it first: xz -dc
lzma | 0:5d0000 10:000000 | it is compressed with lzma: unpack it first: xz -dc
lzip | 0:4c5a495001 | it is compressed with lzip: unpack it first: lzip -dc
bzip2 | 0:425a683?314159265359 | it is compressed with bzip2: unpack it first: bzip2 -dc
bzip2 | 0:425a683?177245385090 | it is compressed with bzip2: unpack it first: bzip2 -dc
lz4 | 0:04224d18 | it is compressed with lz4: unpack it first: lz4 -dc
lz4 | 0:02214c18 | it is compressed with lz4: unpack it first: lz4 -dc
snappy | 0:ff060000734e61507059 | it is compressed with snappy: unpack it first: snzip -dc
s2 | 0:ff06000053327354774f | it is compressed with s2: unpack it first: s2d -c
lzop | 0:894c5a4f000d0a1a0a | it is compressed with lzop: unpack it first: lzop -dc
lrzip | 0:4c525a4900 | it is compressed with lrzip: unpack it first: lrzcat
compress | 0:1f9d | it is compressed with compress: unpack it first: gzip -dc
pack | 0:1f1e | it is compressed with pack: unpack it first: gzip -dc
lzh | 0:1fa0 | it is compressed with lzh: unpack it first: gzip -dc
zlib | 0:7801 | it is compressed with zlib: unpack it first: pigz -dc
zlib | 0:789c | it is compressed with zlib: unpack it first: pigz -dc
zlib | 0:78da | it is compressed with zlib: unpack it first: pigz -dc
zip | 0:504b0304 | it is a zip archive: unpack it first: unzip -p
zip | 0:504b0506 | it is a zip archive: unpack it first: unzip -p
zip | 0:504b0708 | it is a zip archive: unpack it first: unzip -p
zip | 0:504b3030504b | it is a zip archive: unpack it first: unzip -p
7z | 0:377abcaf271c | it is a 7z archive: unpack it first: 7z x -so
rar | 0:526172211a07 | it is a rar archive: unpack it first: unrar p -inul
cab | 0:4d53434600000000 | it is a cab archive: unpack it first: cabextract -p
arj | 0:60ea??001e | it is an arj archive: unpack it first: 7z x -so
arj | 0:60ea??0022 | it is an arj archive: unpack it first: 7z x -so
lha | 2:2d6c683?2d | it is a lha archive: unpack it first: lha pq
lha | 2:2d6c68642d | it is a lha archive: unpack it first: lha pq
xar | 0:7861722100 | it is a xar archive: unpack it first: 7z x -so
rpm | 0:edabeedb | it is an rpm package: unpack it first: rpm2cpio
ar | 0:213c617263683e0a | it is an ar archive: unpack it first: ar p
ar | 0:213c7468696e3e0a | it is an ar archive: unpack it first: ar p
cpio | 0:c771 | it is a cpio archive: unpack it first: cpio -i --to-stdout
cpio | 0:71c7 12:00 20:00 | it is a cpio archive: unpack it first: cpio -i --to-stdout
cpio | 0:303730373037 36:303030 59:303030 65:3030 | it is a cpio archive: unpack it first: cpio -i --to-stdout
cpio | 0:30373037303? 38:30303030 62:30303030 94:30303030 | it is a cpio archive: unpack it first: cpio -i --to-stdout
tar | 257:7573746172 | it is a tar archive: unpack it first: tar -xOf
tar | 100:303?3?3?3?3?3?00 108:303?3?3?3?3?3?00 124:3?3?3?3?3?3?3?3?3?3?3? 136:3?3?3?3?3?3?3?3?3?3?3? 148:3?3?3?3?3?3?0020 | it is a tar archive: unpack it first: tar -xOf
lz5 | 0:05224d18 | it is compressed with lz5: unpack it first: lz5 -dc
wim | 0:4d5357494d000000 | it is a wim archive: unpack it first: 7z x -so
PGP | 0:2d2d2d2d2d424547494e20504750204d4553534147452d2d2d2d2d | it is encrypted with PGP: decrypt it first: gpg -d
PGP | 0:8c0d04 | it is encrypted with PGP: decrypt it first: gpg -d
age | 0:6167652d656e6372797074696f6e2e6f72672f76310a | it is encrypted with age: decrypt it first: age -d
OpenSSL | 0:53616c7465645f5f | it is encrypted with OpenSSL: decrypt it first: openssl enc -d
Parquet | 0:5041523115 | it is a Parquet file: write a column as lines first
Avro | 0:4f626a01 | it is an Avro file: write a field as lines first
Arrow | 0:4152524f57310000 | it is an Arrow file: write a column as lines first
SQLite | 0:53514c69746520666f726d6174203300 | it is an SQLite database: write a column as lines first: sqlite3
OLE | 0:d0cf11e0a1b11ae1 | it is an Excel or Word file: save it as text first
PDF | 0:255044462d312e | it is a PDF file: convert it to text first: pdftotext
PDF | 0:255044462d322e | it is a PDF file: convert it to text first: pdftotext
Lizard | 0:06224d18 | it is compressed with Lizard: unpack it first: lizard -dc
bzip3 | 0:425a337631 5:0000 | it is compressed with bzip3: unpack it first: bzip3 -dc
zpaq | 0:376b5374a03183d38cb228b0d3 | it is a zpaq archive: unpack it first: zpaq x
squashfs | 0:68737173 28:04000000 | it is a squashfs image: unpack it first: unsquashfs -cat
PGP | 0:8501??03 | it is encrypted with PGP: decrypt it first: gpg -d
PGP | 0:8502??03 | it is encrypted with PGP: decrypt it first: gpg -d
PGP | 0:845e03 | it is encrypted with PGP: decrypt it first: gpg -d
PGP | 0:c1c?4c03 | it is encrypted with PGP: decrypt it first: gpg -d
PGP | 0:a301 | it is encrypted or signed with PGP: unpack it first: gpg -d
PGP | 0:a302 | it is encrypted or signed with PGP: unpack it first: gpg -d
PGP | 0:a303 | it is encrypted or signed with PGP: unpack it first: gpg -d
age | 0:2d2d2d2d2d424547494e2041474520454e435259505445442046494c452d2d2d2d2d | it is encrypted with age: decrypt it first: age -d
Feather | 0:4645413100000000 | it is a Feather file: write a column as lines first
HDF5 | 0:894844460d0a1a0a | it is an HDF5 file: write a data set as lines first: h5dump
NetCDF | 0:43444601 | it is a NetCDF file: write a variable as lines first: ncdump
NetCDF | 0:43444602 | it is a NetCDF file: write a variable as lines first: ncdump
NetCDF | 0:43444605 | it is a NetCDF file: write a variable as lines first: ncdump
NumPy | 0:934e554d50590?00 | it is a NumPy array: write it as lines first: numpy.savetxt
pickle | 0:8002 | it is a Python pickle: write lines first
pickle | 0:8003 | it is a Python pickle: write lines first
pickle | 0:8004 | it is a Python pickle: write lines first
pickle | 0:8005 | it is a Python pickle: write lines first
R | 0:524458320a580a0000 | it is R data: write it as lines first: writeLines
R | 0:524458330a580a0000 | it is R data: write it as lines first: writeLines
SPSS | 0:24464c32402823292053505353 | it is an SPSS file: write a column as lines first
DuckDB | 8:4455434b 13:00000000000000 | it is a DuckDB database: write a column as lines first: duckdb
Access | 0:000100005374616e64617264204a6574204442 | it is an Access database: write a column as lines first: mdb-export
Access | 0:000100005374616e6461726420414345204442 | it is an Access database: write a column as lines first: mdb-export
Redis | 0:52454449533?3?3?3?fa | it is a Redis dump, not lines
Redis | 0:52454449533?3?3?3?fe | it is a Redis dump, not lines
Java | 0:aced0005 | it is a serialized Java object, not lines
ELF | 0:7f454c46 | it is a program, not lines
PNG | 0:89504e470d0a1a0a | it is a picture, not lines
JPEG | 0:ffd8ffe? | it is a picture, not lines
JPEG | 0:ffd8ffdb | it is a picture, not lines
bloom | 0:424c4d4?01 | it is a filter, bank or patch that bloom wrote, not lines
bloom | 0:424c4d5?01 | it is a filter, bank or patch that bloom wrote, not lines
bloom | 0:010?00 | it is binary, like a Guava filter, not lines
bloom | 0:011?00 | it is binary, like a Guava filter, not lines
bloom | 0:000100 | it is binary, like a Guava filter, not lines
bloom | 0:000200 | it is binary, like a Guava filter, not lines
bloom | 0:000300 | it is binary, like a Guava filter, not lines
bloom | 0:000400 | it is binary, like a Guava filter, not lines
bloom | 0:000500 | it is binary, like a Guava filter, not lines
bloom | 0:000600 | it is binary, like a Guava filter, not lines
bloom | 0:000700 | it is binary, like a Guava filter, not lines
bloom | 0:000800 | it is binary, like a Guava filter, not lines
bloom | 0:000b00 | it is binary, like a Guava filter, not lines
bloom | 0:000c00 | it is binary, like a Guava filter, not lines
bloom | 0:000e00 | it is binary, like a Guava filter, not lines
bloom | 0:000f00 | it is binary, like a Guava filter, not lines
UTF-32 | 0:fffe0000 | it is UTF-32: convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8
UTF-32 | 0:0000feff | it is UTF-32: convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8
UTF-16 | 0:fffe | it is UTF-16: convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8
UTF-16 | 0:feff | it is UTF-16: convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8
UTF-7 | 0:2b2f76382d | it is UTF-7: convert it to UTF-8 first: iconv -f UTF-7 -t UTF-8
GB18030 | 0:84319533 | it is GB18030: convert it to UTF-8 first: iconv -f GB18030 -t UTF-8
SCSU | 0:0efeff | it is SCSU: convert it to UTF-8 first: uconv -f SCSU -t UTF-8
BOCU-1 | 0:fbee28 | it is BOCU-1: convert it to UTF-8 first: uconv -f BOCU-1 -t UTF-8
UTF-1 | 0:f7644c | it is UTF-1: convert it to UTF-8 first
UTF-EBCDIC | 0:dd736673 | it is UTF-EBCDIC: convert it to UTF-8 first
unmarked UTF-16 | 0:2?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:3?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:4?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:5?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:6?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:7?00??00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:002?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:003?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:004?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:005?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:006?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:007?00??00 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000002? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000003? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000004? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000005? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000006? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0000007? 4:000000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??03??03??03 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:03??03??03 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??04??04??04 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:04??04??04 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??05??05??05 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:05??05??05 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??06??06??06 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:06??06??06 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??0e??0e??0e | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:0e??0e??0e | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??10??10??10 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:10??10??10 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??030000??030000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:000003??000003 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??040000??040000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:000004??000004 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??050000??050000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:000005??000005 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??060000??060000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:000006??000006 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??0e0000??0e0000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:00000e??00000e | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:??100000??100000 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
unmarked UTF-16 | 0:000010??000010 | it is UTF-16 or UTF-32 without a byte order mark: convert it to UTF-8 first: iconv
"""

def check_text(head):
    """Raises ValueError if a file that begins with head does not consist of lines."""
    digits = head.hex()
    for row in KINDS_OF_FILES.strip().splitlines():
        _, pieces, refusal = row.split(" | ")
        pieces = [piece.split(":") for piece in pieces.split()]
        whole = all(re.compile(piece.replace("?", ".")).match(digits, 2 * int(offset)) for offset, piece in pieces)
        require(not whole, "standard input: " + refusal)

def lines_of(file):
    """The lines of a buffered binary file, without a byte order mark. A file that is not lines raises ValueError."""
    head = file.peek(512)  # what has arrived; the first line may be longer
    line = file.readline()
    check_text(max(head, line, key=len)[:512])
    line = line.removeprefix(b"\xef\xbb\xbf")  # a mark alone is not a line
    while line:
        yield line.removesuffix(b"\n")
        line = file.readline()

def main(path, patch=None):
    if "BLOOM_NOW" in os.environ:  # the time for windows, in nanoseconds since 1970
        Window.now = staticmethod(lambda: int(os.environ["BLOOM_NOW"]))
    f = load(path)
    if patch:
        with open(patch, "rb") as file:
            f = patched(f, file.read())
    ask = f.which if isinstance(f, Bank) else f.contains
    part, doubts = f.key_part()
    absent = doubted = misled = others = 0
    for line in lines_of(sys.stdin.buffer):
        key = f.key(line)
        answer = ask(key)
        print(str(answer).lower())
        absent += not answer
        if doubts(line):
            doubted += 1
            misled += bool(answer)
            others += bool(ask(key + b"\0not a key"))
    # If the doubtful lines are found no more often than other keys, they are the wrong keys for this filter.
    mean = max(others, doubted * f.info.p)
    if doubted and misled <= 1.1 * mean + 4 * (2 * mean) ** .5:
        count = "none was found" if not misled else "%d of %d were found, probably by mistake" % (misled, doubted)
        print("%s: its keys are %s, but of the lines that do not look like keys, %s: look up only %s" %
              (path, part, count, part.rpartition(" of ")[0]), file=sys.stderr)
    if part.startswith("several") and absent:
        print("%s: its keys are %s: a part of a line that was not found may be a key" % (path, part), file=sys.stderr)

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 bloom.py FILE [PATCH] < lines")
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit("%s: %s" % (sys.argv[1], error))
