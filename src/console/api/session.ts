import { useQuery } from "@tanstack/react-query";
import { type ApiKey, ParleyError } from "parley/client";
import { consoleFetch, setCsrfToken, whenUnauthorized } from "./fetch.ts";
import { queryClient } from "./queries.ts";

/** What a credential may do. */
export type ConsoleRole = ApiKey["role"];

/** Who is signed in: somebody in a tenant, by a key, a token or as a member; an operator of the installation; or a person who has chosen neither. */
export type ConsolePrincipal =
  | {
      readonly kind: "tenant";
      readonly tenantId: string;
      readonly tenantName: string;
      readonly keyId: string | null;
      readonly keyName: string | null;
      readonly userId: string | null;
      readonly memberId: string | null;
      readonly role: ConsoleRole;
      readonly agentIds: readonly string[] | null;
    }
  | { readonly kind: "operator" }
  | { readonly kind: "person" };

/** Who signed in by the identity provider. */
export interface ConsolePerson {
  readonly email: string;
  readonly name: string | null;
  readonly isOperator: boolean;
}

/** A tenant that a person may work in. */
export interface ConsoleTenant {
  readonly tenantId: string;
  readonly name: string;
  readonly role: ConsoleRole;
}

/** A person's time in the console, as the service tells it. */
export interface ConsoleSession {
  readonly principal: ConsolePrincipal;
  /** Null: signed in with a key or a token. */
  readonly person: ConsolePerson | null;
  readonly tenants: readonly ConsoleTenant[];
  readonly csrfToken: string;
  readonly expiresAt: string;
  readonly installation?: { readonly version: string; readonly publicUrl: string };
}

/** Why the identity provider's sign-in led back without a session; null where none did. */
export let signInFault: string | null = null;
const faultPrefix = "sign-in-fault=";
/** Whether the page was opened by a link that signs no one in any more. */
export let linkIsUsed = false;

const sessionKey = ["console-session"];
let linked: Promise<ConsoleSession> | null = null;

/** All tabs of a browser have one cookie: who signs in or out in one tells the others. */
const tabs = new BroadcastChannel("parley-console-session");

whenUnauthorized(() => queryClient.setQueryData(sessionKey, null));
tabs.onmessage = () => void followOtherTab().catch(() => {});

/** The session; null when no one is signed in. */
export function useConsoleSession() {
  return useQuery({ queryKey: sessionKey, queryFn: readSession, staleTime: Number.POSITIVE_INFINITY });
}

/** Signs in with an API key, a dashboard JWT or the operator's token. Throws `ParleyError`. */
export async function signIn(apiKey: string): Promise<void> {
  begin(await login({ apiKey }));
  tabs.postMessage(null);
}

/** Ends the session here and at the service. */
export async function signOut(): Promise<void> {
  const response = await consoleFetch("/console/api/logout", { method: "POST" });
  if (!response.ok && response.status !== 401) await read(response);
  const { endSessionUrl } = response.status === 200 ? await response.json() : { endSessionUrl: undefined };
  begin(null);
  tabs.postMessage(null);
  // The identity provider has a separate session, and leads back here when that has ended.
  if (typeof endSessionUrl === "string") window.location.assign(endSessionUrl);
}

/** Works in a tenant of the person from now on; null: as the operator. Throws `ParleyError`. */
export async function chooseTenant(tenantId: string | null): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ tenantId });
  begin(await read(await consoleFetch("/console/api/session/tenant", { method: "POST", headers, body })));
  tabs.postMessage(null);
}

/** What was read as somebody else is forgotten. */
function begin(session: ConsoleSession | null): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
  queryClient.setQueryData(sessionKey, session);
}

/** Takes over the session of another tab; where it is another tenant's, the page begins anew as that one. */
async function followOtherTab(): Promise<void> {
  const before = queryClient.getQueryData<ConsoleSession | null>(sessionKey);
  const now = await readSession();
  const isOther = before && now && JSON.stringify(before.principal) !== JSON.stringify(now.principal);
  if (isOther) window.location.reload();
  // Between signing out and in somebody else may have come.
  else if (before === null || now === null) begin(now);
  else queryClient.setQueryData(sessionKey, now);
}

/** Signs in by the link that `npm start` prints, `/console#code`, and takes the code out of the address. */
export function signInByLink(): void {
  const code = window.location.hash.slice(1);
  if (code === "") return;
  if (code.startsWith(faultPrefix)) signInFault = code.slice(faultPrefix.length);
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  if (signInFault !== null) return;
  linked = login({ code });
  linked.catch(() => {});
}

async function readSession(): Promise<ConsoleSession | null> {
  // A link that was used before, or is too old, signs no one out.
  const made = await linked?.catch((error: unknown) => {
    linkIsUsed = error instanceof ParleyError && error.status === 401;
    return null;
  });
  linked = null;
  if (made) {
    tabs.postMessage(null);
    return made;
  }
  const response = await consoleFetch("/console/api/session");
  return response.status === 401 ? null : read(response);
}

async function login(body: { apiKey: string } | { code: string }): Promise<ConsoleSession> {
  const headers = { "Content-Type": "application/json" };
  return read(await consoleFetch("/console/api/login", { method: "POST", headers, body: JSON.stringify(body) }));
}

async function read(response: Response): Promise<ConsoleSession> {
  const body = await response.json().catch(() => ({}));
  const unexpected = { code: "unexpected_response", message: "The response is not the service's.", requestId: "" };
  if (!response.ok) throw new ParleyError(response, body.error ?? unexpected);
  setCsrfToken(body.csrfToken);
  return body;
}
