import type { Batch, LogKey } from "./relay.ts";

/**
 * How a log lies in Redis. One stream per log. A batch is the entry
 * `<first>-<count>` with the field `sse`; ids rise strictly. The end and the seal
 * are entries at the two ends of the highest possible id, with the field `tail`
 * (the number of the last event), so that Redis itself refuses any later batch.
 * The same scripts publish what they write, on a channel named like the key:
 * `<first>-<count>-<made at>\n<sse>`, `end-<tail>`, `sealed-<tail>`.
 */
const highest = "18446744073709551615";

/** `tail` is the number of a log's last event, `state` one of open, ended, sealed. */
const place = `
local function place()
  local entry = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if not entry then return 0, 'open' end
  local first, count = string.match(entry[1], '^(%d+)%-(%d+)$')
  if first ~= '${highest}' then return tonumber(first) + tonumber(count) - 1, 'open' end
  return tonumber(entry[2][2]), count == '0' and 'ended' or 'sealed'
end
`;

/** ARGV: first, count, sse, keepMs, '1' to end the log, when the batch was made (may be empty). A number as the answer: the log's tail, inside the batch. */
export const appendScript = `${place}
local tail, state = place()
local first, count, ends = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[5] == '1'
local last = first + count - 1
if state == 'ended' and ends and last <= tail then return 'ok' end
if state ~= 'open' then return 'sealed' end
if first > tail + 1 then return 'lost' end
if first <= tail and last > tail then return tail end
if last > tail then
  local id = ARGV[1] .. '-' .. ARGV[2]
  redis.call('XADD', KEYS[1], id, 'sse', ARGV[3])
  redis.call('PUBLISH', KEYS[1], id .. '-' .. ARGV[6] .. '\\n' .. ARGV[3])
  tail = last
end
if ends then
  redis.call('XADD', KEYS[1], '${highest}-0', 'tail', tail)
  redis.call('PUBLISH', KEYS[1], 'end-' .. tail)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 'ok'
`;

/** ARGV: keepMs. */
export const sealScript = `${place}
local tail, state = place()
if state == 'open' then
  redis.call('XADD', KEYS[1], '${highest}-${highest}', 'tail', tail)
  redis.call('PUBLISH', KEYS[1], 'sealed-' .. tail)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
if state == 'ended' then return state end
return tail > 0 and 'shown' or 'empty'
`;

/** Postpones the expiry and answers the tail, -1 for a log that is closed. ARGV: keepMs. */
export const lookScript = `${place}
local tail, state = place()
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return state == 'open' and tail or -1
`;

/** No more events come after number `tail`. */
export interface Mark {
  readonly type: "end" | "sealed";
  readonly tail: number;
}

/** The key of a log and its channel. The hash tag keeps the attempts of a turn on one node of a cluster. */
export function logName(prefix: string, key: LogKey): string {
  return `${prefix}{${key.turnId}}:${key.attempt}`;
}

/** Whether it is a mark. */
export function isMark(item: Batch | Mark): item is Mark {
  return "tail" in item;
}

/** A stream entry. */
export function parseEntry([id, fields]: [id: string, fields: string[]]): Batch | Mark {
  const value = fields[1] ?? "";
  const dash = id.indexOf("-");
  const first = id.slice(0, dash);
  const count = id.slice(dash + 1);
  if (first !== highest) return { first: Number(first), count: Number(count), sse: value };
  return { type: count === "0" ? "end" : "sealed", tail: Number(value) };
}

/** A published message. */
export function parseMessage(message: string): Batch | Mark {
  const dash = message.indexOf("-");
  const head = message.slice(0, dash);
  if (head === "end" || head === "sealed") return { type: head, tail: Number(message.slice(dash + 1)) };
  const line = message.indexOf("\n", dash);
  const [count, madeAt] = message.slice(dash + 1, line).split("-", 2);
  const batch = { first: Number(head), count: Number(count), sse: message.slice(line + 1) };
  return madeAt ? { ...batch, madeAtMs: Number(madeAt) } : batch;
}
