/**
 * A stream of events is one hash. `n`: the last sequence number, `f`: the first one that is kept, `b`: bytes of all
 * kept events. Each event is `<sequence>`, its sealed data, and `s<sequence>`, its size.
 */
import { redisScript } from './connection.ts';

/**
 * Events are kept without gaps: after a missing one, what was kept before it is dropped. ARGV: sequence, data, size,
 * most events, most bytes, milliseconds to keep the stream.
 */
export const appendEvent = redisScript(`
local key = KEYS[1]
local sequence, size = tonumber(ARGV[1]), tonumber(ARGV[3])
local most, mostBytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local kept = redis.call('HMGET', key, 'n', 'f', 'b')
local last, first, bytes = tonumber(kept[1] or 0), tonumber(kept[2] or sequence), tonumber(kept[3] or 0)
if sequence <= last then return 0 end
if sequence ~= last + 1 then
  redis.call('DEL', key)
  first, bytes = sequence, 0
end
redis.call('HSET', key, sequence, ARGV[2], 's' .. sequence, size)
bytes = bytes + size
while first <= sequence and (sequence - first >= most or bytes > mostBytes) do
  bytes = bytes - tonumber(redis.call('HGET', key, 's' .. first) or 0)
  redis.call('HDEL', key, first, 's' .. first)
  first = first + 1
end
redis.call('HSET', key, 'n', sequence, 'f', first, 'b', bytes)
redis.call('PEXPIRE', key, ARGV[6])
return 1
`);

/** The data of all events after ARGV[1], in order; nothing if there would be a gap. */
export const eventsAfter = redisScript(`
local key = KEYS[1]
local kept = redis.call('HMGET', key, 'n', 'f')
if not kept[1] or not kept[2] then return false end
local from, last = tonumber(ARGV[1]) + 1, tonumber(kept[1])
if from < tonumber(kept[2]) then return false end
local found = {}
while from <= last do
  local names = {}
  while from <= last and #names < 1000 do
    names[#names + 1] = from
    from = from + 1
  end
  for _, data in ipairs(redis.call('HMGET', key, unpack(names))) do found[#found + 1] = data or '' end
end
return found
`);
