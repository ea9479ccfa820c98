import type { AuditActor } from "../kernel/auth/actor.ts";
import { type AnySql, json } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { IdOf } from "../kernel/ids.ts";
import { digest, type Sealer } from "../kernel/seal.ts";
import type { OAuthClient } from "./credentials.ts";
import type { AuthorizationServer } from "./discovery.ts";
import { signInMinutes } from "./limits.ts";

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

interface ConsumedRow extends SignIn {
  readonly tenantId: string;
  readonly sealedFlow: Uint8Array | null;
}

/** Stores a link, valid once, for `signInMinutes`. */
export function storeLink(sql: AnySql, token: string, signIn: SignIn): Promise<void> {
  return store(sql, token, signIn, null);
}

/** Returns what a flow of this connection is sealed for. */
export function flowSealedFor(connectionId: string): string {
  return `sign-in:${connectionId}`;
}

/** Stores a flow under its `state`, valid once, for `signInMinutes`. */
export function storeFlow(sql: AnySql, sealer: Sealer, state: string, signIn: SignIn, flow: SignInFlow): Promise<void> {
  return store(sql, state, signIn, sealer.seal(JSON.stringify(flow), flowSealedFor(signIn.connectionId)));
}

function store(sql: AnySql, secret: string, signIn: SignIn, sealedFlow: Buffer | null): Promise<void> {
  return tx(sql, async (inner) => {
    await inner`delete from mcp_sign_ins where expires_at < now()`;
    await inner`
      insert into mcp_sign_ins (digest, mcp_connection_id, credential_version, started_by, sealed_flow, expires_at)
      values (${digest(secret)}, ${signIn.connectionId}, ${signIn.credentialVersion}, ${json(inner, signIn.startedBy)}, ${sealedFlow},
        now() + make_interval(mins => ${signInMinutes}))`;
  });
}

/** Deletes a link and returns what it is for. Null when there is none, or it was used or is too old. */
export async function consumeLink(sql: AnySql, token: string): Promise<(SignIn & { tenantId: string }) | null> {
  return consume(sql, token, false);
}

/** Deletes a flow and returns it. Null when there is none, or it was finished or is too old. */
export async function consumeFlow(
  sql: AnySql,
  sealer: Sealer,
  state: string,
): Promise<{ signIn: SignIn & { tenantId: string }; flow: SignInFlow } | null> {
  const row = await consume(sql, state, true);
  if (row === null || row.sealedFlow === null) return null;
  const flow = JSON.parse(sealer.open(row.sealedFlow, flowSealedFor(row.connectionId))) as SignInFlow;
  return { signIn: row, flow };
}

async function consume(sql: AnySql, secret: string, isFlow: boolean): Promise<ConsumedRow | null> {
  const [row] = await sql<ConsumedRow[]>`
    delete from mcp_sign_ins s using mcp_connections c, tenants t
    where s.digest = ${digest(secret)} and s.expires_at > now() and (s.sealed_flow is not null) = ${isFlow}
      and c.id = s.mcp_connection_id and t.id = c.tenant_id and t.deleted_at is null
    returning s.mcp_connection_id as connection_id, s.credential_version, s.started_by,
      s.sealed_flow, c.tenant_id`;
  return row ?? null;
}
