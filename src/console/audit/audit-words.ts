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

const places: { readonly [type: string]: string } = { agent: "/agents", task: "/tasks", turn: "/turns" };

/** The address of a resource's own page; null where it has none. */
export function resourcePlace(type: string, id: string): string | null {
  const folder = places[type];
  return folder === undefined ? null : `${folder}/${id}`;
}
