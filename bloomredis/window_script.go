package bloomredis

// KEYS[1] is a string of the window's configuration, id and generations, and
// expires with the last of them. ARGV begins with the configuration, the length
// of a generation in microseconds, how many are live besides the current one,
// the size of their strings, what their names begin with, the id and the newest
// generation that the caller has seen, and k.
//
// The names of generations are computed here, from the server's clock, and are
// not among KEYS. Redis allows that where they are in the slot of KEYS[1], and
// so does a cluster. The alternative, numbers modulo Generations + 1, could all
// be declared, but nothing would tell an old string from a new one.
//
// Scripts return {id, newest generation, answers}, {'lost', why}, or {'other',
// what is there}.
//
// The string of a generation is written before it is listed, and listed before
// it gets bits: whatever is refused in between, nothing is half there. Nothing is
// without expiry, either: the first PEXPIRE changes nothing, but fails if the
// second would. Expiry is a second late, as the time by which Redis judges it was
// read before TIME. (SET with PX, then SETRANGE, would take twice the memory, as
// Redis makes room for a string that grows to grow on.)
const windowScript = `
local time = redis.call('TIME')
local length, generations, size, k = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[8])
local now = time[1] * 1000000 + time[2]
local current = (now - now % length) / length
local live, id = {}, ''
local names = {}
local function name(generation)
	names[generation] = names[generation] or ARGV[5] .. ':' .. string.format('%.0f', generation)
	return names[generation]
end

local about = redis.call('GETRANGE', KEYS[1], 0, 2000)
if about ~= '' then
	local config, its, list = string.match(about, '^([^;]*);(%x+);([%d ]+)$')
	if config ~= ARGV[1] then
		return {'other', config or about}
	end
	id = its
	for generation in string.gmatch(list, '%d+') do
		current = math.max(current, tonumber(generation))
		live[#live + 1] = tonumber(generation)
	end
	while live[1] and live[1] < current - generations do
		table.remove(live, 1)
	end
end
if ARGV[6] ~= '' and ARGV[6] ~= id and ARGV[7] + generations >= current then
	return {'lost', 'it is gone or was created anew'}
end
for _, generation in ipairs(live) do
	if redis.call('STRLEN', name(generation)) ~= size then
		return {'lost', 'a part of it is gone'}
	end
end

local function contains(generation, offset)
	local key, call = name(generation), redis.call
	for i = offset, offset + k - 1 do
		if call('GETBIT', key, ARGV[i]) == 0 then
			return false
		end
	end
	return true
end
local answers = {}`

var (
	// ARGV = ..., an id, a header, k offsets for each key.
	windowContainsScript = newScript(windowScript + `
for offset = 11, #ARGV, k do
	local answer = '0'
	for i = #live, 1, -1 do
		if contains(live[i], offset) then
			answer = '1'
			break
		end
	end
	answers[#answers + 1] = answer
end
return {live[1] and id or '', live[#live] or current, table.concat(answers)}`)

	// ARGV as above.
	windowAddScript = newScript(windowScript + `
if live[#live] ~= current then
	if id == '' then
		id = ARGV[9]
	end
	live[#live + 1] = current
	local expiry = math.ceil(((current + generations + 1) * length - now) / 1000) + 1000
	expiry = string.format('%.0f', expiry)
	redis.call('UNLINK', name(current))
	redis.call('PEXPIRE', name(current), expiry)
	redis.call('SETRANGE', name(current), size - 1, '\0')
	redis.call('SETRANGE', name(current), 0, ARGV[10])
	redis.call('PEXPIRE', name(current), expiry)
	local list = {}
	for i, generation in ipairs(live) do
		list[i] = string.format('%.0f', generation)
	end
	redis.call('SET', KEYS[1], ARGV[1] .. ';' .. id .. ';' .. table.concat(list, ' '), 'PX', expiry)
end
for offset = 11, #ARGV, k do
	local last
	for i = #live, 1, -1 do
		if contains(live[i], offset) then
			last = live[i]
			break
		end
	end
	if last ~= current then
		local bits, n = {}, 0
		for i = offset, offset + k - 1 do
			bits[n + 1], bits[n + 2], bits[n + 3], bits[n + 4] = 'SET', 'u1', ARGV[i], '1'
			n = n + 4
		end
		redis.call('BITFIELD', name(current), unpack(bits))
	end
	answers[#answers + 1] = last and '0' or '1'
end
return {id, current, table.concat(answers)}`)

	// It deletes also what is no longer live.
	windowDeleteScript = newScript(`
local about = redis.call('GETRANGE', KEYS[1], 0, 2000)
local config, id, list = string.match(about, '^([^;]*);(%x+);([%d ]+)$')
if about ~= '' and config ~= ARGV[1] then
	return {'other', config or about}
end
for generation in string.gmatch(list or '', '%d+') do
	redis.call('UNLINK', ARGV[5] .. ':' .. generation)
end
redis.call('UNLINK', KEYS[1])
return {'', 0, ''}`)
)
