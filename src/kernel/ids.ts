import { Buffer } from "node:buffer";
import { createHash, randomFillSync } from "node:crypto";
import { type TUnsafe, Type } from "@sinclair/typebox";

/** The prefix of each kind of id. They are part of the interface. */
const prefixes = {
  agent: "ag",
  apiKey: "ak",
  approval: "apr",
  budget: "bud",
  auditEvent: "aud",
  chatConnection: "cc",
  chatDelivery: "cd",
  chatThread: "ct",
  clientToken: "ctk",
  continuation: "cont",
  mcpConnection: "mcp",
  member: "mbr",
  memory: "mem",
  merchantConnection: "mch",
  merchantEvent: "mev",
  message: "msg",
  prompt: "prompt",
  provider: "prv",
  request: "req",
  response: "resp",
  session: "ss",
  skill: "skill",
  task: "tk",
  taskRun: "tr",
  tenant: "ten",
  turn: "turn",
  webhook: "wh",
  webhookDelivery: "whd",
  worker: "wk",
  workspace: "ws",
} as const;

export type IdKind = keyof typeof prefixes;

/** The type of an id of one kind, such as `turn_${string}`. It is a string, so it goes wherever a string goes. */
export type IdOf<Kind extends IdKind> = `${(typeof prefixes)[Kind]}_${string}`;

/** Length of an id after its prefix and the underscore. */
const bodyLength = 24;
/** Nine base-36 digits hold milliseconds until the year 5188, so ids of one kind sort by age. */
export const timeLength = 9;

/** Returns a new id: prefix, time, and 15 random characters (77 bits). */
export function newId<Kind extends IdKind>(kind: Kind): IdOf<Kind> {
  return `${prefixes[kind]}_${timeBody(Date.now())}${randomBody(bodyLength - timeLength)}`;
}

/** Returns a new id without its random end, for a query that makes an id of each row (`newIdSql`). */
export function newIdStem(kind: IdKind): string {
  return `${prefixes[kind]}_${timeBody(Date.now())}`;
}

/**
 * Returns the id derived from a text, the same each time: for what a repetition must
 * not create twice. With `at`, the time that belongs to the text, it sorts by age.
 */
export function derivedId<Kind extends IdKind>(kind: Kind, text: string, at: Date | null = null): IdOf<Kind> {
  const time = at === null ? "" : timeBody(at.getTime());
  const length = bodyLength - time.length;
  const number = BigInt(`0x${createHash("sha256").update(text).digest("hex")}`) % 36n ** BigInt(length);
  return `${prefixes[kind]}_${time}${number.toString(36).padStart(length, "0")}`;
}

function timeBody(timeMs: number): string {
  return timeMs.toString(36).padStart(timeLength, "0");
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Random bytes that were not used yet. To ask for a few at a time takes longer than all else of an id: 4 µs, with these 0.5. */
const random = Buffer.alloc(4_096);
let unusedFrom = random.length;

/** Returns `length` random characters of `[0-9a-z]`, without modulo bias. */
export function randomBody(length: number): string {
  let body = "";
  while (body.length < length) {
    if (unusedFrom === random.length) {
      randomFillSync(random);
      unusedFrom = 0;
    }
    const byte = random[unusedFrom++] as number;
    // 252 is the largest multiple of 36 below 256.
    if (byte < 252) body += digits[byte % 36];
  }
  return body;
}

/** Returns the TypeBox schema of an id of this kind; what passes it has the type `IdOf<Kind>`. An id of the wrong shape is 400. */
export function Id<Kind extends IdKind>(kind: Kind): TUnsafe<IdOf<Kind>> {
  const prefix = prefixes[kind];
  const schema = Type.String({ pattern: `^${prefix}_[0-9a-z]{${bodyLength}}$`, description: `${prefix}_…` });
  return schema as unknown as TUnsafe<IdOf<Kind>>;
}

/** Returns whether a text has the shape of an id of this kind. */
export function isId<Kind extends IdKind>(kind: Kind, text: string): text is IdOf<Kind> {
  const prefix = `${prefixes[kind]}_`;
  return text.startsWith(prefix) && /^[0-9a-z]{24}$/.test(text.slice(prefix.length));
}
