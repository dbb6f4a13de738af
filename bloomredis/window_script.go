package bloomredis

// KEYS[1] is a string of a window. It begins with a head of 192 bytes: the
// configuration, padded to 160, an id of 16 bytes, and the newest generation in
// 16 digits. The cells follow; see layout. The string expires when its newest
// generation is no longer live. ARGV begins with the configuration, the length of a
// generation in microseconds, the number of generations in a Span, the string's size,
// the bytes of a plane, the positions of a key in a cell, the keys (see appendKey), and the
// id and newest generation that the caller has seen.
//
// Scripts return {id, newest generation, current generation, answers}, {'lost'}, or
// {'other', what the string begins with, its size}.
const windowScript = `
local time = redis.call('TIME')
local length, generations, size = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local width, half, keys = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local planes = generations + 1
local now = time[1] * 1000000 + time[2]
local current = (now - now % length) / length
local id, newest = '', -1

local head, is = redis.call('GETRANGE', KEYS[1], 0, 191), redis.call('STRLEN', KEYS[1])
local found = is == size and string.sub(head, 1, 160) == ARGV[1]
if found then
	id, newest = string.sub(head, 161, 176), tonumber(string.sub(head, 177))
	current = math.max(current, newest)
end
if ARGV[8] ~= '' and ARGV[8] ~= id and ARGV[9] + generations >= current then
	return {'lost'}
end
if is > 0 and not found then
	return {'other', head, is}
end

local byte, band = string.byte, bit.band
local masks = {[0] = 128, 64, 32, 16, 8, 4, 2, 1}

-- The half of a key at keys[at]: where its cell begins, the cell, its newest
-- generation, and where the positions are.
local function read(at, into)
	local b1, b2, b3, b4 = byte(keys, at, at + 3)
	local start = 192 + (((b1 * 256 + b2) * 256 + b3) * 256 + b4) * (16 + planes * width)
	local cell = redis.call('GETRANGE', KEYS[1], start, start + 15 + planes * width)
	into.start, into.cell, into.newest = start, cell, tonumber(string.sub(cell, 1, 16)) or -1
	for i = 1, half do
		local high, low = byte(keys, at + 2 + 2 * i, at + 3 + 2 * i)
		into[i] = high * 256 + low
	end
end

-- Whether generation has all positions of a half.
local function has(it, generation)
	local plane = 17 + generation % planes * width
	for i = 1, half do
		local position = it[i]
		local low = position % 8
		if band(byte(it.cell, plane + (position - low) / 8), masks[low]) == 0 then
			return false
		end
	end
	return true
end

-- The newest live generation of the key at keys[at], or nil. If it is not the
-- current one, both halves have been read.
local one, two, bytes = {}, {}, 4 + 2 * half
local function last(at, both)
	read(at, one)
	local whole = both
	if both then
		read(at + bytes, two)
	end
	for generation = one.newest, current - generations, -1 do
		if has(one, generation) then
			if not whole then
				read(at + bytes, two)
				whole = true
			end
			if generation <= two.newest and has(two, generation) then
				return generation
			end
		end
	end
end
local answers = {}`

var (
	windowContainsScript = newScript(windowScript + `
for at = 1, #keys, 2 * bytes do
	answers[#answers + 1] = found and last(at) and '1' or '0'
end
return {id, newest, current, table.concat(answers)}`).repeatable()

	// The keys are the numbers of cells, without positions. It answers with the cells.
	windowStatsScript = newScript(windowScript + `
for at = 1, found and #keys or 0, bytes do
	read(at, one)
	answers[#answers + 1] = one.cell
end
return {id, newest, current, table.concat(answers)}`).repeatable()

	// ARGV = ..., an id for a new string. KEYS = ..., and where there is a token its
	// key.
	//
	// What is refused must fail before anything is written. So the first SETRANGE and
	// the first PEXPIRE change nothing that matters, but fail if the others would.
	// Expiry is a second late, as the time by which Redis judges it was read before
	// TIME. (SET with PX, then SETRANGE, would take twice the memory, as Redis makes
	// room for a string that grows to grow on.)
	windowAddScript = newScript(windowScript + `
if KEYS[2] then
	local before = redis.call('GETRANGE', KEYS[2], 0, -1)
	if #before > 16 and string.sub(before, 1, 16) == id then
		return {id, newest, current, string.sub(before, 17)}
	end
	redis.call('SET', KEYS[2], '', ` + rememberFor + `)
end
local stamp = string.format('%016.0f', current)
if newest < current then
	local expiry = string.format('%.0f', math.ceil(((current + planes) * length - now) / 1000) + 1000)
	redis.call('SETRANGE', KEYS[1], 0, '')
	redis.call('PEXPIRE', KEYS[1], expiry)
	if not found then
		id = ARGV[10]
		redis.call('SETRANGE', KEYS[1], size - 1, '\0')
		redis.call('PEXPIRE', KEYS[1], expiry)
		redis.call('SETRANGE', KEYS[1], 0, ARGV[1] .. id)
	end
	redis.call('SETRANGE', KEYS[1], 176, stamp)
	newest = current
end

local set = {'BITFIELD', KEYS[1]}
for i = 1, 2 * half do
	set[4 * i - 1], set[4 * i], set[4 * i + 2] = 'SET', 'u1', '1'
end
-- Puts the positions of a half into set, in a cell that has no bits of
-- generations that are not live.
local function put(it, at)
	if it.newest >= 0 and it.newest < current then
		-- The planes of the generations since, in a ring.
		local new, first = math.min(current - it.newest, planes), (it.newest + 1) % planes
		local high = math.min(new, planes - first)
		redis.call('SETRANGE', KEYS[1], it.start + 16 + first * width, string.rep('\0', high * width))
		if new > high then
			redis.call('SETRANGE', KEYS[1], it.start + 16, string.rep('\0', (new - high) * width))
		end
	end
	if it.newest < current then
		redis.call('SETRANGE', KEYS[1], it.start, stamp)
	end
	local plane = (it.start + 16 + current % planes * width) * 8
	for i = 1, half do
		set[4 * (at + i) + 1] = plane + it[i]
	end
end
for at = 1, #keys, 2 * bytes do
	local generation = last(at, true)
	if generation ~= current then
		put(one, 0)
		put(two, half) -- perhaps the same cell: no bit is set before
		redis.call(unpack(set))
	end
	answers[#answers + 1] = generation and '0' or '1'
end
answers = table.concat(answers)
if KEYS[2] then
	redis.call('SET', KEYS[2], id .. answers, ` + rememberFor + `)
end
return {id, newest, current, answers}`)

	// There are no keys. For the first writes see windowAddScript.
	windowResetScript = newScript(windowScript + `
if found then
	local expiry = string.format('%.0f', math.max(1, math.ceil(((newest + planes) * length - now) / 1000) + 1000))
	redis.call('SETRANGE', KEYS[1], 0, '')
	redis.call('PEXPIRE', KEYS[1], expiry)
	redis.call('UNLINK', KEYS[1])
	redis.call('SETRANGE', KEYS[1], size - 1, '\0')
	redis.call('PEXPIRE', KEYS[1], expiry)
	redis.call('SETRANGE', KEYS[1], 0, head)
end
return {id, newest, current, ''}`)

	// ARGV = what the string begins with. It returns what it began with, if it was
	// there.
	windowDeleteScript = newScript(`
local head = redis.call('GETRANGE', KEYS[1], 0, 191)
if string.sub(head, 1, #ARGV[1]) == ARGV[1] then
	redis.call('UNLINK', KEYS[1])
elseif head ~= '' then
	return {'other', head, redis.call('STRLEN', KEYS[1])}
end
return head`).repeatable()
)
