"""Holds readers/bloom.py to the vectors in a folder: python3 readers/test/bloom.py FOLDER"""
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
for name in vectors["refused"]:
    try:
        reader.load(os.path.join(folder, name))
    except ValueError:
        continue
    wrong += 1
    print("%s: not refused" % name)
print("%d files, %d answers, %d refused, %d wrong" % (len(vectors["filters"]), asked, len(vectors["refused"]), wrong))
sys.exit(wrong > 0)
