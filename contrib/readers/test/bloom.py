"""Tests bloom.py with the vectors in a folder: python3 contrib/readers/test/bloom.py FOLDER"""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.dont_write_bytecode = True
import bloom as reader

folder = sys.argv[1]
with open(os.path.join(folder, "vectors.json"), encoding="utf-8") as file:
    vectors = json.load(file)
wrong = asked = 0
for test in vectors["filters"]:
    f = reader.load(os.path.join(folder, test["file"]))
    f.now = lambda: test["now"]
    if f.info._asdict() != test["info"]:
        wrong += 1
        print("%s: %s, want %s" % (test["file"], f.info, test["info"]))
    for i, key in enumerate(vectors["keys"]):
        asked += 1
        got, want = (f.which(key), test["members"][i]) if "members" in test else (f.contains(key), test["answers"][i] == "1")
        if got != want:
            wrong += 1
            print("%s: %r is %s, want %s" % (test["file"], key, got, want))
    unchecked = reader.load(os.path.join(folder, test["file"]), check=False)
    unchecked.now = f.now
    ask = (lambda g, key: g.which(key)) if "members" in test else (lambda g, key: g.contains(key))
    if unchecked.info != f.info or any(ask(unchecked, key) != ask(f, key) for key in vectors["keys"]):
        wrong += 1
        print("%s: other answers without check" % test["file"])
    if test["type"] == "window" and f.span and f.planes:  # it dies at that nanosecond
        oldest = f.planes[0]
        death = f.ends[oldest] + f.life
        found = []
        for now in death - 1, death:
            f.now = lambda: now
            found.append(f.found_in() >> oldest & 1)
        if found != [1, 0]:
            wrong += 1
            print("%s: just before its death and at its death, a plane is found %s times" % (test["file"], found))
# The sum goes by lanes in long parts, and by bytes in others.
def plain_crc(data):
    c = reader.M32
    for byte in data:
        c = c >> 8 ^ reader.CRC_TABLE[(c ^ byte) & 255]
    return c ^ reader.M32
data = bytes(x * x * 7919 >> 5 & 255 for x in range(200000))
for length in 0, 9, 65535, 65536, 65537, 66560, 200000:
    if reader.crc(data[:length]) != plain_crc(data[:length]) or reader.crc(b"x", memoryview(data)[:length]) != plain_crc(b"x" + data[:length]):
        wrong += 1
        print("the sum of %d bytes" % length)
for name in vectors["refused"]:
    try:
        reader.load(os.path.join(folder, name))
    except ValueError:
        continue
    wrong += 1
    print("%s: not refused" % name)
for test in vectors["patches"]:
    with open(os.path.join(folder, test["file"]), "rb") as file:
        f = reader.patched(reader.load(os.path.join(folder, test["from"])), file.read())
    if f.info._asdict() != test["info"] or [f.contains(key) for key in vectors["keys"]] != [a == "1" for a in test["answers"]]:
        wrong += 1
        print("%s: wrong answers" % test["file"])
for test in vectors["refused_patches"]:
    with open(os.path.join(folder, test["file"]), "rb") as file:
        try:
            reader.patched(reader.load(os.path.join(folder, test["from"])), file.read())
        except ValueError:
            continue
    wrong += 1
    print("%s: not refused" % test["file"])
# The text form is base64 of the same bytes. It is one line, and its last bits are zeros.
for test in vectors["filters"]:
    with open(os.path.join(folder, test["file"]), "rb") as file:
        data = file.read()
    text = base64.b64encode(data).decode()
    if reader.from_text(text).info != reader.loads(data).info:
        wrong += 1
        print("%s: its text has another Info" % test["file"])
    bad = [text + "\n", text[:-1], text[:20] + "\n" + text[20:]]
    if text.endswith("=="):
        bad.append(text[:-3] + chr(ord(text[-3]) + 1) + "==")
    for refused in bad:
        try:
            reader.from_text(refused)
        except ValueError:
            continue
        wrong += 1
        print("%s: a wrong text is not refused" % test["file"])
# A bitset of Parquet has no head. Only its length tells the number of blocks.
for length in 0, 31, 33:
    try:
        reader.from_parquet(bytes(length), None)
    except ValueError:
        continue
    wrong += 1
    print("a bitset of %d bytes is not refused" % length)
print("%d files, %d answers, %d refused, %d wrong" % (len(vectors["filters"]), asked, len(vectors["refused"]), wrong))
sys.exit(wrong > 0)
