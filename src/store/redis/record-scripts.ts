/**
 * A record is a key of its own: its end (0: none), a line feed, and its value. Each collection has two sorted sets:
 * `index`, its keys by their bytes, and `ends`, its keys by their end. The tag in braces keeps a collection in one slot
 * of a cluster, so that each script is atomic.
 */
import { redisScript } from './connection.ts';

/** The end in the record decides, by the caller's clock. Redis's own expiry only tidies up. */
const live = `
local function live(raw, now)
  if type(raw) ~= 'string' then return false end
  local at = string.find(raw, '\\n', 1, true)
  local ends = at and tonumber(string.sub(raw, 1, at - 1))
  if not ends or (ends > 0 and ends <= now) then return false end
  return string.sub(raw, at + 1)
end
`;

/** A record that has ended is not listed; its entries are removed with later writes. */
const remove = `
local function remove()
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
end
`;

/** An index lives as long as its last record. */
const set = `
local function keep(name, ttl)
  local left = redis.call('PTTL', name)
  if ttl == 0 then
    if left > 0 then redis.call('PERSIST', name) end
  elseif left >= 0 and left < ttl then redis.call('PEXPIRE', name, ttl) end
end
local function set(raw, ends, ttl)
  local isNew = redis.call('EXISTS', KEYS[2]) == 0
  redis.call('SET', KEYS[1], raw)
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  if isNew and ttl > 0 then redis.call('PEXPIRE', KEYS[2], ttl) else keep(KEYS[2], ttl) end
  if ttl == 0 then
    redis.call('ZREM', KEYS[3], ARGV[1])
  else
    redis.call('PEXPIRE', KEYS[1], ttl)
    redis.call('ZADD', KEYS[3], ends, ARGV[1])
    if redis.call('PTTL', KEYS[3]) < ttl then redis.call('PEXPIRE', KEYS[3], ttl) end
  end
end
`;

/** KEYS of all but `listKeys`: record, index, ends. ARGV of all: the record's key, now. */

/**
 * Sets, replaces or deletes. ARGV 3: what must be there: `any`, `none`, or `same` as ARGV 4. ARGV 5: `set` or `delete`;
 * 6: value; 7: end, 0 for none; 8: milliseconds until Redis may forget it, 0 for never; 9: entries that ended before
 * are removed. Returns whether it was done.
 */
export const writeRecord = redisScript(`${live}${remove}${set}
local seen = ARGV[3] ~= 'any' and live(redis.pcall('GET', KEYS[1]), tonumber(ARGV[2]))
if ARGV[3] == 'none' and seen or ARGV[3] == 'same' and seen ~= ARGV[4] then return 0 end
if ARGV[5] == 'delete' then
  remove()
  return 1
end
set(ARGV[7] .. '\\n' .. ARGV[6], ARGV[7], tonumber(ARGV[8]))
local ended = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[9], 'LIMIT', 0, 16)
if #ended > 0 then
  redis.call('ZREM', KEYS[2], unpack(ended))
  redis.call('ZREM', KEYS[3], unpack(ended))
end
return 1
`);

export const takeRecord = redisScript(`${live}${remove}
local value = live(redis.pcall('GET', KEYS[1]), tonumber(ARGV[2]))
remove()
return value
`);

export const getRecord = redisScript(`${live}
return live(redis.pcall('GET', KEYS[1]), tonumber(ARGV[2]))
`);

/** KEYS: index, ends. ARGV: bounds of the range, most keys, now. Looks at a bounded number of ended entries. */
export const listKeys = redisScript(`
local most, now, found, offset = tonumber(ARGV[3]), tonumber(ARGV[4]), {}, 0
while #found < most and offset < most + 10000 do
  local some = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', offset, 100)
  if #some == 0 then break end
  offset = offset + #some
  for index, ends in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(some))) do
    if #found < most and not (ends and tonumber(ends) <= now) then found[#found + 1] = some[index] end
  end
end
return found
`);
