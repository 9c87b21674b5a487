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

-- KEYS: journal, owner, seed, open, due, ended.
-- ARGV: worker, epoch, expected length, expected last hash ('' for none), match,
--       seed to store ('' for none), lobby summary ('' keeps, 'x' removes),
--       retention in s (0: the match goes on; -1: it has ended and waits for the archive),
--       number of entries, then line and hash of each, then score and member of each due decision.
-- Returns 'OK', 'CONFLICT' (length or hash is another) or 'FENCED' (the lease is another worker's).
local function commit(keys, args)
  local held = redis.call('HMGET', keys[2], 'worker', 'epoch')
  if held[1] ~= args[1] or held[2] ~= args[2] then
    return 'FENCED'
  end
  -- Entries are <version + 1>-0 without gaps, so the last one's id is the journal's length.
  local length = tonumber(args[3])
  local last = redis.call('XREVRANGE', keys[1], '+', '-', 'COUNT', 1)[1]
  if last then
    local fields = last[2]
    local hash = fields[1] == 'hash' and fields[2] or fields[4]
    if last[1] ~= args[3] .. '-0' or hash ~= args[4] then
      return 'CONFLICT'
    end
  elseif length > 0 then
    return 'CONFLICT'
  end
  local count = tonumber(args[9])
  if count == 0 then
    -- Changes nothing, but WAIT and WAITAOF wait for a connection's writes only, and so for all that came before this one.
    redis.call('HSET', keys[2], 'worker', args[1])
  end
  for i = 1, count do
    redis.call('XADD', keys[1], (length + i) .. '-0', 'line', args[8 + 2 * i], 'hash', args[9 + 2 * i])
  end
  if args[6] ~= '' then
    redis.call('SET', keys[3], args[6])
  end
  if args[7] == 'x' then
    redis.call('HDEL', keys[4], args[5])
  elseif args[7] ~= '' then
    redis.call('HSET', keys[4], args[5], args[7])
  end
  for i = 10 + 2 * count, #args, 2 do
    redis.call('ZADD', keys[5], args[i], args[i + 1])
  end
  if args[8] ~= '0' then
    if args[8] == '-1' then
      redis.call('ZADD', keys[6], now(), args[5])
    else
      redis.call('EXPIRE', keys[1], args[8])
    end
    redis.call('DEL', keys[3])
  end
  return 'OK'
end

-- KEYS: journal, ended. ARGV: match, length and last hash of the journal that was archived, when it goes (Unix ms).
-- Returns 1 if that journal goes at that time, at once if it is over, or has gone already; 0 if another one is there.
local function drop(keys, args)
  local length = redis.call('XLEN', keys[1])
  if length > 0 then
    local fields = redis.call('XREVRANGE', keys[1], '+', '-', 'COUNT', 1)[1][2]
    local hash = fields[2] and fields[1] == 'hash' and fields[2] or fields[4]
    if length ~= tonumber(args[2]) or hash ~= args[3] then
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

redis.register_function('croupier_acquire', acquire)
redis.register_function('croupier_renew', renew)
redis.register_function('croupier_release', release)
redis.register_function('croupier_heartbeat', heartbeat)
redis.register_function('croupier_commit', commit)
redis.register_function('croupier_drop', drop)
redis.register_function('croupier_enlist', enlist)
