import type { ApiKey } from "parley/client";
import { userPath } from "../parts/user-path.ts";

/** One place that the palette leads to. */
export interface Destination {
  readonly label: string;
  readonly detail: string;
  readonly to: string;
}

/** What is begun at a separate address, and the least role for it. */
const actions: readonly (Destination & { readonly needs: ApiKey["role"] })[] = [
  { label: "New agent", detail: "action", to: "/agents/new", needs: "editor" },
  { label: "New task", detail: "action", to: "/tasks/new", needs: "editor" },
  { label: "Failed turns of the last 24 hours", detail: "list", to: "/turns?status=failed&since=day", needs: "reader" },
  { label: "Slowest turns of yesterday", detail: "list", to: "/turns?order=longest&since=yesterday", needs: "reader" },
  { label: "Cost by user, this month", detail: "list", to: "/users", needs: "reader" },
];

/** The parts of the operator's screen, beside its first one. */
const operated: readonly Destination[] = [
  { label: "Queue", detail: "operator", to: "/operator/queue" },
  { label: "Workers", detail: "operator", to: "/operator/workers" },
  { label: "Dead letters", detail: "operator", to: "/operator/dead-letters" },
  { label: "Tenants", detail: "operator", to: "/operator/tenants" },
];

/** Pages that are found by the beginning of an id. */
const pages: { readonly [prefix: string]: string } = {
  turn: "/turns",
  ag: "/agents",

  tk: "/tasks",
  cc: "/chat",
  mcp: "/connections",
  bud: "/budgets",
  prv: "/providers",

  wh: "/webhooks",
  ws: "/workspaces",
};

/** The page of an id; null for what is none, or has none. */
export function pageOfId(text: string): string | null {
  const [, prefix] = /^([a-z]+)_[0-9a-z]{8,}$/.exec(text) ?? [];
  const page = prefix === undefined ? undefined : pages[prefix];
  return page === undefined ? null : `${page}/${text}`;
}

/** The operator's page of a tenant's id; null for anything else. */
function pageOfTenant(text: string): string | null {
  return /^ten_[0-9a-z]{8,}$/.test(text) ? `/operator/tenants/${text}` : null;
}

interface PlacesOf {
  readonly screens: readonly { readonly name: string; readonly path: string; readonly keys: string }[];
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  /** Sessions in which the words were said. */
  readonly found: readonly { readonly sessionId: string; readonly agentId: string; readonly title: string }[];
  readonly isTenant: boolean;
  may(role: ApiKey["role"]): boolean;
}

/** Agents that are listed at once. */
const agentsMax = 8;

/** Where these words may lead: an id's page first, then screens, agents and what can be done, then sessions, and the user of that name. */
export function placesOf(words: string, { screens, agents, found, isTenant, may }: PlacesOf): Destination[] {
  const text = words.trim();
  const has = (label: string) => label.toLowerCase().includes(text.toLowerCase());
  const page = isTenant ? pageOfId(text) : pageOfTenant(text);
  const known = [
    ...screens.map(({ name, path, keys }) => ({ label: name, detail: `screen · ${[...keys].join(" ")}`, to: path })),
    ...(isTenant
      ? actions.filter(({ needs }) => may(needs)).map(({ label, detail, to }) => ({ label, detail, to }))
      : operated),
  ].filter(({ label }) => has(label));
  const named = text === "" ? [] : agents.filter(({ name, id }) => has(name) || id === text).slice(0, agentsMax);
  return [
    ...(page === null ? [] : [{ label: text, detail: "open", to: page }]),
    ...known,
    ...named.map(({ id, name }) => ({ label: name, detail: "agent", to: `/agents/${id}` })),
    ...found.map(({ sessionId, agentId, title }) => ({
      ...{ label: title || sessionId, detail: "session" },
      to: `/sessions/${agentId}/${sessionId}`,
    })),
    ...(text === "" || !isTenant
      ? []
      : [
          { label: text, detail: "user", to: userPath(text) },
          { label: text, detail: "search in sessions", to: `/sessions?words=${encodeURIComponent(text)}` },
        ]),
  ];
}
