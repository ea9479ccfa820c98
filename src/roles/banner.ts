import { linkMinutes } from "../console-server/store.ts";
import type { Demo } from "./demo.ts";

/** What the all-in-one start prints for the one who started it. */
export interface Started {
  readonly publicUrl: string;
  readonly demo: Demo;
  /** Where the data is kept. */
  readonly database: string;
  /** What commands of workspaces run in. */
  readonly commands: string;
  /** Null where the console is off; the code signs in once. */
  readonly page: { readonly code: string | null } | null;
}

/** Stands for a key that only the operator knows; the shell replaces it by its value. */
const keyVariable = "$PARLEY_API_KEY";

/** Returns plain text: the address, a key, and a command line that streams an answer. */
export function banner({ publicUrl, demo, database, commands, page }: Started): string {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello!" }] };
  // In double quotes the shell replaces the variable; a real key needs no shell.
  const authorization =
    demo.token === null ? `"Authorization: Bearer ${keyVariable}"` : `'Authorization: Bearer ${demo.token}'`;
  const key = demo.token ?? "the demo tenant has five keys of its own; put one into PARLEY_API_KEY";
  return [
    "",
    "Parley is running.",
    "",
    `  URL       ${publicUrl}`,
    `  Docs      ${publicUrl}/docs`,
    ...(page === null ? [] : [`  Console   ${publicUrl}/console${link(page.code)}`]),
    `  API key   ${key}`,
    `  Agent     ${demo.agentId} (a simulated model that needs no key)`,
    `  Data      ${database}`,
    `  Commands  ${commands}`,
    "",
    "Start a conversation:",
    "",
    `curl -N ${publicUrl}/v1/agents/${demo.agentId}/sessions -H ${authorization} -H 'Content-Type: application/json' -d '${JSON.stringify({ message })}'`,
    "",
    "Ctrl-C stops it; the data stays.",
    "",
    "",
  ].join("\n");
}

function link(code: string | null): string {
  return code === null ? "" : `#${code} (signs in once, within ${linkMinutes} minutes)`;
}
