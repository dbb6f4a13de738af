package bloomredis

// Scripts are atomic. The KEYS of most scripts begin with a filter's string, its stream and its
// identity. The ARGV of a script for an open filter begin with the header, the size of the string,
// and the id. If a script that begins with ifLost does not find that filter, it returns {header,
// size, identity} of what it finds, and changes nothing.
//
// For each key that changed the string, addScript appends an entry "h" with its digest to the
// stream. The stream keeps only the newest entries. When Open, Merge or Reset changes the filter,
// its script replaces all entries with an entry "m" of 16 random bytes, which tells readers to read
// the string again.
//
// A script that fails is not rolled back. A write that can fail, because the server refuses it or
// the key has the wrong type, must come before all other writes, or the script must undo the
// earlier writes: bits without their entry would reach a replica only with the whole filter.
const ifLost = findIt + `
if header ~= ARGV[1] or size ~= tonumber(ARGV[2]) or id ~= ARGV[3] then
	return {header, size, identity}
end`

const findIt = `
local header = redis.call('GETRANGE', KEYS[1], 0, 5)
local size = redis.call('STRLEN', KEYS[1])
local identity = redis.call('GETRANGE', KEYS[3], 0, -1)
if identity == '' then
	identity = '` + identityMark + `' .. string.rep('\0', 16)
end
local id, life = string.sub(identity, 22, 29), string.sub(identity, 30, 37)
if string.sub(identity, 1, 21) ~= '` + identityMark + `' then
	id = '' -- another version made this identity
end`

var (
	// ARGV = header, size of the string, identity, random bytes. It returns the header, size and
	// identity that are there afterwards. If the string is a filter with the same parameters but
	// without an identity, it gets the given identity and keeps its keys.
	openScript = newScript(findIt + `
local isNew = redis.call('EXISTS', KEYS[1]) == 0
local isExpected = header == ARGV[1] and size == tonumber(ARGV[2])
local isNameless = isExpected and redis.call('EXISTS', KEYS[3]) == 0
if isNew or isNameless then
	redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'm', ARGV[4])
	redis.call('SET', KEYS[3], ARGV[3])
end
if isNew then
	redis.call('SETRANGE', KEYS[1], ARGV[2] - 1, '\0')
	redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
end
header = redis.call('GETRANGE', KEYS[1], 0, 5)
return {header, redis.call('STRLEN', KEYS[1]), redis.call('GETRANGE', KEYS[3], 0, -1)}`)

	// ARGV = ..., minimum length of the stream, digests of 16 bytes, and the offsets of each
	// digest's bits. KEYS = ..., and the key of a token if there is one. It returns a 1 for each
	// new digest and a 0 for each other one, or the answer that the token's key holds.
	addScript = newScript(ifLost + `
if KEYS[4] then
	local before = redis.call('GETRANGE', KEYS[4], 0, -1)
	if #before > 8 and string.sub(before, 1, 8) == life then
		return string.sub(before, 9)
	end
	redis.call('SET', KEYS[4], '', ` + rememberFor + `)
end
local n = #ARGV[5] / 16
local k = (#ARGV - 5) / n
local added, bits = {}, {}
for j = 1, k do
	bits[4 * j - 3], bits[4 * j - 2], bits[4 * j - 1], bits[4 * j] = 'SET', 'u1', '', '1'
end
for i = 1, n do
	added[i] = '0'
	for j = 1, k do
		bits[4 * j - 1] = ARGV[5 + (i - 1) * k + j]
	end
	local olds = redis.call('BITFIELD', KEYS[1], unpack(bits))
	for _, old in ipairs(olds) do
		if old == 0 then
			added[i] = '1'
			break
		end
	end
	if added[i] == '1' then
		local digest = string.sub(ARGV[5], i * 16 - 15, i * 16)
		local entry = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '*', 'h', digest)
		if entry.err then
			for j, old in ipairs(olds) do
				if old == 0 then
					redis.call('BITFIELD', KEYS[1], 'SET', 'u1', bits[4 * j - 1], 0)
				end
			end
			return entry
		end
	end
end
local answers = table.concat(added)
if KEYS[4] then
	redis.call('SET', KEYS[4], life .. answers, ` + rememberFor + `)
end
return answers`)

	// KEYS = ..., a filter to merge. ARGV = ..., random bytes. It returns OK.
	mergeScript = newScript(ifLost + `
if redis.call('STRLEN', KEYS[4]) ~= size or redis.call('GETRANGE', KEYS[4], 0, 5) ~= header then
	return redis.error_reply('ERR the uploaded filter, or a part of it, is gone')
end
redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'm', ARGV[4])
redis.call('BITOP', 'OR', KEYS[1], KEYS[1], KEYS[4])
redis.call('UNLINK', KEYS[4])
return 'OK'`)

	// KEYS = an upload. ARGV = offset, the bytes at that offset, milliseconds until the upload
	// expires. Bytes are appended only at their offset, so a script that runs twice, late or out of
	// order does not damage the upload.
	appendScript = newScript(`
local size, offset = redis.call('STRLEN', KEYS[1]), tonumber(ARGV[1])
if size >= offset + #ARGV[2] then
	return 'OK'
elseif size ~= offset then
	return redis.error_reply('ERR a part of the uploaded filter is gone')
elseif offset == 0 then
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
else
	redis.call('APPEND', KEYS[1], ARGV[2])
	redis.call('PEXPIRE', KEYS[1], ARGV[3]) -- last: see windowAddScript
end
return 'OK'`).repeatable()

	// ARGV = ..., the old JSON of the identity, the new JSON. It returns OK, or the identity if its
	// JSON is no longer the old one.
	infoScript = newScript(ifLost + `
if string.sub(identity, 38) ~= ARGV[4] then
	return identity
end
redis.call('SET', KEYS[3], string.sub(identity, 1, 37) .. ARGV[5])
return 'OK'`)

	// ARGV = ..., random bytes. It returns OK. The first SETRANGE changes nothing. It fails if the
	// server would refuse the later ones.
	resetScript = newScript(ifLost + `
redis.call('SETRANGE', KEYS[1], 0, header)
redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'm', ARGV[4])
identity = string.sub(identity, 1, 29) .. string.sub(ARGV[4], 1, 8) .. string.sub(identity, 38)
redis.call('SET', KEYS[3], identity)
redis.call('UNLINK', KEYS[1])
redis.call('SETRANGE', KEYS[1], size - 1, '\0')
redis.call('SETRANGE', KEYS[1], 0, header)
return 'OK'`)

	// It returns OK or, like a script that begins with ifLost, what it finds instead of the filter.
	// If the string is gone, it deletes the stream and the identity, unless the identity belongs to
	// another filter. If the identity is gone, a stream shows that the string is the filter.
	deleteScript = newScript(findIt + `
local hasString = redis.call('EXISTS', KEYS[1]) == 1
local stream = redis.call('TYPE', KEYS[2]).ok
local hasStream = stream == 'stream'
local hasIdentity = redis.call('EXISTS', KEYS[3]) == 1
local isOther = hasIdentity and id ~= ARGV[3]
if hasString then
	local isNamed = id == ARGV[3] or not hasIdentity and hasStream
	isOther = header ~= ARGV[1] or size ~= tonumber(ARGV[2]) or not isNamed
end
if isOther then
	return {header, size, identity}
end
if not hasStream and stream ~= 'none' then
	return redis.error_reply('WRONGTYPE ' .. KEYS[2] .. ' holds no stream')
end
redis.call('UNLINK', unpack(KEYS))
return 'OK'`)
)
