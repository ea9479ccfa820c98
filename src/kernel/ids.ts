import { createHash, randomBytes } from "node:crypto";
import { type TString, Type } from "@sinclair/typebox";

/** Id prefixes by resource (document 1, "Conventions"; document 2). */
const prefixes = {
  agent: "ag",
  apiKey: "ak",
  approval: "apr",
  chatConnection: "cc",
  chatDelivery: "cd",
  chatThread: "ct",
  continuation: "cont",
  mcpConnection: "mcp",
  memory: "mem",
  merchantConnection: "mch",
  merchantEvent: "mev",
  message: "msg",
  prompt: "prompt",
  provider: "prv",
  request: "req",
  session: "ss",
  skill: "skill",
  task: "tk",
  taskRun: "tr",
  tenant: "ten",
  turn: "turn",
  worker: "wk",
  workspace: "ws",
} as const;

export type IdKind = keyof typeof prefixes;

/** Length of an id behind its prefix. */
const bodyLength = 24;
/** Nine base-36 digits hold milliseconds until the year 5188, so ids of one kind sort by age. */
const timeLength = 9;

/** A new id: prefix, time, and 15 random characters (77 bits). */
export function newId(kind: IdKind): string {
  return `${prefixes[kind]}_${timeBody(Date.now())}${randomBody(bodyLength - timeLength)}`;
}

/**
 * The id that stands for a text, the same each time: for what a repeat must not
 * make twice. It sorts by age where the text has a time of its own, `at`.
 */
export function derivedId(kind: IdKind, text: string, at: Date | null = null): string {
  const time = at === null ? "" : timeBody(at.getTime());
  const length = bodyLength - time.length;
  const number = BigInt(`0x${createHash("sha256").update(text).digest("hex")}`) % 36n ** BigInt(length);
  return `${prefixes[kind]}_${time}${number.toString(36).padStart(length, "0")}`;
}

function timeBody(timeMs: number): string {
  return timeMs.toString(36).padStart(timeLength, "0");
}

/** `length` random characters of `[0-9a-z]`, without modulo bias. */
export function randomBody(length: number): string {
  let body = "";
  while (body.length < length) {
    for (const byte of randomBytes(length)) {
      // 252 is the largest multiple of 36 below 256.
      if (byte < 252 && body.length < length) body += (byte % 36).toString(36);
    }
  }
  return body;
}

/** The TypeBox schema of an id of this kind. An id of the wrong shape is 400. */
export function Id(kind: IdKind): TString {
  return Type.String({ pattern: `^${prefixes[kind]}_[0-9a-z]{${bodyLength}}$`, description: `${prefixes[kind]}_…` });
}

/** Whether a text has the shape of an id of this kind. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = `${prefixes[kind]}_`;
  return text.startsWith(prefix) && /^[0-9a-z]{24}$/.test(text.slice(prefix.length));
}

/** A workspace's id as form A prints it: the same 24 characters behind `sb_`. */
export function sandboxIdOf(workspaceId: string): string {
  return `sb_${workspaceId.slice(prefixes.workspace.length + 1)}`;
}

/** The workspace id behind a sandbox id. Give it only text of the shape `sb_` + 24 characters. */
export function workspaceIdOf(sandboxId: string): string {
  return `${prefixes.workspace}_${sandboxId.slice("sb_".length)}`;
}
