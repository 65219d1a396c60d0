/**
 * Counts are plain values: a bucket is its tokens and the time in milliseconds, slots are a hash of how many each
 * process holds and until when, attempts are a number that expires. All times are Redis's own. A value that does not
 * have this form counts as absent.
 */
import { redisScript } from './connection.ts';

const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * ARGV: tokens per second, capacity, tokens that are wanted, milliseconds that a bucket is kept at the most. Returns
 * the tokens, and milliseconds until there is another one. A bucket that is full needs no key.
 */
export const takeTokens = redisScript(`${now}
local perSecond, capacity, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.pcall('GET', KEYS[1])
local before, filled = string.match(type(kept) == 'string' and kept or '', '^(%d+%.%d+) (%d+)$')
local there = capacity
if before then there = math.min(capacity, tonumber(before) + math.max(0, now - tonumber(filled)) / 1000 * perSecond) end
local tokens = math.min(most, math.floor(there))
local left = there - tokens
local fullMs = math.ceil((capacity - left) / perSecond * 1000)
if fullMs > 0 then
  redis.call('SET', KEYS[1], string.format('%.6f %.0f', left, now), 'PX', math.min(fullMs + 1000, tonumber(ARGV[4])))
end
return { tokens, tokens == most and 0 or math.ceil((1 - left) / perSecond * 1000) }
`);

/** ARGV: our member, limit, slots in use, slots that are wanted, milliseconds. Returns the slots that we hold now. */
export const holdSlots = redisScript(`${now}
local member, ttl, others = ARGV[1], tonumber(ARGV[5]), 0
local all = redis.pcall('HGETALL', KEYS[1])
if all.err then
  redis.call('DEL', KEYS[1])
  all = {}
end
for at = 1, #all, 2 do
  local count, ends = string.match(all[at + 1], '^(%d+) (%d+)$')
  if all[at] == member then count = 0
  elseif not count or tonumber(ends) <= now then
    redis.call('HDEL', KEYS[1], all[at])
    count = 0
  end
  others = others + tonumber(count)
end
local held = math.max(tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), tonumber(ARGV[2]) - others))
if held > 0 then
  redis.call('HSET', KEYS[1], member, string.format('%.0f %.0f', held, now + ttl))
  if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end
else redis.call('HDEL', KEYS[1], member) end
return held
`);

/** Attempts of a counter, and milliseconds until they are forgotten. A number without an end counts as none. */
const attemptsOf = `
local function attemptsOf(key)
  local kept = redis.pcall('GET', key)
  local count, left = type(kept) == 'string' and tonumber(kept), redis.call('PTTL', key)
  if not count or left <= 0 then return 0, 0 end
  return count, left
end
`;

/** ARGV, for each of KEYS: most attempts, milliseconds. Returns the milliseconds to wait; 0: it was counted. */
export const countAttempt = redisScript(`${attemptsOf}
local wait = 0
for at, key in ipairs(KEYS) do
  local count, left = attemptsOf(key)
  if count >= tonumber(ARGV[2 * at - 1]) then wait = math.max(wait, math.min(left, tonumber(ARGV[2 * at]))) end
end
if wait > 0 then return wait end
for at, key in ipairs(KEYS) do
  local count, left = attemptsOf(key)
  redis.call('SET', key, string.format('%.0f', count + 1), 'PX', count > 0 and left or ARGV[2 * at])
end
return 0
`);

/** ARGV, for each of KEYS: attempts to take back, or 'all'. */
export const takeBackAttempts = redisScript(`${attemptsOf}
for at, key in ipairs(KEYS) do
  local count, left = attemptsOf(key)
  local rest = ARGV[at] == 'all' and 0 or count - 1
  if rest > 0 then redis.call('SET', key, string.format('%.0f', rest), 'PX', left) else redis.call('DEL', key) end
end
`);
