/** Who did something, as the API tells it. */
interface Who {
  readonly type: string;
  readonly id: string | null;
}

const kinds: { readonly [type: string]: string } = {
  api_key: "API key",
  member: "Member",
  dashboard_user: "User",
  chat_user: "Chat user",
  operator: "Operator",
  system: "The service",
};

/** Who did something: the kind in words, and the id where there is one. */
export function actorText({ type, id }: Who): { readonly kind: string; readonly id: string | null } {
  return { kind: kinds[type] ?? type.replaceAll("_", " "), id: type === "system" ? null : id };
}

const places: { readonly [type: string]: string } = {
  ...{ agent: "/agents", task: "/tasks", turn: "/turns", provider: "/providers", webhook: "/webhooks" },
  ...{ budget: "/budgets", workspace: "/workspaces", sandbox: "/workspaces" },
  ...{ mcp_connection: "/connections", chat_connection: "/chat" },
};
/** Lists whose rows have no pages. */
const lists: { readonly [type: string]: string } = { member: "/members", api_key: "/keys", prompt: "/prompts" };

/** Where a resource is shown: its own page, or the list that it is in; null where it has neither. */
export function resourcePlace(type: string, id: string): string | null {
  const folder = places[type];
  return folder === undefined ? (lists[type] ?? null) : `${folder}/${id}`;
}

/** A changed field with what became of it, as far as the event keeps that. */
interface Changed {
  readonly field: string;
  readonly before: string | null;
  readonly after: string;
}

/** What became of a field: `4 → 8`; of a created one what it is. */
export function valueText({ before, after }: Omit<Changed, "field">): string {
  return before === null || before === after ? after : `${before} → ${after}`;
}
