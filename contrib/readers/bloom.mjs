// Reads the Bloom filters of github.com/seed79a3ff49/bloom, as docs/format.md describes
// them: Guava's form, blocked, bank. An ES module for browsers and Node, without
// dependencies.
//
//	import { load, read } from "./bloom.mjs"
//	const f = read(bytes)              // a Uint8Array of a file, or of MarshalBinary
//	const g = load(path, {check: false}) // the filter in a file, in Node: see load
//	f.info                             // {n, p, hash, comment, meta}: look at hash before the first look-up
//	f.contains("https://go.dev/")      // a string (its UTF-8), a Uint8Array, or a BigInt (its 8 bytes)
//	f.which("key")                     // the numbers of a bank's members that may contain the key
//	f.names[i]                         // the name of a bank's member: a Uint8Array, perhaps not UTF-8
//	f.key(line)                        // the key that the command bloom makes from a line for f
//
//	node bloom.mjs FILE < lines        # writes true or false for each line; LF ends a line
//
// False is certain only for a key that is hashed in the same way as the filter's keys: info.hash says
// how. The keys of a list that `bloom build --hex` made are bytes, not their digits: call
// f.contains(f.key(line)), as the program does. True is wrong at the filter's rate. Damaged bytes throw a
// FormatError. key also throws a FormatError if it does not know how keys were hashed.
//
// make(bits, k) makes an empty filter. add adds a key to it as Guava's BloomFilter.put does. Some upper
// limits are not checked: only a filter larger than memory can exceed them.

export class FormatError extends Error {}

const fs = globalThis.process?.versions?.node ? await import("node:fs") : undefined

function need(ok, message) {
	if (!ok) throw new FormatError(message)
}

const table = new Uint32Array(256).map((_, n) => {
	for (let i = 0; i < 8; i++) n = n >>> 1 ^ (n & 1 ? 0x82f63b78 : 0)
	return n
})

/** The CRC-32C of bytes. value is the CRC-32C of the bytes before them. */
function crc(bytes, value = 0) {
	value = ~value
	for (let i = 0; i < bytes.length; i++) value = table[(value ^ bytes[i]) & 255] ^ value >>> 8
	return ~value >>> 0
}

const u64 = x => BigInt.asUintN(64, x)
const rotl = (x, r) => u64(x << r | x >> 64n - r)

function mix(x) {
	x = u64((x ^ x >> 33n) * 0xff51afd7ed558ccdn)
	x = u64((x ^ x >> 33n) * 0xc4ceb9fe1a85ec53n)
	return x ^ x >> 33n
}

/** The bytes of text or of a Uint8Array. Other values throw a TypeError. */
function bytesOf(text) {
	if (typeof text === "string") {
		if (/\p{Surrogate}/u.test(text)) throw new TypeError("text has half of a surrogate pair")
		return new TextEncoder().encode(text)
	}
	if (!ArrayBuffer.isView(text) || text[Symbol.toStringTag] !== "Uint8Array") {
		throw new TypeError("a key is a string, a Uint8Array or a BigInt")
	}
	return text
}

function keyBytes(key) {
	if (typeof key !== "bigint") return bytesOf(key)
	if (key < -(2n ** 63n) || key >= 2n ** 64n) throw new RangeError("an integer key has more than 64 bits")
	return numbers(u64(key))
}

/**
 * The two halves of the Murmur3 x64 128 digest, as BigInts. The key is bytes, or a string in UTF-8, or a
 * BigInt as 8 little-endian bytes.
 */
export function digest(key) {
	const bytes = keyBytes(key)
	const padded = new Uint8Array(bytes.length + 16)
	padded.set(bytes)
	const view = new DataView(padded.buffer)
	const whole = bytes.length & ~15
	const c1 = 0x87c37b91114253d5n, c2 = 0x4cf5ad432745937fn
	const first = a => u64(rotl(u64(a * c1), 31n) * c2)
	const second = b => u64(rotl(u64(b * c2), 33n) * c1)
	let h1 = 0n, h2 = 0n
	for (let i = 0; i < whole; i += 16) {
		h1 = u64((rotl(h1 ^ first(view.getBigUint64(i, true)), 27n) + h2) * 5n + 0x52dce729n)
		h2 = u64((rotl(h2 ^ second(view.getBigUint64(i + 8, true)), 31n) + h1) * 5n + 0x38495ab5n)
	}
	h1 ^= first(view.getBigUint64(whole, true)) ^ BigInt(bytes.length)
	h2 ^= second(view.getBigUint64(whole + 8, true)) ^ BigInt(bytes.length)
	h1 = u64(h1 + h2)
	h2 = u64(h2 + h1)
	h1 = mix(h1)
	h2 = mix(h2)
	h1 = u64(h1 + h2)
	return [h1, u64(h2 + h1)]
}

/** The indexes of a key's k bits in a filter of m bits, by Guava's strategy 1. */
function* places([h1, h2], k, m) {
	for (; k > 0; k--) {
		yield Number(BigInt.asUintN(63, h1) % BigInt(m))
		h1 = u64(h1 + h2)
	}
}

/** The Info of a file. Its trailer begins at start. The checksum of all bytes is verified only if check is true. */
function trailer(file, head, start, check) {
	const size = file.length - start
	const magic = String.fromCharCode(...file.subarray(file.length - 10, file.length - 4))
	need(magic === "bloom\x01", magic.startsWith("bloom") ? "a newer version wrote the trailer" : "the end is not a trailer")
	need(size >= 36 && size % 8 === 4 && size < 65536, `a trailer cannot have ${size} bytes`)
	const bytes = file.subarray(start), view = viewOf(bytes), end = size
	need(view.getUint16(end - 12) === size, "the length that the trailer gives is wrong")
	need(view.getUint32(end - 16) === crc(bytes.subarray(0, end - 16), crc(file.subarray(0, head))),
		"the checksum of header and info is wrong")
	need(!check || view.getUint32(end - 4) === crc(file.subarray(0, file.length - 4)), "the checksum is wrong")
	need(bytes[16] < 16, "a newer version wrote the trailer")
	const p = view.getFloat64(8)
	const hash = bytes[17], comment = hash + view.getUint16(18)
	const text = bytes.subarray(20, end - 16)
	let meta = comment, last = comment
	if (bytes[16] & 1) {
		need(comment + 2 <= text.length, "the trailer is too short for the texts of the Info")
		meta += 2
		last = meta + viewOf(text).getUint16(comment)
		need(last > meta && last - meta <= 4096, "Meta has a wrong length")
	}
	const rest = Math.ceil(last / 8) * 8
	need(comment - hash <= 4096 && rest <= text.length,
		"the comment is longer than 4096 bytes, or the trailer is too short for the texts of the Info")
	need(p >= 0 && p < 1 && text.subarray(last, rest).every(x => x === 0),
		"P is outside [0, 1), or the bytes after the texts of the Info are not zero")
	const [h, c, m] = [[0, hash], [hash, comment], [meta, last]].map(([from, to]) => utf8(text.subarray(from, to)))
	const pairs = m === "" ? [] : m.split("&").map(pair => metaPair.exec(pair))
	need(pairs.every(pair => pair), "Meta is not a list of pairs")
	const names = pairs.map(([, name]) => name.replaceAll("+", " ")
		.replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))))
	need(names.every((name, i) => i === 0 || names[i - 1] <= name), "the names of Meta do not ascend")
	return {n: view.getBigUint64(0), p, hash: h, comment: c, meta: m}
}

const metaText = "((?:[A-Za-z0-9_.~+-]|%(?:[0189A-F][0-9A-F]|2[1-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]))*)"
const metaPair = new RegExp(`^${metaText}=${metaText}$`)

function utf8(bytes) {
	try {
		return new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(bytes)
	} catch (error) {
		throw new FormatError("text is not UTF-8")
	}
}

const viewOf = bytes => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

class Filter {
	contains(key) {
		return this.containsHash(digest(key))
	}

	/** The key that the command bloom makes from a line, which is a string or a Uint8Array. */
	key(line) {
		const {hash, meta} = this.info
		const shard = new URLSearchParams(meta).get("shard")
		need(shard === null, `the filter is shard ${shard} of a list: bloom check reads the files of all shards`)
		const way = ways.get(hash)
		need(way, `keys cannot be made from lines, because info.hash is "${hash}": ` +
			"make the keys in a program, and pass them to contains")
		return way(bytesOf(line))
	}
}

// How the command bloom makes a key from a line, for each Hash that it writes into an Info.
const ways = new Map([
	["", line => line], // the Info does not say how
	["SumString", withoutReturn],
	["SumString, with carriage returns", line => line],
	["SumString, case folded by Unicode 15.0.0", line => fold(withoutReturn(line))],
	["SumString, case folded by Unicode 15.0.0, with carriage returns", fold],
	["Sum of the bytes given in hexadecimal", fromHex],
])

function withoutReturn(line) {
	return line[line.length - 1] === 13 ? line.subarray(0, -1) : line
}

// All characters that simple case folding changes in Unicode 15.0.0. An entry is a run of characters: the first and the
// last in hexadecimal, the step, and the number that is added to each
const folds = `
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
`

const folded = new Map()
for (const [, first, last, step, delta] of folds.matchAll(/(\w+)(?:-(\w+))?(?:\/(\d+))?([+-]\d+)\s/g)) {
	const end = parseInt(last ?? first, 16)
	for (let char = parseInt(first, 16); char <= end; char += Number(step ?? 1)) {
		folded.set(String.fromCodePoint(char), new TextEncoder().encode(String.fromCodePoint(char + Number(delta))))
	}
}

/** The line with each letter replaced with one form of that letter. Bytes that are not UTF-8 stay unchanged. */
function fold(line) {
	const out = []
	for (let at = 0; at < line.length;) {
		const bytes = character(line, at)
		at += bytes.length
		out.push(...folded.get(decoded(bytes)) ?? bytes)
	}
	return Uint8Array.from(out)
}

/** The bytes of the character at an offset in a line, or one byte if no character begins there. */
function character(line, at) {
	const size = [0xf0, 0xe0, 0xc0].findIndex(least => line[at] >= least)
	const bytes = line.subarray(at, at + (size < 0 ? 1 : 4 - size))
	return decoded(bytes) === undefined ? line.subarray(at, at + 1) : bytes
}

/** The text of bytes, or undefined if they are not UTF-8. */
function decoded(bytes) {
	try {
		return utf8(bytes)
	} catch {
		return undefined
	}
}

function fromHex(line) {
	const digits = new TextDecoder("utf-8", {ignoreBOM: true}).decode(line).trim()
	need(digits.length % 2 === 0 && /^[0-9a-fA-F]*$/.test(digits), `${digits} is not an even number of hexadecimal digits`)
	return Uint8Array.from(digits.match(/../g) ?? [], pair => parseInt(pair, 16))
}

class Guava extends Filter {
	constructor(bytes, check = true) {
		super()
		need(bytes.length >= 6, "truncated")
		const head = bytes.subarray(0, 6), count = viewOf(head).getUint32(2)
		this.bytes = bytes;
		[this.strategy, this.k] = head
		this.m = 64 * count
		need(this.strategy <= 1 && this.k > 0 && count > 0, "the strategy is unknown, or k or the number of words is 0")
		const end = 6 + 8 * count
		need(bytes.length >= end, "truncated")
		this.info = bytes.length > end ? trailer(bytes, 6, end, check) : {n: 0n, p: 0, hash: "", comment: "", meta: ""}
	}

	*places([h1, h2]) {
		if (this.strategy === 1) return yield* places([h1, h2], this.k, this.m)
		const a = Number(BigInt.asIntN(32, h1)), b = Number(BigInt.asIntN(32, h1 >> 32n))
		for (let i = 1; i <= this.k; i++) {
			const c = a + Math.imul(i, b) | 0
			yield (c < 0 ? ~c : c) % this.m
		}
	}

	containsHash(h) {
		for (const i of this.places(h)) {
			const [byte] = this.bytes.subarray(byteOf(i), byteOf(i) + 1)
			if (!(byte >> i % 8 & 1)) return false
		}
		return true
	}

	/** Adds a key, and reports whether it was certainly new. The bytes must not have a trailer. */
	add(key) {
		if (this.bytes instanceof FileBytes) throw new TypeError("keys cannot be added to a file that is not in memory")
		let changed = false
		for (const i of this.places(digest(key))) {
			const old = this.bytes[byteOf(i)]
			changed ||= !(old >> i % 8 & 1)
			this.bytes[byteOf(i)] = old | 1 << i % 8
		}
		return changed
	}
}

/** The offset of the byte with bit i in Guava's form. Words are big-endian. */
const byteOf = i => 6 + 8 * Math.floor(i / 64) + 7 - Math.floor(i % 64 / 8)

class Frame extends Filter {
	constructor(bytes, params, check) {
		super()
		this.head = 8 + 8 * params
		need(bytes.length >= this.head, "truncated")
		const head = bytes.subarray(0, this.head), view = viewOf(head)
		need(head[4] === 1 && head[5] === 0, `version = ${head[4]} is not 1, or the byte after it, ${head[5]}, is not 0`)
		this.bytes = bytes
		this.check = check
		this.params = Array.from({length: params}, (_, i) => Number(view.getBigUint64(8 + 8 * i, true)))
		this.end = bytes.length - view.getUint16(6, true) // the end of the words
	}

	/** Checks the number of words, and then both checksums. */
	finish(words) {
		need(this.head + 8 * words === this.end, `${words} words do not fit ${this.bytes.length} bytes`)
		this.info = trailer(this.bytes, this.head, this.end, this.check)
	}
}

const salts = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31]
const step = 0x9e3779b97f4a7c15n

class Blocked extends Frame {
	constructor(bytes, check) {
		super(bytes, 3, check);
		[this.blocks, this.lines] = this.params
		need(this.blocks >= 1 && this.lines >= 1 && this.lines <= 4 && this.params[2] === 0,
			"a parameter is out of range")
		this.finish(4 * this.blocks)
	}

	containsHash([h1, h2]) {
		const values = [h1, u64(h2 + step), u64(h1 + h2 + 2n * step), u64(rotl(h1, 32n) + h2 + 3n * step)]
		for (let i = 0; i < this.lines; i++) {
			const low = this.blocks > 2 ** 30 ? values[i ^ 1] >> 32n : 0n
			const block = Number((values[i] >> 32n << 32n | low) * BigInt(this.blocks) >> 64n)
			const value = Number(BigInt.asIntN(32, values[i]))
			const at = this.head + 32 * block, view = viewOf(this.bytes.subarray(at, at + 32))
			for (let j = 0; j < 8; j++) {
				const lane = view.getUint32(4 * j, true)
				if (!(lane >>> (Math.imul(value, salts[j]) >>> 27) & 1)) return false
			}
		}
		return true
	}
}

const full = 32736 // the number of members in a full segment

class Bank extends Frame {
	constructor(bytes, check) {
		super(bytes, 4, check)
		const [size, k, members, names] = this.params
		need(size >= 1 && k >= 1 && k <= 255, "a parameter is out of range")
		need(names === 0 || members > 0 && names >= 12 * members, `${names} bytes of names cannot belong to ${members} members`)
		const rest = members % full
		this.m = 64 * size
		this.k = k
		this.members = members
		this.segments = Math.ceil(members / full)
		this.last = gridOf(rest)
		this.start = members >= full ? -this.head & 4095 : 0
		const table = this.start + this.m * 4096 * Math.floor(members / full) +
			(rest > 0 ? this.m / this.last.rows * this.last.page : 0)
		this.finish((table + Math.ceil(names / 8) * 8) / 8)
		need(bytes.subarray(this.head, this.head + this.start).every(x => x === 0), "the padding is not all zero")
		for (let s = 0; check && s < this.segments; s++) {
			const pages = this.m / this.grid(s).rows
			for (let p = 0; p < pages; p++) this.checkPage(s, p)
		}
		this.names = this.readNames(bytes.subarray(this.head + table, this.end), names)
	}

	grid(s) {
		return full * (s + 1) <= this.members ? gridOf(full) : this.last
	}

	page(s, p) {
		const size = this.grid(s).page
		const at = this.head + this.start + s * this.m * 4096 + p * size
		return this.bytes.subarray(at, at + size)
	}

	/** The bits of a row. In the last row of a page, a checksum may follow the bits of members. */
	row(s, r) {
		const {row, rows} = this.grid(s), at = r % rows * row
		return this.page(s, Math.floor(r / rows)).subarray(at, at + row)
	}

	checkPage(s, p) {
		const {row, rows} = this.grid(s), members = Math.min(this.members - full * s, full)
		const page = this.page(s, p), end = page.length - 4
		const sum = crc(page.subarray(0, end), crc(numbers(s, p)))
		need(viewOf(page).getUint32(end, true) === sum, `the checksum of page ${p} of segment ${s} is wrong`)
		const used = Math.floor(members / 8)
		for (let i = 0; i < rows; i++) {
			const bits = page.subarray(i * row, i < rows - 1 ? (i + 1) * row : end)
			need(used === bits.length || bits[used] >> members % 8 === 0, "a row has bits beyond its members")
			need(bits.subarray(used + 1).every(x => x === 0), "a row has bits beyond its members")
		}
	}

	readNames(bytes, size) {
		if (size === 0) return []
		const view = viewOf(bytes), table = 12 * this.members, names = []
		let begin = 0
		for (let i = 0; i < this.members; i++) {
			const end = Number(view.getBigUint64(12 * i, true))
			need(end >= begin && end <= begin + 65535, `name ${i} has a wrong length`)
			const name = bytes.subarray(table + begin, table + end)
			need(view.getUint32(12 * i + 8, true) === crc(name, crc(numbers(i, begin, end))), `the checksum of name ${i} is wrong`)
			names.push(name)
			begin = end
		}
		need(table + begin === size && bytes.subarray(size).every(x => x === 0),
			"the names have a wrong length, or the bytes after them are not zero")
		return names
	}

	contains(key) {
		return this.which(key).length > 0
	}

	which(key) {
		const found = [], rows = [...places(digest(key), this.k, this.m)]
		for (let s = 0; s < this.segments; s++) {
			const members = Math.min(this.members - full * s, full)
			const left = this.row(s, rows[0]).slice()
			for (const r of rows) {
				const row = this.row(s, r)
				for (let i = 0; i < left.length; i++) left[i] &= row[i]
			}
			for (let i = 0; i < members; i++) if (left[i >> 3] >> (i & 7) & 1) found.push(full * s + i)
		}
		return found
	}
}

/** The layout of a segment with this number of members: bytes in a row, rows in a page, bytes in a page. */
function gridOf(members) {
	const words = Math.ceil(members / 64)
	let rows = 64
	while (rows > 1 && rows * words > 511) rows /= 2
	const more = members % 64 === 0 || members % 64 > 32
	return {row: 8 * words, rows, page: 8 * (rows * words + (more ? 1 : 0))}
}

/** The bytes of numbers, each as a little-endian u64. */
function numbers(...xs) {
	return new Uint8Array(BigUint64Array.from(xs, x => littleEndian(BigInt(x))).buffer)
}

function littleEndian(x) {
	const view = new DataView(new ArrayBuffer(8))
	view.setBigUint64(0, x, true)
	return new BigUint64Array(view.buffer)[0]
}

/** Decodes a filter. */
export function read(bytes) {
	return decode(bytes, true)
}

function decode(bytes, check) {
	const head = bytes.subarray(0, 4)
	if (head[0] !== 66 || head[1] !== 76 || head[2] !== 77) return new Guava(bytes, check)
	const kind = {B: Blocked, K: Bank}[String.fromCharCode(head[3])]
	need(kind, `kind ${String.fromCharCode(head[3])} is unknown to this reader`)
	return new kind(bytes, check)
}

/** The bytes of an open file, read on demand. */
class FileBytes {
	constructor(fd) {
		this.fd = fd
		this.length = fs.fstatSync(fd).size
	}

	subarray(from, to = this.length) {
		const bytes = new Uint8Array(Math.max(Math.min(to, this.length) - Math.max(from, 0), 0))
		for (let got = 0, n; got < bytes.length; got += n) {
			n = fs.readSync(this.fd, bytes, got, bytes.length - got, Math.max(from, 0) + got)
			need(n > 0, "truncated")
		}
		return bytes
	}
}

/**
 * The filter in a file, in Node. With check: false only the head, the lengths, the Info and names are checked. A file
 * of gigabytes then opens at once, and a look-up reads only what it needs, but damaged words are not noticed. Call
 * close when such a filter is no longer needed.
 */
export function load(path, {check = true} = {}) {
	if (check) return read(new Uint8Array(fs.readFileSync(path)))
	const fd = fs.openSync(path)
	try {
		const f = decode(new FileBytes(fd), false)
		f.close = () => fs.closeSync(fd)
		return f
	} catch (error) {
		fs.closeSync(fd)
		throw error
	}
}

/** A new filter in Guava's form. m is a multiple of 64. Other programs can read its bytes. */
export function make(m, k) {
	if (!(Number.isInteger(m) && m > 0 && m % 64 === 0 && m / 64 < 2 ** 31)) {
		throw new RangeError(`m = ${m} must be a positive multiple of 64 less than 2^37`)
	}
	if (!(Number.isInteger(k) && k >= 1 && k <= 255)) throw new RangeError(`k = ${k} is outside [1, 255]`)
	const bytes = new Uint8Array(6 + m / 8)
	bytes.set([1, k])
	viewOf(bytes).setUint32(2, m / 64)
	return new Guava(bytes)
}

// Files that are not lines: their name, the bytes that identify them, and what the error says. The bytes are offsets
// with hexadecimal digits; ? is any digit.
const kindsOfFiles = `
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
`

/** The input without a byte order mark. Input that is not lines throws a FormatError. */
function plain(input) {
	const digits = Array.from(input.subarray(0, 512), byte => byte.toString(16).padStart(2, "0")).join("")
	for (const row of kindsOfFiles.trim().split("\n")) {
		const [, pieces, refusal] = row.split(" | ")
		const whole = pieces.split(" ").every(piece => {
			const [offset, bytes] = piece.split(":")
			return new RegExp("^" + bytes.replaceAll("?", ".")).test(digits.slice(2 * offset))
		})
		need(!whole, "standard input: " + refusal)
	}
	return digits.startsWith("efbbbf") ? input.subarray(3) : input
}

/**
 * Describes the part of a line that is a key, with "" for a whole line. The second result is a function that reports
 * whether a line is probably more than that part.
 */
function partOf(meta) {
	const facts = new URLSearchParams(meta), number = facts.get("field") ?? "", name = facts.get("json")
	if (name) return [`"${name}" of JSON objects`, line => String.fromCharCode(line.find(byte => ![32, 9, 13].includes(byte)) ?? 0) === "{"]
	if (number === "several") return ["several parts of lines", () => false]
	if (!/^0*[1-9][0-9]*$/.test(number)) return ["", () => false]
	const values = [...meta.matchAll(/(?:^|&)sep=([^&]*)/g)].map(([, value]) => value)
	const separators = (values.length ? values.join("") : "%09%2C").match(/%..|./g)
		.map(sep => sep === "+" ? 32 : sep.length === 3 ? parseInt(sep.slice(1), 16) : sep.charCodeAt(0))
	return [`field ${number} of lines`, line => separators.some(sep => line.includes(sep))]
}

if (fs) await main()

async function main() {
	const {pathToFileURL} = await import("node:url")
	const program = process.argv[1]
	if (!program || pathToFileURL(fs.realpathSync(program)).href !== import.meta.url) return // imported as a module
	if (process.argv.length !== 3) {
		console.error("usage: node bloom.mjs FILE < lines")
		process.exit(1)
	}
	try {
		const f = load(process.argv[2])
		const input = plain(new Uint8Array(fs.readFileSync(0))), out = []
		const [part, doubts] = partOf(f.info.meta)
		let absent = 0, doubted = 0, misled = 0, others = 0
		for (let begin = 0; begin < input.length;) {
			let end = input.indexOf(10, begin)
			if (end < 0) end = input.length
			const line = input.subarray(begin, end)
			const key = f.key(line)
			const answer = f.contains(key)
			absent += !answer
			if (doubts(line)) {
				doubted++
				misled += answer
				others += f.contains(Uint8Array.from([...key, ...new TextEncoder().encode("\0not a key")]))
			}
			out.push(answer ? "true\n" : "false\n")
			begin = end + 1
		}
		process.stdout.write(out.join(""))
		// If the doubtful lines are found no more often than other keys, they are the wrong keys for this filter.
		const mean = Math.max(others, doubted * f.info.p)
		if (doubted && misled <= 1.1 * mean + 4 * Math.sqrt(2 * mean)) {
			const count = misled ? `${misled} of ${doubted} were found, probably by mistake` : "none was found"
			console.error(`bloom.mjs: ${process.argv[2]}: its keys are ${part}, but of the lines that do not look like keys, ` +
				`${count}: look up only ${part.slice(0, part.lastIndexOf(" of "))}`)
		}
		if (part.startsWith("several") && absent) {
			console.error(`bloom.mjs: ${process.argv[2]}: its keys are ${part}: a part of a line that was not found may be a key`)
		}
	} catch (error) {
		console.error(`bloom.mjs: ${process.argv[2]}: ${error.message}`)
		process.exit(1)
	}
}
