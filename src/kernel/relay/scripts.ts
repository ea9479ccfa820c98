import { type Batch, type LogKey, relayEntryBytes, relayTrimPart } from "./relay.ts";

/**
 * How a log is stored in Redis. One stream per log. A batch is the entry
 * `<first>-<count>` with the fields `sse` and `at`: how many bytes were written up to its
 * end, dropped ones too; ids rise strictly. The end and the seal
 * are entries with the lowest and the highest second part of the highest possible id, with the field `tail`
 * (the number of the last event), so that Redis itself refuses any later batch. Where the log
 * goes over to a later claim there is an entry without events, `<next>-0`; it and all after
 * it have the field `by`: the first claim that may still write.
 * The same scripts publish what they write, on a channel named like the key:
 * `<first>-<count>-<made at>\n<sse>`, `end-<tail>`, `sealed-<tail>`.
 */
const highest = "18446744073709551615";

/** How many arguments the append script has for each log. */
const appendFields = 6;

/** `tail` is the number of a log's last event, `state` one of open, ended, sealed, `at` and `by` the last entry's fields. */
const tailOf = `
local function tailOf(key)
  local entry = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if not entry then return 0, 'open', 0, 0 end
  local first, count = string.match(entry[1], '^(%d+)%-(%d+)$')
  if first ~= '${highest}' then 
    return tonumber(first) + tonumber(count) - 1, 'open', tonumber(entry[2][4] or 0), tonumber(entry[2][6] or 0), entry[1]
  end
  return tonumber(entry[2][2]), count == '0' and 'ended' or 'sealed'
end
`;

/** Drops a log's oldest entries when it is longer than `bytesMax`; the last one stays. */
const trim = `
local function trim(key, at, bytesMax)
  local head = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  if at - (tonumber(head[2][4] or 0) - #head[2][2]) <= bytesMax then return end
  local goal = at - bytesMax * ${1 - relayTrimPart}
  local from = '-'
  while true do
    local entries = redis.call('XRANGE', key, from, '+', 'COUNT', 16)
    if #entries == 0 then return end
    for _, entry in ipairs(entries) do
      if tonumber(entry[2][4] or 0) > goal then
        redis.call('XTRIM', key, 'MINID', entry[1])
        return
      end
      from = '(' .. entry[1]
    end
  end
end
`;

/**
 * Appends to many logs, each independently: a failure in one does not affect the
 * others. KEYS: the logs. ARGV: how long an open log and one that has ended are kept, in
 * milliseconds, and the most bytes of a log; then for each log first, count, sse, '1'
 * to end it, when the batch was made (may be empty), and the claim that writes. Returns a result for each: one of
 * `Appended`; or a number, which is the log's tail when that is inside the batch; or
 * `error: …` when Redis refused it.
 */
export const appendScript = `${tailOf}${trim}
local function append(key, firstText, countText, sse, ends, madeAt, claim)
  local tail, state, at, by = tailOf(key)
  local first, count = tonumber(firstText), tonumber(countText)
  local last = first + count - 1
  if state == 'ended' and ends and last <= tail then return 'ok' end
  if state ~= 'open' or claim < by then return 'sealed' end
  if first > tail + 1 then return 'lost' end
  if first <= tail and last > tail then return tail end
  if last > tail then
    local id = firstText .. '-' .. countText
    at = at + #sse + ${relayEntryBytes}
    if by == 0 then redis.call('XADD', key, id, 'sse', sse, 'at', at)
    else redis.call('XADD', key, id, 'sse', sse, 'at', at, 'by', by) end
    if at > tonumber(ARGV[3]) then trim(key, at, tonumber(ARGV[3])) end
    redis.call('PUBLISH', key, id .. '-' .. madeAt .. '\\n' .. sse)
    tail = last
  end
  if ends then
    redis.call('XADD', key, '${highest}-0', 'tail', tail)
    redis.call('PUBLISH', key, 'end-' .. tail)
  end
  redis.call('PEXPIRE', key, ends and ARGV[2] or ARGV[1])
  return 'ok'
end
local results = {}
for n, key in ipairs(KEYS) do
  local at = ${appendFields} * (n - 1) + 3
  local done, result = pcall(append, key, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4] == '1', ARGV[at + 5], tonumber(ARGV[at + 6]))
  if not done then result = 'error: ' .. (type(result) == 'table' and result.err or tostring(result)) end
  results[n] = result
end
return results
`;

/** Seals a log and returns what was in it, one of `Sealed`. ARGV: how long an open log is kept. */
export const sealScript = `${tailOf}
local tail, state = tailOf(KEYS[1])
if state == 'open' then
  redis.call('XADD', KEYS[1], '${highest}-${highest}', 'tail', tail)
  redis.call('PUBLISH', KEYS[1], 'sealed-' .. tail)
end
if state == 'ended' then return state end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return tail > 0 and 'shown' or 'empty'
`;

/**
 * Gives a log over to a claim and returns its state and tail. ARGV: the claim, and how long an
 * open log is kept. An entry of an earlier claim that wrote nothing is replaced.
 */
export const fenceScript = `${tailOf}
local claim = tonumber(ARGV[1])
local tail, state, at, by, last = tailOf(KEYS[1])
if state ~= 'open' then return {state, tail} end
if by < claim then
  local id = (tail + 1) .. '-0'
  if last == id then
    redis.call('XDEL', KEYS[1], id)
    local before = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
    if before then redis.call('XSETID', KEYS[1], before[1]) else redis.call('DEL', KEYS[1]) end
  end
  redis.call('XADD', KEYS[1], id, 'sse', '', 'at', at, 'by', claim)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {state, tail}
`;

/** Empties a log that exists and leaves it sealed. ARGV: keepMs. */
export const eraseScript = `
if redis.call('DEL', KEYS[1]) == 0 then return end
redis.call('XADD', KEYS[1], '${highest}-${highest}', 'tail', 0)
redis.call('PUBLISH', KEYS[1], 'sealed-0')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
`;

/** Postpones an open log's expiry and returns its tail, -1 for a log that is closed. ARGV: how long an open log is kept. */
export const checkScript = `${tailOf}
local tail, state = tailOf(KEYS[1])
if state ~= 'open' then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return tail
`;

/** Returns a script as a cluster runs it: what it publishes is told by the node of its slot only. */
export function sharded(script: string): string {
  return script.replaceAll("'PUBLISH'", "'SPUBLISH'");
}

/** No more events come after number `tail`. */
export interface Mark {
  readonly type: "end" | "sealed";
  readonly tail: number;
}

/** Returns the key of a log, which is its channel's name too. The hash tag keeps the attempts of a turn on one node of a cluster. */
export function logName(prefix: string, key: LogKey): string {
  return `${prefix}{${key.logId}}:${key.attempt}`;
}

/** Returns whether it is a mark. */
export function isMark(item: Batch | Mark): item is Mark {
  return "tail" in item;
}

/** Returns what a stream entry stands for. */
export function parseEntry([id, fields]: [id: string, fields: string[]]): Batch | Mark {
  const value = fields[1] ?? "";
  const dash = id.indexOf("-");
  const first = id.slice(0, dash);
  const count = id.slice(dash + 1);
  if (first !== highest) return { first: Number(first), count: Number(count), sse: value };
  return { type: count === "0" ? "end" : "sealed", tail: Number(value) };
}

/** Returns what a published message stands for. */
export function parseMessage(message: string): Batch | Mark {
  const dash = message.indexOf("-");
  const head = message.slice(0, dash);
  if (head === "end" || head === "sealed") return { type: head, tail: Number(message.slice(dash + 1)) };
  const line = message.indexOf("\n", dash);
  const [count, madeAt] = message.slice(dash + 1, line).split("-", 2);
  const batch = { first: Number(head), count: Number(count), sse: message.slice(line + 1) };
  return madeAt ? { ...batch, madeAtMs: Number(madeAt) } : batch;
}
