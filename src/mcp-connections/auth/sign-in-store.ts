import type { AuditActor } from "../../kernel/auth/actor.ts";
import { type AnySql, json } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { digest, type Sealer } from "../../kernel/seal.ts";
import { linkPressesMax, signInMinutes } from "../limits.ts";
import type { OAuthClient } from "./credentials.ts";
import type { AuthorizationServer } from "./discovery.ts";

/** The connection that a link or a flow is for, and the version of the credentials that it may replace. */
export interface SignIn {
  readonly connectionId: IdOf<"mcpConnection">;
  readonly credentialVersion: number;
  /** Who asked for the link. */
  readonly startedBy: AuditActor;
}

/** What a flow needs again in its callback. */
export interface SignInFlow {
  readonly codeVerifier: string;
  readonly client: OAuthClient;
  readonly server: AuthorizationServer;
}

/** A link as it is followed. */
export interface SignInLink extends SignIn {
  readonly tenantId: string;
  readonly tenantName: string;
}

/** Stores a link, valid in one browser, for `signInMinutes`. */
export function storeLink(sql: AnySql, token: string, signIn: SignIn): Promise<void> {
  return store(sql, token, signIn, { sealedFlow: null, browser: null });
}

/** Returns what a flow of this connection is sealed for. */
export function flowSealedFor(connectionId: string): string {
  return `sign-in:${connectionId}`;
}

/** Stores a flow under its `state`, valid once, in the browser with this secret, for `signInMinutes`. */
export function storeFlow(
  sql: AnySql,
  sealer: Sealer,
  { state, browser }: { readonly state: string; readonly browser: string },
  signIn: SignIn,
  flow: SignInFlow,
): Promise<void> {
  const sealedFlow = sealer.seal(JSON.stringify(flow), flowSealedFor(signIn.connectionId));
  return store(sql, state, signIn, { sealedFlow, browser });
}

function store(
  sql: AnySql,
  secret: string,
  signIn: SignIn,
  { sealedFlow, browser }: { readonly sealedFlow: Buffer | null; readonly browser: string | null },
): Promise<void> {
  return tx(sql, async (inner) => {
    await inner`delete from mcp_sign_ins where expires_at < now()`;
    await inner`
      insert into mcp_sign_ins (digest, mcp_connection_id, credential_version, started_by, sealed_flow, browser_digest, expires_at)
      values (${digest(secret)}, ${signIn.connectionId}, ${signIn.credentialVersion}, ${json(inner, signIn.startedBy)}, ${sealedFlow},
        ${browser === null ? null : digest(browser)}, now() + make_interval(mins => ${signInMinutes}))`;
  });
}

/**
 * Returns what a link is for. Null when there is none, it is too old, or its button was pressed in
 * another browser than the one with this secret.
 */
export async function findLink(sql: AnySql, token: string, browser: string | null): Promise<SignInLink | null> {
  const [row] = await sql<SignInLink[]>`
    select s.mcp_connection_id as connection_id, s.credential_version, s.started_by, c.tenant_id, t.name as tenant_name
    from mcp_sign_ins s join mcp_connections c on c.id = s.mcp_connection_id join tenants t on t.id = c.tenant_id
    where s.digest = ${digest(token)} and s.expires_at > now() and s.sealed_flow is null and t.deleted_at is null
      and (s.browser_digest is null or s.browser_digest = ${browser === null ? null : digest(browser)})`;
  return row ?? null;
}

/** Keeps a link for the browser in which its button is pressed. Returns false when another one was faster, or it was pressed too often. */
export async function claimLink(sql: AnySql, token: string, browser: string): Promise<boolean> {
  const { count } = await sql`
    update mcp_sign_ins set browser_digest = ${digest(browser)}, presses = presses + 1
    where digest = ${digest(token)} and expires_at > now() and sealed_flow is null
      and (browser_digest is null or browser_digest = ${digest(browser)}) and presses < ${linkPressesMax}`;
  return count > 0;
}

/**
 * Deletes a flow and returns it. Null, and nothing is deleted, when there is none in the browser
 * with this secret, or it was finished or is too old.
 */
export async function consumeFlow(
  sql: AnySql,
  sealer: Sealer,
  { state, browser }: { readonly state: string; readonly browser: string },
): Promise<{ signIn: SignIn & { tenantId: string }; flow: SignInFlow } | null> {
  const [row] = await sql<(SignIn & { tenantId: string; sealedFlow: Uint8Array })[]>`
    delete from mcp_sign_ins s using mcp_connections c, tenants t
    where s.digest = ${digest(state)} and s.expires_at > now() and s.sealed_flow is not null
      and s.browser_digest = ${digest(browser)}
      and c.id = s.mcp_connection_id and t.id = c.tenant_id and t.deleted_at is null
    returning s.mcp_connection_id as connection_id, s.credential_version, s.started_by,
      s.sealed_flow, c.tenant_id`;
  if (row === undefined) return null;
  const flow = JSON.parse(sealer.open(row.sealedFlow, flowSealedFor(row.connectionId))) as SignInFlow;
  return { signIn: row, flow };
}
