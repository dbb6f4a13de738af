#!/bin/sh
# Makes the table of the README, in some minutes and a gigabyte of a temporary folder.
set -e
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" . ./internal/measure ./internal/urls
cd "$dir"
PATH=$dir:$PATH
urls > urls.txt
measure 'bloom dedupe urls.txt' 'bloom dedupe -n 7M urls.txt' 'bloom dedupe -n 7M -p 0.001 urls.txt' \
	'cat urls.txt | bloom dedupe' 'rm -f s; bloom dedupe -state s urls.txt' 'rm -f s; cat urls.txt | bloom dedupe -state s' \
	'bloom build -n 7M -o f urls.txt' 'bloom check f urls.txt' 'wc -l urls.txt'
measure -rounds 1 'LC_ALL=C sort -u urls.txt' "awk '!s[\$0]++' urls.txt"
