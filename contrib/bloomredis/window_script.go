package bloomredis

// KEYS[1] is a string of a window. It begins with a head: the configuration, an id of 8 bytes, 8
// bytes that Reset changes, and a state. The pages follow. See layout.
//
// ARGV are the configuration, the size of the string, life and a generation in microseconds, slack,
// full, share, k, lanes and lean of the layout. Then come the id and the time "over" of the last
// reply that the caller has seen, and an id for a new string. The keys follow; see appendKey.
//
// The words of this file, most of which package window defines:
//
//	plane       a set of keys added one after another; plane i has bit i mod 32 of each lane
//	lane        32 bits, one for each plane
//	page        a stamp of 8 bytes and the lanes of some keys
//	generation  Span / Generations; a plane usually ends at most a generation after it began
//	share       the number of keys at which a plane ends, even before its generation is over
//	full        how many planes that have their share must be kept for the newest N keys
//	slack       how many live planes may have ended before they had their share
//	lean        with Renew, a key is rewritten if more planes than this follow its plane
//	life        how long a plane lives after its end
//
// The planes are a ring. The live planes have the numbers tail to seq; seq is the newest. The state
// has seq, tail and lost, and for each plane its end and its number of keys. All times are the
// server's, in microseconds.
//
//   - A plane begins if a key must be written and the newest plane has ended. It ends when it has
//     its share of keys, or usually a generation after it began. It dies a Span after its end, or
//     with Renew a Span and a generation.
//   - With Renew, a key that is found is written again, unless the newest plane that has it is
//     open, or ended less than a generation ago. The key is also written again if more than lean
//     planes follow that plane, including one that the write would begin.
//   - Of the live planes, at most slack may have ended before they had their share. If a clock that
//     jumps back and forth would end more, the newest plane gets another generation, so that such
//     planes do not push out the newest N keys.
//   - If no plane is free, the oldest one is given up. More are given up, oldest first, as long as
//     enough planes that have their share would remain; full says how many. lost is a time: no key
//     of the planes that were given up was added after it, or found after it and not written again.
//   - If the clock steps back, the next write lowers the ends of planes: the newest plane then ends
//     at most a generation from now, and all others have ended.
//   - The bits of dead planes are cleared lazily. A page's stamp plus 32 is the number of the last
//     plane for which the page was cleared. A script that writes to a page clears the bits of all
//     dead planes first, unless the page was cleared for the newest plane.
//
// A script that begins with windowScript returns {id, the time when all keys are forgotten, now,
// answers}, {'lost'}, or {'other', the beginning of the string, its size}.
const windowScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local text, size, life, step = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local slack, full = tonumber(ARGV[5]), tonumber(ARGV[6])
local share, k = tonumber(ARGV[7]), tonumber(ARGV[8])
local lanes, lean = tonumber(ARGV[9]), tonumber(ARGV[10])
local floor = #text + 16
local id, seq, tail, lost, ring = '', 0, 1, -1, {}
local band = bit.band

local head = redis.call('GETRANGE', KEYS[1], 0, floor + 535)
local length = redis.call('STRLEN', KEYS[1])
local found = length == size and string.sub(head, 1, #text) == text
if found then
	id = string.sub(head, #text + 1, floor)
	ring = {struct.unpack('<' .. string.rep('d', 67), head, floor + 1)}
	seq, tail, lost = ring[1], ring[2], ring[3]
end
local function ends(number) return ring[4 + number % 32 * 2] end
local function count(number) return ring[5 + number % 32 * 2] end

local over = seq > 0 and ends(seq) + life or 0
if ARGV[11] ~= '' and ARGV[11] ~= string.sub(id, 1, 8) and now <= tonumber(ARGV[12]) then
	return {'lost'}
end
if not found and (length > 0 or redis.call('EXISTS', KEYS[1]) == 1) then
	return {'other', head, length}
end
local first = tail
while tail <= seq and now - ends(tail) >= life do
	tail = tail + 1
end

-- Returns the bits of the planes low to high.
local function mask(low, high)
	if high - low >= 31 then
		return -1
	end
	return high < low and 0 or bit.rol(bit.lshift(1, high - low + 1) - 1, low % 32)
end
local live, cleared = mask(tail, seq), 0

-- Returns a function that reads the lanes low to high of the key at ARGV[at]. Lane 0 is the page's
-- stamp.
local function reader(low, high)
	local get = {'BITFIELD_RO', KEYS[1]}
	for i = 1, high - low + 1 do
		get[3 * i], get[3 * i + 1] = 'GET', low + i == 1 and 'i64' or 'i32'
	end
	return function(at)
		for i = low, high do
			get[3 * (i - low) + 5] = ARGV[at + i]
		end
		return redis.call(unpack(get))
	end
end
-- Returns the live planes that have a key, as bits. values has the page's stamp and the key's
-- lanes. The stamp is replaced with the bits of the live planes for which the page was cleared.
local function planesIn(values)
	cleared = values[1] + 32
	values[1] = cleared < seq and band(live, mask(tail, cleared)) or live
	return band(unpack(values))
end
local answers = {}`

var (
	windowContainsScript = newScript(windowScript + `
local few = k < 12 and k or 8 -- for most absent keys, this many lanes suffice
local look, more = reader(0, few), reader(few + 1, k)
for at = 14, #ARGV, k + 1 do
	local planes = found and planesIn(look(at)) or 0
	if planes ~= 0 and few < k then
		planes = band(planes, unpack(more(at)))
	end
	answers[#answers + 1] = planes == 0 and '0' or '1'
end
return {id, over, now, table.concat(answers)}`).repeatable()

	// ARGV has no keys. The answer is the state, or empty if there is no string.
	windowStateScript = newScript(windowScript + `
ring[1], ring[2], ring[3] = seq, tail, lost
local form = '<' .. string.rep('d', 67)
return {id, over, now, found and struct.pack(form, unpack(ring, 1, 67)) or ''}`).repeatable()

	// KEYS = ..., and the key of a token if there is one.
	//
	// The first writes to the string are a SETRANGE and, with a Span, a PEXPIRE that change
	// nothing. If the server refuses writes, it refuses these, before the string has changed.
	//
	// The effective PEXPIRE comes last. Before Redis 7.2 it counts from the current time, but the
	// other commands of a script use the time at which the script began. If the clock had stepped
	// back since, a later command would find the string expired, and make a new one without a head.
	//
	// The string expires at least a second late, because Redis judges expiry by a time that it read
	// before the script ran TIME. SET with PX and then SETRANGE would need twice the memory: Redis
	// reserves room when a string grows.
	windowAddScript = newScript(windowScript + `
if KEYS[2] then
	local before = redis.call('GETRANGE', KEYS[2], 0, -1)
	if #before > 16 and string.sub(before, 1, 16) == id then
		return {id, over, now, string.sub(before, 17)}
	end
	redis.call('SET', KEYS[2], '', ` + rememberFor + `)
end

-- Runs before every other write to the string, and acts only the first time.
local begun, whole = false, tail ~= first
local function write()
	if begun then
		return
	end
	begun = true
	redis.call('SETRANGE', KEYS[1], 0, '')
	if step < 2 ^ 60 then
		local refused = redis.pcall('PEXPIRE', KEYS[1], '')
		if not string.find(refused.err, 'not an integer', 1, true) then
			error(refused.err)
		end
	end
	if not found then
		found, id = true, ARGV[13]
		redis.call('SETRANGE', KEYS[1], size - 1, '\0')
		redis.call('SETRANGE', KEYS[1], 0, text .. id)
		for i = 4, 67 do
			ring[i] = 0
		end
	end
	-- If the clock has stepped back, the ends of planes follow it.
	local late = ends(seq) > now + step or tail < seq and ends(seq - 1) > now + 1
	if tail <= seq and late or lost > now then
		for number = tail, seq do
			local at = 4 + number % 32 * 2
			ring[at] = math.min(ring[at], now + (number == seq and step or 1))
		end
		lost, whole = math.min(lost, now), true
	end
end

-- Begins a plane if the newest one cannot receive a key.
local function begin()
	if tail <= seq and count(seq) < share then
		if now < ends(seq) then
			return
		end
		local few = 0
		for number = tail, seq do
			few = few + (count(number) < share and 1 or 0)
		end
		if few > slack then
			ring[4 + seq % 32 * 2], whole = now + step, true
			return
		end
	end
	if seq - tail >= 31 then
		local left = 0
		for number = tail, seq do
			left = left + (count(number) < share and 0 or 1)
		end
		repeat
			lost = math.max(lost, math.min(now, ends(tail) + step - 1, ends(tail + lean) - 1))
			left = left - (count(tail) < share and 0 or 1)
			tail = tail + 1
		until left - (count(tail) < share and 0 or 1) < full
	end
	seq, whole = seq + 1, true
	ring[4 + seq % 32 * 2], ring[5 + seq % 32 * 2] = now + step, 0
	live = mask(tail, seq)
end

-- Clears the bits of all planes in a page, except the planes in keep.
local function clear(page, keep)
	local parts, start = {struct.pack('>i8', tail - 1)}, page / 8 + 8
	if keep == 0 then
		parts[2] = string.rep('\0', 4 * lanes)
	else
		for at = 0, lanes - 1, 256 do
			local n = math.min(256, lanes - at)
			local form = '>' .. string.rep('i4', n)
			local low, high = start + 4 * at, start + 4 * (at + n) - 1
			local old = {struct.unpack(form, redis.call('GETRANGE', KEYS[1], low, high))}
			for i = 1, n do
				old[i] = band(old[i], keep)
			end
			parts[#parts + 1] = struct.pack(form, unpack(old, 1, n))
		end
	end
	redis.call('SETRANGE', KEYS[1], page / 8, table.concat(parts))
end

local set = {'BITFIELD', KEYS[1]}
for i = 1, k do
	set[4 * i - 1], set[4 * i] = 'SET', 'i32'
end
local function put(at, values)
	write()
	begin()
	local keep, plane, n = -1, bit.lshift(1, seq % 32), 2
	if cleared < seq then
		keep = mask(tail, cleared)
		clear(tonumber(ARGV[at]), keep)
	end
	for i = 1, k do
		local lane = band(values[i + 1], keep)
		if band(lane, plane) == 0 then
			set[n + 3], set[n + 4] = ARGV[at + i], bit.bor(lane, plane)
			n = n + 4
		end
	end
	if n > 2 then
		redis.call(unpack(set, 1, n))
	end
	local slot = 5 + seq % 32 * 2
	ring[slot] = ring[slot] + 1
	if ring[slot] >= share then
		ring[slot - 1], whole = math.min(ring[slot - 1], now + 1), true
	end
end

-- Reports whether a key that was found is remembered for a Span even if it is not written again.
local function stays(planes)
	local number, age = seq, (count(seq) >= share or now >= ends(seq)) and 1 or 0
	while band(planes, bit.lshift(1, number % 32)) == 0 do
		number, age = number - 1, age + 1
	end
	return age <= lean and now < ends(number) + step
end

local look = reader(0, k)
for at = 14, #ARGV, k + 1 do
	if not found then
		write()
	end
	local values = look(at)
	local planes = planesIn(values)
	if planes == 0 or lean > 0 and not stays(planes) then
		put(at, values)
	end
	answers[#answers + 1] = planes == 0 and '1' or '0'
end
if whole then
	write()
	ring[1], ring[2], ring[3] = seq, tail, lost
	local form = '<' .. string.rep('d', 67)
	redis.call('SETRANGE', KEYS[1], floor, struct.pack(form, unpack(ring, 1, 67)))
elseif begun then
	local offset = floor + 32 + seq % 32 * 16
	redis.call('SETRANGE', KEYS[1], offset, struct.pack('<d', count(seq)))
end
if begun and step < 2 ^ 60 then
	local ms = math.ceil((life + step) / 1000) + 1000
	redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ms))
end
answers = table.concat(answers)
if KEYS[2] then
	redis.call('SET', KEYS[2], id .. answers, ` + rememberFor + `)
end
return {id, seq > 0 and ends(seq) + life or 0, now, answers}`)

	// ARGV has no keys. The answer is empty.
	windowResetScript = newScript(windowScript + `
if found then
	id = string.sub(id, 1, 8) .. string.sub(ARGV[13], 9)
	redis.call('SETRANGE', KEYS[1], #text, id .. struct.pack('<ddd', seq, seq + 1, -1))
end
return {id, over, now, ''}`)

	// ARGV = the beginning of the strings to delete. It returns {''}, or the first kilobyte and the
	// size of a string that begins differently.
	windowDeleteScript = newScript(`
local head = redis.call('GETRANGE', KEYS[1], 0, 1023)
if string.sub(head, 1, #ARGV[1]) == ARGV[1] then
	redis.call('UNLINK', KEYS[1])
elseif redis.call('EXISTS', KEYS[1]) == 1 then
	return {head, redis.call('STRLEN', KEYS[1])}
end
return {''}`).repeatable()

	// ARGV = the beginning of a string, its size, and 1 if all its bytes must be zeros. It deletes
	// a string that matches all of these.
	windowRemainsScript = newScript(`
local head, size = ARGV[1], tonumber(ARGV[2])
local length, start = redis.call('STRLEN', KEYS[1]), redis.call('GETRANGE', KEYS[1], 0, #head - 1)
if length ~= size or start ~= head then
	return ''
end
if ARGV[3] == '1' then
	local piece = 2 ^ 20
	for at = 0, size - 1, piece do
		local bytes = redis.call('GETRANGE', KEYS[1], at, at + piece - 1)
		if bytes ~= string.rep('\0', #bytes) then
			return ''
		end
	end
end
redis.call('UNLINK', KEYS[1])
return 'gone'`)
)
