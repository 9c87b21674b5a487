#!lua name=croupier
-- The writes that must happen all or not at all. Functions do not roll back: every check comes before the first write.

local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- KEYS: owner. ARGV: worker, lease in ms. Returns the new epoch, or 0 if another worker holds the partition.
local function acquire(keys, args)
  local held = redis.call('HMGET', keys[1], 'worker', 'until')
  if held[1] and held[1] ~= '' and held[1] ~= args[1] and tonumber(held[2]) > now() then
    return 0
  end
  redis.call('HSET', keys[1], 'worker', args[1], 'until', now() + tonumber(args[2]))
  return redis.call('HINCRBY', keys[1], 'epoch', 1)
end

-- KEYS: owner. ARGV: worker, epoch, lease in ms. Returns 1, or 0 if the lease is lost.
local function renew(keys, args)
  local held = redis.call('HMGET', keys[1], 'worker', 'epoch')
  if held[1] ~= args[1] or held[2] ~= args[2] then
    return 0
  end
  redis.call('HSET', keys[1], 'until', now() + tonumber(args[3]))
  return 1
end

-- KEYS: owner. ARGV: worker, epoch. The epoch stays, so that it never restarts.
local function release(keys, args)
  local held = redis.call('HMGET', keys[1], 'worker', 'epoch')
  if held[1] ~= args[1] or held[2] ~= args[2] then
    return 0
  end
  redis.call('HSET', keys[1], 'worker', '', 'until', 0)
  return 1
end

-- KEYS: workers. ARGV: worker, lease in ms. Returns the live workers, ascending by name.
local function heartbeat(keys, args)
  local time = now()
  redis.call('ZADD', keys[1], time + tonumber(args[2]), args[1])
  redis.call('ZREMRANGEBYSCORE', keys[1], '-inf', '(' .. time)
  local live = redis.call('ZRANGE', keys[1], 0, -1)
  table.sort(live)
  return live
end

-- What else a commit may write, besides entries; each to the one key that it is given.
local writes = {
  seed = function(key, sealed) redis.call('SET', key, sealed) end,
  reveal = function(key) redis.call('DEL', key) end,
  open = function(key, match, summary) redis.call('HSET', key, match, summary) end,
  close = function(key, match) redis.call('HDEL', key, match) end,
  due = function(key, member, at) redis.call('ZADD', key, at, member) end,
  ended = function(key, match) redis.call('ZADD', key, now(), match) end,
  expire = function(key, seconds) redis.call('EXPIRE', key, seconds) end,
}

-- Whether a journal has just this length and this last hash: then it may go on, or go. Entries are <version + 1>-0
-- without gaps, so the last one's id is the length.
local function continues(journal, length, head)
  local last = redis.call('XREVRANGE', journal, '+', '-', 'COUNT', 1)[1]
  if not last then
    return length == '0'
  end
  local fields = last[2]
  return last[1] == length .. '-0' and head == (fields[1] == 'hash' and fields[2] or fields[4])
end

-- Commits the entries of several matches, each match all or nothing.
-- KEYS: of each match its partition's owner, its journal, and one for each further write.
-- ARGV: worker; then of each match: epoch, expected length, expected last hash ('' for none), number of entries, number
--       of further writes; line and hash of each entry; name and two arguments of each write.
-- Returns for each match 'OK', 'CONFLICT' (length or hash is another) or 'FENCED' (the lease is another worker's).
local function commit(keys, args)
  local worker, epochs, results = args[1], {}, {}
  local key, arg, last = 1, 2, #keys
  while key < last do
    local owner, journal = keys[key], keys[key + 1]
    local epoch, length, head = args[arg], args[arg + 1], args[arg + 2]
    local entries, more = tonumber(args[arg + 3]), tonumber(args[arg + 4])
    local line, write = arg + 5, arg + 5 + 2 * entries
    if epochs[owner] == nil then
      local held = redis.call('HMGET', owner, 'worker', 'epoch')
      epochs[owner] = held[1] == worker and held[2]
    end
    local result = 'OK'
    if epochs[owner] ~= epoch then
      result = 'FENCED'
    elseif not continues(journal, length, head) then
      result = 'CONFLICT'
    else
      if entries == 0 then
        -- Changes nothing, but WAIT and WAITAOF wait for a connection's writes only, and so for all that came before
        -- this one.
        redis.call('HSET', owner, 'worker', worker)
      end
      for number = 1, entries do
        redis.call('XADD', journal, (length + number) .. '-0', 'line', args[line], 'hash', args[line + 1])
        line = line + 2
      end
      for number = 1, more do
        writes[args[write]](keys[key + 1 + number], args[write + 1], args[write + 2])
        write = write + 3
      end
    end
    results[#results + 1] = result
    key, arg = key + 2 + more, arg + 5 + 2 * entries + 3 * more
  end
  return results
end

-- KEYS: journal, ended. ARGV: match, length and last hash of the journal that was archived, when it goes (Unix ms).
-- Returns 1 if that journal goes at that time, at once if it is over, or has gone already; 0 if another one is there.
local function drop(keys, args)
  if redis.call('XLEN', keys[1]) > 0 then
    if not continues(keys[1], args[2], args[3]) then
      return 0
    end
    redis.call('PEXPIREAT', keys[1], args[4])
  end
  redis.call('ZREM', keys[2], args[1])
  return 1
end

-- KEYS: journal, ended. ARGV: match. The match has ended: it stays until it is archived. Returns 1 if it is there.
local function enlist(keys, args)
  if redis.call('EXISTS', keys[1]) == 0 then
    return 0
  end
  redis.call('ZADD', keys[2], 'NX', 0, args[1])
  redis.call('PERSIST', keys[1])
  return 1
end

-- A server that is full (maxmemory) lets these run: leases take no room that grows, and what the archive does makes room.
local function also_when_full(name, callback)
  redis.register_function{function_name = name, callback = callback, flags = {'allow-oom'}}
end

redis.register_function('croupier_commit', commit)
also_when_full('croupier_confirm', commit) -- for commits without entries, which write nothing new
also_when_full('croupier_acquire', acquire)
also_when_full('croupier_renew', renew)
also_when_full('croupier_release', release)
also_when_full('croupier_heartbeat', heartbeat)
also_when_full('croupier_drop', drop)
also_when_full('croupier_enlist', enlist)
