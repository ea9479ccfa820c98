import { createHash } from "node:crypto";
import { type JSONSchema7, jsonSchema, tool } from "ai";
import { within } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import { ToolError } from "../tools/error.ts";
import { type FiledResult, filedOutput } from "../tools/filed-result.ts";
import type { CallContext, ToolScope, TurnTool } from "../tools/tool.ts";
import { type CallRequest, ServerCall } from "./call.ts";
import { failureOf, type McpFailure, unreachable } from "./failure.ts";
import { toolsAtStartMs } from "./limits.ts";
import { TaskWatch } from "./lost-tasks.ts";
import { toolNames } from "./names.ts";
import { sessionPoolOf } from "./pool.ts";
import { closedConnectionCode } from "./response-stream.ts";
import { cutText, failureText, readToolResult } from "./result.ts";
import { ProtocolError, SdkError, SdkErrorCode } from "./sdk.ts";
import { type McpTool, SessionLostError } from "./session.ts";
import { recordRuntimeFailure } from "./status.ts";
import { findMcpConnections, type McpConnectionRow } from "./store.ts";

/** An MCP connection that an agent uses, and what of a turn's session is sent to its server with every call (`mcpAttachments` of `POST /v1/agents`). */
export interface ToolAttachment {
  readonly mcpConnectionId: string;
  readonly forwardUserId: boolean;
  readonly forwardedMetadataKeys: readonly string[];
}

/** A connection whose tools a turn has to do without. */
export interface ToolsFailure {
  readonly mcpConnectionId: string;
  /** `McpFailureCode`, or `not_found` when the connection was deleted. */
  readonly code: string;
}

/**
 * Returns the tools of all attached MCP connections. The servers' tools are listed
 * concurrently; for one that is down or slow the turn waits `toolsAtStartMs` at most,
 * and goes without its tools. None has one of the names that are `takenNames`. Throws only
 * when the database fails.
 */
export async function mcpTools(
  scope: ToolScope,
  attachments: readonly ToolAttachment[],
  takenNames: readonly string[] = [],
): Promise<{ tools: TurnTool[]; failures: ToolsFailure[] }> {
  if (attachments.length === 0) return { tools: [], failures: [] };
  const { ctx, tenantId } = scope;
  const ids = attachments.map((attachment) => attachment.mcpConnectionId);
  const rows = new Map<string, McpConnectionRow>(
    (await findMcpConnections(ctx.sql, tenantId, ids)).map((row) => [row.id, row]),
  );
  const failures: ToolsFailure[] = [];
  const found = await Promise.all(
    attachments.map(async (attachment) => {
      const { mcpConnectionId } = attachment;
      const row = rows.get(mcpConnectionId);
      if (row === undefined) {
        failures.push({ mcpConnectionId, code: "not_found" });
        return [];
      }
      try {
        const list = await within(listTools(ctx, row), toolsAtStartMs, noResponse);
        const meta = forwarded(scope, attachment);
        return list.map((offer) => ({
          mcpConnectionId,
          connectionName: row.name,
          serverTool: offer.name,
          offer,
          row,
          meta,
        }));
      } catch (error) {
        const { code } = await recordFailure(ctx, row, error);
        failures.push({ mcpConnectionId, code });
        return [];
      }
    }),
  );
  const offers = found.flat();
  const names = toolNames(offers, takenNames);
  const tools = offers.map(({ offer, row, meta, ...named }, index): TurnTool => {
    const name = names.get(offers[index] as (typeof offers)[number]) as string;
    const source = { kind: "mcp" as const, mcpConnectionId: named.mcpConnectionId, serverTool: offer.name };
    return { name, tool: turnTool(scope, row, offer, meta), source, readOnly: offer.readOnly };
  });
  return { tools, failures };
}

/** Lists a connection's tools through the process's session with it, for as long as a turn waits for them. Throws errors that `failureOf` reads. */
function listTools(ctx: Ctx, row: McpConnectionRow): Promise<McpTool[]> {
  const deadline = Date.now() + toolsAtStartMs;
  return sessionPoolOf(ctx).use(row, (session) => session.tools(deadline));
}

function forwarded(scope: ToolScope, attachment: ToolAttachment): Record<string, unknown> {
  const { forwardUserId, forwardedMetadataKeys } = attachment;
  const keys = forwardedMetadataKeys.filter((key) => Object.hasOwn(scope.metadata, key));
  const metadata = Object.fromEntries(keys.map((key) => [key, scope.metadata[key]]));
  return {
    ...(forwardUserId ? { "parley/userId": scope.userId } : {}),
    ...(forwardedMetadataKeys.length === 0 ? {} : { "parley/metadata": metadata }),
  };
}

function turnTool(
  { ctx, turnId, attempt }: Pick<ToolScope, "ctx" | "turnId" | "attempt">,
  row: McpConnectionRow,
  offer: McpTool,
  meta: Record<string, unknown>,
): TurnTool["tool"] {
  return tool({
    description: offer.description,
    inputSchema: jsonSchema<Record<string, unknown>>(offer.inputSchema as JSONSchema7),
    execute: (input, { abortSignal: signal, toolCallId, messages, context }) => {
      const idempotencyKey = keyOf([turnId, toolCallId, messages.length]);
      const sent = { ...meta, "parley/idempotencyKey": idempotencyKey };
      const { onProgress } = (context ?? silent) as CallContext;
      const place = { tenantId: row.tenantId, connectionId: row.id, turnId, attempt, callKey: idempotencyKey };
      const watch = new TaskWatch(ctx, place);
      const onTask = (taskId: string) => watch.begin(taskId);
      return callTool(ctx, row, { tool: offer, args: input, meta: sent, signal, onProgress, onTask }, watch);
    },
    toModelOutput: filedOutput,
  });
}

/** Nobody is shown how far a call has come. */
const silent: CallContext = { onProgress: () => {} };

/**
 * Returns the key by which a server can tell a call that is sent again from a new one. Some
 * models name their calls anew in each step (`call_0`), so the step's place counts as well.
 */
function keyOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Calls a tool and returns its result. Throws an error whose message is meant for the model, or the signal's reason. */
async function callTool(
  ctx: Ctx,
  row: McpConnectionRow,
  request: CallRequest,
  watch: TaskWatch,
): Promise<string | FiledResult> {
  const call = new ServerCall(request);
  try {
    const result = await sessionPoolOf(ctx).use(row, (session) => call.runOn(session));
    if (result.isError !== true) return readToolResult(result);
    throw new ToolError(failureText(result) || "The tool failed.");
  } catch (error) {
    request.signal?.throwIfAborted();
    if (error instanceof ToolError) throw error;
    if (isErrorOfCall(error)) throw new ToolError(cutText(error.message));
    throw new ToolError((await recordFailure(ctx, row, error)).message);
  } finally {
    if (call.isOver) watch.end();
  }
}

/** Whether the server returned an error for this one call, or took too long for it: then the connection is all right. */
function isErrorOfCall(error: unknown): error is Error {
  if (error instanceof SdkError) return error.code === SdkErrorCode.RequestTimeout;
  return error instanceof ProtocolError && error.code !== closedConnectionCode;
}

/** Moves the connection's status, and logs that once. */
async function recordFailure(ctx: Ctx, row: McpConnectionRow, error: unknown): Promise<McpFailure> {
  const failure =
    error instanceof SessionLostError ? unreachable("The MCP server keeps losing its session.") : failureOf(error);
  const { code, message } = failure;
  const moved = await recordRuntimeFailure(ctx.sql, row, failure);
  if (moved)
    ctx.log.warn(
      { tenantId: row.tenantId, mcpConnectionId: row.id, code, reason: message },
      "an MCP connection failed",
    );
  return failure;
}

function noResponse(): never {
  throw unreachable("The MCP server did not answer in time.");
}
