#!/bin/bash -eu
# Builds one fuzzer for each exported function of internal/fuzz, with the files of
# testdata/vectors to start from.
cd "$SRC/bloom"
zip -q -j "$OUT/seeds.zip" testdata/vectors/*
for name in $(sed -n 's/^func \([A-Z][A-Za-z]*\)(data .*/\1/p' internal/fuzz/fuzz.go); do
	compile_go_fuzzer github.com/seed79a3ff49/bloom/internal/fuzz "$name" "fuzz_$name"
	cp "$OUT/seeds.zip" "$OUT/fuzz_${name}_seed_corpus.zip"
done
rm "$OUT/seeds.zip"
