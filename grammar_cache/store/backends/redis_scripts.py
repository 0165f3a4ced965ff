"""Scripts in Lua that a Redis server runs, each in one piece: it changes all it has to, or nothing.

They are sent whole with each call, so that a server that was restarted, flushed or replaced needs nothing first. What
is under a key but of another type than ours is not ours: it is not read, and gives way to what is written.
"""

from __future__ import annotations

_OURS = """
local function ours(key, kind)
  local found = redis.call('TYPE', key).ok
  return found == kind or found == 'none'
end
local function make_way(key, kind)
  if not ours(key, kind) then redis.call('UNLINK', key) end
end
-- How many values a table has; none where there are more than anybody of us writes.
local function count_of(key, most)
  local values = ours(key, 'hash') and redis.call('HLEN', key) or 0
  return values <= tonumber(most) and values or 0
end
"""

LOAD = f"""{_OURS}
-- KEYS: artefact, table. ARGV: the last byte to read, the longest value, how many values; then perhaps bytes and
-- values from which on only their numbers are told.
-- The values as one string, each as key, length in two bytes, value: a client takes long over thousands of answers.
local bytes = ours(KEYS[1], 'string') and redis.call('STRLEN', KEYS[1]) or 0
local values = count_of(KEYS[2], ARGV[3])
if ARGV[4] and (bytes > tonumber(ARGV[4]) or values > tonumber(ARGV[5])) then return {{bytes, values}} end
local artefact = bytes > 0 and redis.call('GETRANGE', KEYS[1], 0, ARGV[1]) or ''
local all = values > 0 and redis.call('HGETALL', KEYS[2]) or {{}}
local found = {{}}
for i = 1, #all, 2 do
  if #all[i] == 16 and #all[i + 1] <= tonumber(ARGV[2]) then
    found[#found + 1] = all[i]
    found[#found + 1] = struct.pack('>H', #all[i + 1])
    found[#found + 1] = all[i + 1]
  end
end
return {{artefact, table.concat(found)}}
"""

PUT = f"""{_OURS}
-- KEYS: artefact, info. ARGV: value, origin, when, seconds to live.
make_way(KEYS[2], 'hash')
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[4])
redis.call('HSETNX', KEYS[2], 'created', ARGV[3])
redis.call('HSET', KEYS[2], 'origin', ARGV[2], 'used', ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[4])
"""

MERGE = f"""{_OURS}
-- KEYS: table, info. ARGV: how many values, when, seconds to live, then keys and values by turns.
-- Lua compares strings as the server's language does: here bytes count.
local function less(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = one:byte(i), other:byte(i)
    if a ~= b then return a < b end
  end
  return #one < #other
end
make_way(KEYS[1], 'hash')
make_way(KEYS[2], 'hash')
local count = count_of(KEYS[1], ARGV[1])
if count == 0 then redis.call('UNLINK', KEYS[1]) end
for i = 4, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  if not known and count < tonumber(ARGV[1]) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    count = count + 1
  elseif known and less(ARGV[i + 1], known) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('HSETNX', KEYS[2], 'created', ARGV[2])
redis.call('HSET', KEYS[2], 'used', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[3])
"""

DISCARD = f"""{_OURS}
-- KEYS: table. ARGV: keys and values by turns.
make_way(KEYS[1], 'hash')
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
"""

USE = f"""{_OURS}
-- KEYS: artefact, table, info. ARGV: when, seconds to live.
make_way(KEYS[3], 'hash')
if redis.call('EXISTS', KEYS[3]) == 1 then
  local counted = redis.pcall('HINCRBY', KEYS[3], 'uses', 1)
  if type(counted) == 'table' then redis.call('HSET', KEYS[3], 'uses', 1) end -- it was no number, or the last one
  redis.call('HSET', KEYS[3], 'used', ARGV[1])
  for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[2]) end
end
"""

ACQUIRE = f"""{_OURS}
-- KEYS: lease. ARGV: token, milliseconds.
make_way(KEYS[1], 'string')
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
local own = redis.call('GET', KEYS[1]) == ARGV[1]
local left = redis.call('PTTL', KEYS[1])
-- Nobody's lease is longer than one's own: its holder is alive if it renews that.
if own or left < 0 or left > tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return own and 1 or 0
"""

RELEASE = f"""{_OURS}
-- KEYS: lease. ARGV: token.
make_way(KEYS[1], 'string')
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
