import { beforeEach } from "bun:test";
import { tx } from "../../src/kernel/database/transaction.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { ToolScope, TurnTool } from "../../src/tools/tool.ts";
import { workspaceTools } from "../../src/workspaces/tools.ts";
import { useTenant } from "./fixture.ts";
import type { ApiResponse, Harness, HarnessOptions, TestTenant } from "./harness.ts";

/** A turn of an agent with a workspace. */
export type WorkingScope = ToolScope & { readonly workspaceId: string };

/** A turn's scope with a new workspace of the tenant's. */
export async function newScope(h: Harness, tenant: TestTenant): Promise<WorkingScope> {
  const workspace = await tenant.parley.workspaces.create();
  return {
    ctx: h.ctx,
    tenantId: tenant.id,
    agentId: newId("agent"),
    sessionId: newId("session"),
    turnId: newId("turn"),
    attempt: 1,
    userId: "",
    metadata: {},
    workspaceId: workspace.id,
    write: (work) => tx(h.sql, work),
  };
}

interface Working {
  readonly h: Harness;
  readonly t: TestTenant;
  /** Of the running test. */
  scope: WorkingScope;
  readonly run: (name: string, input: unknown, on?: ToolScope) => Promise<Result>;
}

/** The service, a tenant, for each test the scope of a turn with a new workspace, and how its tools are called. */
export async function useWorkingScope(options: HarnessOptions = {}): Promise<Working> {
  const { h, t } = await useTenant(options);
  const run: Working["run"] = (name, input, on = working.scope) => callTool(on, name, input);
  const working = { h, t, run } as Working;
  beforeEach(async () => {
    working.scope = await newScope(h, t);
  });
  return working;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into results freely.
export type Result = any;

export function execute(tool: TurnTool | undefined, input: unknown, abortSignal?: AbortSignal): Promise<Result> {
  const options = { toolCallId: "call", messages: [], ...(abortSignal === undefined ? {} : { abortSignal }) };
  return tool?.tool.execute?.(input, options as never) as Promise<Result>;
}

/** Calls one of the workspace's tools. */
export function callTool(scope: ToolScope, name: string, input: unknown, abortSignal?: AbortSignal): Promise<Result> {
  const tool = workspaceTools(scope).find((one) => one.name === name);
  return execute(tool, input, abortSignal);
}

/** The message of what a call throws. */
export async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    (result) => `no failure: ${JSON.stringify(result)}`,
    (error: Error) => error.message,
  );
}

/** A workspace's files as texts, by path. */
export async function filesOf({ ctx, workspaceId }: WorkingScope): Promise<Record<string, string>> {
  const rows = await ctx.sql<{ path: string; content: Buffer }[]>`
    select path, content from workspace_files where workspace_id = ${workspaceId} order by path`;
  return Object.fromEntries(rows.map(({ path, content }) => [path, content.toString()]));
}

/** Writes a file over HTTP. */
export function upload(
  tenant: TestTenant,
  { workspaceId }: WorkingScope,
  path: string,
  content: string | Uint8Array,
): Promise<ApiResponse> {
  const url = `/v1/workspaces/${workspaceId}/files?path=${encodeURIComponent(path)}`;
  return tenant.call("PUT", url, { form: "b", body: content, headers: { "content-type": "application/octet-stream" } });
}
