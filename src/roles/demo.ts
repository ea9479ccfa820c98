import { createHash } from "node:crypto";
import { prepareAgent } from "../agents/change.ts";
import { toolGroups } from "../agents/tool-groups.ts";
import { createApiKey } from "../apikeys/store.ts";
import { findTenant } from "../kernel/auth/tenant.ts";
import type { Ctx } from "../kernel/context.ts";
import { shownAddress } from "../kernel/database/address.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, type ErrorCause } from "../kernel/errors.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { digest, fragment } from "../kernel/seal.ts";
import { createProvider } from "../providers/store.ts";
import { createTenant } from "../tenants/store.ts";
import { keep, readKept } from "./home.ts";

/** A tenant to try the service with. What the operator deletes of it is made again at the next start. */
export interface Demo {
  readonly tenantId: IdOf<"tenant">;
  /** Null: the tenant has all the keys that it may have, and none of them is known here. */
  readonly token: string | null;
  readonly agentId: IdOf<"agent">;
}

/** What is stored of a demo, so that a restart finds it again. */
interface Note {
  readonly tenantId: IdOf<"tenant">;
  readonly token: string | null;
  readonly providerId: IdOf<"provider">;
  readonly agentId: IdOf<"agent">;
}

/** The simulated model takes any key. No word of this one may stand in its errors, of which pieces of the key are taken away. */
const providerKey = "no-key-is-needed";
const model = "simulated/model";
const instructions = "You are a friendly assistant. Answer briefly.";
/** A number is added to a name that is taken; this many names are tried. */
const namesMax = 20;

/**
 * Returns the demo tenant of a home and database. What is missing is made: the tenant, an API key, an agent, and a
 * provider, which gets the simulated model's present address. The note with the key is a file that only the home's owner reads.
 */
export async function findDemo(ctx: Ctx, modelUrl: string): Promise<Demo> {
  const { home, databaseUrl } = ctx.config;
  const fileName = noteName(databaseUrl);
  const note = readNote(await readKept(home, fileName));
  const tenantId = await findDemoTenant(ctx, note);
  const kept = note !== null && note.tenantId === tenantId ? note : null;
  const token = (await findToken(ctx, tenantId, kept)) ?? (await makeToken(ctx, tenantId));
  const providerId =
    (await refreshProvider(ctx, tenantId, kept, modelUrl)) ?? (await makeProvider(ctx, tenantId, modelUrl));
  const agentId = (await findAgent(ctx, tenantId, kept)) ?? (await makeAgent(ctx, tenantId, providerId));
  await keep(home, fileName, `${JSON.stringify({ tenantId, token, providerId, agentId } satisfies Note, null, 2)}\n`);
  return { tenantId, token, agentId };
}

/** Returns the name of the note's file. One home may be used with several databases in turn; each has its own demo. */
function noteName(databaseUrl: string | null): string {
  if (databaseUrl === null) return "demo.json";
  return `demo-${createHash("sha256").update(shownAddress(databaseUrl)).digest("hex").slice(0, 12)}.json`;
}

function readNote(text: string | null): Note | null {
  try {
    return text === null ? null : (JSON.parse(text) as Note);
  } catch {
    return null;
  }
}

async function findDemoTenant(ctx: Ctx, note: Note | null): Promise<IdOf<"tenant">> {
  const tenant = note === null ? null : await findTenant(ctx.sql, note.tenantId);
  if (tenant !== null && !tenant.deleting) return tenant.id;
  return createTenant(ctx.sql, { name: "Demo", form: "b" });
}

async function findToken(ctx: Ctx, tenantId: IdOf<"tenant">, note: Note | null): Promise<string | null> {
  if (note?.token == null) return null;
  const rows = await ctx.sql`
    select 1 from api_keys
    where digest = ${digest(note.token)} and tenant_id = ${tenantId} and (expires_at is null or expires_at > now())`;
  return rows.length === 0 ? null : note.token;
}

async function makeToken(ctx: Ctx, tenantId: IdOf<"tenant">): Promise<string | null> {
  try {
    return (await createApiKey(ctx.sql, tenantId, "demo", null)).token;
  } catch (error) {
    if (isCause(error, "invalid_request")) return null; // The tenant has its five keys.
    throw error;
  }
}

/** Gives the provider the simulated model's address, whose port is another at every start, and seals its key again in case the encryption key is another. Returns its id; null when there is no such provider. */
async function refreshProvider(
  ctx: Ctx,
  tenantId: IdOf<"tenant">,
  note: Note | null,
  modelUrl: string,
): Promise<IdOf<"provider"> | null> {
  if (note === null) return null;
  const [row] = await ctx.sql<{ id: IdOf<"provider"> }[]>`
    update providers set base_url = ${modelUrl}, sealed_key = ${ctx.sealer.seal(providerKey, note.providerId)}
    where id = ${note.providerId} and tenant_id = ${tenantId} returning id`;
  return row?.id ?? null;
}

function makeProvider(ctx: Ctx, tenantId: IdOf<"tenant">, modelUrl: string): Promise<IdOf<"provider">> {
  return underFreeName("Simulated model", "provider_name_conflict", async (name) => {
    const id = newId("provider");
    await createProvider(ctx.sql, tenantId, {
      id,
      name,
      providerType: "custom",
      baseUrl: modelUrl,
      sealedKey: ctx.sealer.seal(providerKey, id),
      keyFragment: fragment(providerKey),
    });
    return id;
  });
}

async function findAgent(ctx: Ctx, tenantId: IdOf<"tenant">, note: Note | null): Promise<IdOf<"agent"> | null> {
  if (note === null) return null;
  const [row] = await ctx.sql<{ id: IdOf<"agent"> }[]>`
    select id from agents where id = ${note.agentId} and tenant_id = ${tenantId}`;
  return row?.id ?? null;
}

function makeAgent(ctx: Ctx, tenantId: IdOf<"tenant">, providerId: IdOf<"provider">): Promise<IdOf<"agent">> {
  const rules = { defaultModel: null, makesWorkspace: true, exclusiveWorkspace: false, modelAlone: false };
  const findMcpTool = () => Promise.reject(new ApiError("mcp_connection_discovery_failed"));
  const change = { ctx, sql: ctx.sql, tenantId, actor: null, rules, findMcpTool };
  return underFreeName("Demo agent", "agent_name_conflict", async (name) => {
    const write = await prepareAgent(change, {
      name,
      model,
      providerId,
      instructions,
      tools: [...toolGroups],
      // It reads without asking, and asks before it changes anything: so the first approval needs no set-up.
      approvalInChat: { default: "auto" },
    });
    return (await tx(ctx.sql, write)).id;
  });
}

async function underFreeName<T>(name: string, conflict: ErrorCause, make: (name: string) => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await make(count === 1 ? name : `${name} ${count}`);
    } catch (error) {
      if (!isCause(error, conflict) || count === namesMax) throw error;
    }
  }
}

function isCause(error: unknown, cause: ErrorCause): boolean {
  return error instanceof ApiError && error.reason === cause;
}
