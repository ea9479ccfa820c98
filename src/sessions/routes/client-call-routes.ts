import { Elysia } from "elysia";
import { invalid } from "../../kernel/errors.ts";
import { unaudited } from "../../kernel/http/audit-trail.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { Characters } from "../../kernel/http/request-fields.ts";
import { storable } from "../../messages/text.ts";
import type { CallResult } from "../../messages/tool-calls.ts";
import type { StreamContext } from "../follow/respond.ts";
import { listClientCalls, settleCall } from "../pause/client-calls.ts";
import { type ClientResult, ClientResultBody, sessionPath } from "../schema.ts";
import { requireSession } from "./approval-routes.ts";
import { ofOwnSession, ofOwnSessionWith } from "./client-reach.ts";
import { ToolCallListResponse, ToolCallSettledResponse } from "./responses.ts";

/** A tool call's id, which its provider made, has at most this many characters in a path. */
const toolCallIdCharactersMax = 512;

/** The operations on calls of client tools. */
export function clientCallRoutes({ ctx }: StreamContext) {
  return new Elysia({ prefix: "/v1/agents/:agentId/sessions/:sessionId/tool-calls" })
    .get(
      "",
      operation(ctx, {
        id: "toolCalls.list",
        role: "reader",
        summary: "List a session's calls of client tools",
        params: pathIds(sessionPath),
        success: 200,
        response: ToolCallListResponse,
        errors: ["not_found"],
        clientTokens: ofOwnSession,
        handle: async ({ sql, tenantId, params }) => {
          await requireSession(sql, tenantId, params);
          return listClientCalls(sql, params.sessionId);
        },
      }),
    )
    .post(
      "/:toolCallId",
      operation(ctx, {
        id: "toolCalls.settle",
        role: "runner",
        audit: unaudited,
        summary: "Give the result of a call of a client tool",
        params: pathIds({ ...sessionPath, toolCallId: Characters({ min: 1, max: toolCallIdCharactersMax }) }),
        body: ClientResultBody,
        success: 202,
        response: ToolCallSettledResponse,
        errors: ["not_found", "tool_call_settled", "client_token_refused"],
        clientTokens: ofOwnSessionWith("clientTools"),
        handle: async ({ sql, commit, tenantId, params, body }) => {
          const result = resultOf(params.toolCallId, body);
          await requireSession(sql, tenantId, params);
          return commit((inner) => settleCall(inner, params.sessionId, result));
        },
      }),
    );
}

/** Returns the result in a body. Throws 400 when it has none, or both kinds. */
function resultOf(toolCallId: string, { output, errorText }: ClientResult): CallResult {
  if (errorText === undefined) {
    if (output === undefined) throw invalid("/output", "is required, or errorText in its place");
    return { toolCallId, output: storable(output) };
  }
  if (output !== undefined) throw invalid("/errorText", "and output exclude each other");
  return { toolCallId, errorText: storable(errorText) };
}
