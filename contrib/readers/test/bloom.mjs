// Tests bloom.mjs with the vectors in a folder: node contrib/readers/test/bloom.mjs FOLDER
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from "node:fs"
import {tmpdir} from "node:os"
import {join} from "node:path"
import {FormatError, load as loadFile, read} from "../bloom.mjs"

const folder = process.argv[2]
const load = name => read(new Uint8Array(readFileSync(join(folder, name))))
const vectors = JSON.parse(readFileSync(join(folder, "vectors.json"), "utf8"))
const temporary = mkdtempSync(join(tmpdir(), "bloom-"))
let files = 0, asked = 0, wrong = 0
for (const test of vectors.filters) {
	if (!["bloom", "blocked", "bank"].includes(test.type)) continue
	files++
	const f = load(test.file)
	const {n, p, hash, comment, meta} = f.info
	if (JSON.stringify({n: Number(n), p, hash, comment, meta}) !== JSON.stringify(test.info)) {
		wrong++
		console.log(test.file, f.info, "want", test.info)
	}
	test.names?.forEach((name, i) => {
		if (Buffer.from(f.names[i]).toString("base64") !== name) {
			wrong++
			console.log(test.file, "name", i, "is", f.names[i])
		}
	})
	vectors.keys.forEach((key, i) => {
		asked++
		const got = test.members ? f.which(key) : f.contains(key)
		const want = test.members ? test.members[i] : test.answers[i] === "1"
		if (JSON.stringify(got) !== JSON.stringify(want)) {
			wrong++
			console.log(test.file, JSON.stringify(key), "is", got, "want", want)
		}
	})
	const unchecked = loadFile(join(folder, test.file), {check: false})
	const all = g => [String(g.info.n), {...g.info, n: 0}, g.names, vectors.keys.map(key => g.which ? g.which(key) : g.contains(key))]
	if (JSON.stringify(all(unchecked)) !== JSON.stringify(all(f))) {
		wrong++
		console.log(test.file, "other answers without check")
	}
	unchecked.close()
	// All bits that a look-up reads come from the file itself.
	const copy = join(temporary, "copy"), bytes = new Uint8Array(readFileSync(join(folder, test.file)))
	writeFileSync(copy, bytes)
	const late = loadFile(copy, {check: false})
	const head = {bloom: 6, blocked: 32, bank: 40}[test.type]
	writeFileSync(copy, bytes.fill(0, head))
	if (vectors.keys.some(key => late.contains(key))) {
		wrong++
		console.log(test.file, "is in memory without check")
	}
	// A file that has lost its end is an error, and not a key that is absent.
	writeFileSync(copy, bytes.subarray(0, head))
	let cut = test.file === "bank-0.bloom" // which has no members, and no page is read
	try {
		late.contains(vectors.keys[1])
	} catch (error) {
		if (!(error instanceof FormatError) || error.message !== "truncated") throw error
		cut = true
	}
	if (!cut) {
		wrong++
		console.log(test.file, "answers without its end")
	}
	late.close()
}
rmSync(temporary, {recursive: true})
// No file stays open, whether it is refused or closed.
const opened = () => existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0
const before = opened()
for (const name of vectors.refused) {
	try {
		loadFile(join(folder, name), {check: false}).close()
	} catch (error) {
		if (!(error instanceof FormatError)) throw error
	}
}
if (opened() !== before) {
	wrong++
	console.log(opened() - before, "files stay open")
}
for (const name of vectors.refused) {
	try {
		load(name)
	} catch (error) {
		if (error instanceof FormatError) continue
	}
	wrong++
	console.log(name, "not refused")
}
console.log(`${files} files, ${asked} answers, ${vectors.refused.length} refused, ${wrong} wrong`)
process.exit(wrong > 0 ? 1 : 0)
