import { createHash } from "node:crypto";
import { type JSONSchema7, jsonSchema, tool } from "ai";
import { within } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import { ToolError } from "../tools/error.ts";
import { type FiledResult, filedOutput } from "../tools/filed-result.ts";
import type { CallContext, ToolScope, TurnTool } from "../tools/tool.ts";
import { type CallRequest, ServerCall } from "./call/call.ts";
import { CallKeys } from "./call/call-keys.ts";
import { TaskWatch } from "./call/lost-tasks.ts";
import { sessionPoolOf } from "./call/pool.ts";
import { cutText, failureText, readCallResult } from "./call/result.ts";
import { SessionLostError } from "./call/session.ts";
import type { McpTool } from "./call/tool-list.ts";
import { toolsAtStartMs } from "./limits.ts";
import { toolNames } from "./names.ts";
import { recordRuntimeFailure } from "./status.ts";
import { findMcpConnections, type McpConnectionRow } from "./store.ts";
import { failureOf, type McpFailure, UnreadableAnswer, unreachable } from "./wire/failure.ts";
import { CallRefused } from "./wire/refusal.ts";
import { ProtocolError, SdkError, SdkErrorCode } from "./wire/sdk.ts";

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
  const keys = new CallKeys(scope.turnId);
  const tools = offers.map(({ offer, row, meta, ...named }, index): TurnTool => {
    const name = names.get(offers[index] as (typeof offers)[number]) as string;
    const source = { kind: "mcp" as const, mcpConnectionId: named.mcpConnectionId, serverTool: offer.name };
    return { name, tool: turnTool(scope, row, { name, offer, meta, keys }), source, readOnly: offer.readOnly };
  });
  return { tools, failures };
}

/** Lists a connection's tools through the process's session with it, for as long as a turn waits for them. Throws errors that `failureOf` reads. */
function listTools(ctx: Ctx, row: McpConnectionRow): Promise<readonly McpTool[]> {
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

/** What a tool of a turn is made of. */
interface Offered {
  /** Its name for the model. */
  readonly name: string;
  readonly offer: McpTool;
  readonly meta: Record<string, unknown>;
  readonly keys: CallKeys;
}

function turnTool(
  { ctx, turnId, attempt }: Pick<ToolScope, "ctx" | "turnId" | "attempt">,
  row: McpConnectionRow,
  { name, offer, meta, keys }: Offered,
): TurnTool["tool"] {
  return tool({
    description: offer.description,
    inputSchema: jsonSchema<Record<string, unknown>>(offer.inputSchema as JSONSchema7),
    execute: async (input, { abortSignal: signal, toolCallId, messages, context }) => {
      const keyed = { toolName: name, input, toolCallId, messages };
      const sent = { ...meta, "parley/idempotencyKey": keys.keyOf(keyed) };
      const { onProgress } = (context ?? silent) as CallContext;
      const place = { tenantId: row.tenantId, connectionId: row.id, turnId, attempt };
      const watch = new TaskWatch(ctx, { ...place, callKey: watchKeyOf([turnId, toolCallId, messages.length]) });
      const onTask = (taskId: string) => watch.begin(taskId);
      try {
        return await callTool(ctx, row, { tool: offer, args: input, meta: sent, signal, onProgress, onTask }, watch);
      } catch (error) {
        if (error instanceof UnknownOutcomeError) keys.noteUnknown(keyed);
        throw error;
      }
    },
    toModelOutput: filedOutput,
  });
}

/** A call failed, and it is not known what it did at the server. */
class UnknownOutcomeError extends ToolError {}

/** How far a call has come is not shown. */
const silent: CallContext = { onProgress: () => {} };

/** Some models name their calls anew in each step (`call_0`), so the step's place counts as well. */
function watchKeyOf(parts: readonly unknown[]): string {
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
    if (result.isError !== true) return readCallResult(result);
    throw new ToolError(failureText(result) || "The tool failed.");
  } catch (error) {
    request.signal?.throwIfAborted();
    if (error instanceof ToolError) throw error;
    if (error instanceof ProtocolError) throw new ToolError(cutText(error.message));
    if (error instanceof UnreadableAnswer) throw new UnknownOutcomeError(ranUnread(error));
    const refusal = error instanceof SessionLostError ? error.refusal : error;
    if (refusal instanceof CallRefused) throw new UnknownOutcomeError(cutText(refusal.message));
    if (isTimeout(error)) throw new UnknownOutcomeError(cutText(error.message));
    throw new UnknownOutcomeError((await recordFailure(ctx, row, error)).message);
  } finally {
    if (call.isOver) watch.end();
  }
}

/** What the model is told of a call whose answer came and cannot be read: it is not to make the call again for that. The connection is all right. */
function ranUnread({ message }: UnreadableAnswer): string {
  return `The tool ran, but its result cannot be read. Do not call it again for that reason. ${message}`;
}

/** Whether the server took too long for this one call: then the connection is all right. */
function isTimeout(error: unknown): error is SdkError {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
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
