import { type AgentIds, reaches } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type IdOf, isId } from "../kernel/ids.ts";
import { findSession } from "../sessions/state/store.ts";
import { type InputItem, lastKnownItem, lastOutputs } from "./input.ts";
import { readResponse, responseOfApproval, responseOfCalls, type StoredResponse } from "./read.ts";
import { responseIdOf, responseOfItem } from "./response-id.ts";
import type { CreateBody } from "./schema.ts";

/** The response that a request goes on from. */
export interface Previous {
  readonly response: StoredResponse;
  readonly sessionId: IdOf<"session">;
  readonly pinnedVersion: number | null;
  /** How many items of the input its session holds already. */
  readonly itemsKnown: number;
}

/**
 * Returns the response that a request goes on from: the one it names; or the one that the last of those items is
 * of which have an id of ours, since clients send back what they were given; or the one that waits for the outputs with
 * which the input ends. Null when there is none.
 * Throws 400 for one of another agent, or without an answer, 404, and 409 `session_busy` while it is under way.
 */
export async function findPrevious(
  sql: AnySql,
  { tenantId, agentIds }: { readonly tenantId: string; readonly agentIds: AgentIds },
  body: CreateBody,
  items: readonly InputItem[],
): Promise<Previous | null> {
  const { previous_response_id: named, model } = body;
  const known = lastKnownItem(items);
  if (named != null) {
    const response = await readResponse(sql, tenantId, named);
    if (response === null) throw new ApiError("not_found", { message: "There is no such previous response." });
    const itemsKnown = answersIn(response, items) ?? (known?.index ?? -1) + 1;
    return previousOf(sql, body, { response, field: "/previous_response_id", itemsKnown });
  }
  const meant = await responseOfItems(sql, tenantId, known);
  if (meant !== null && known !== null && reaches(agentIds, meant.agentId))
    return previousOf(sql, body, { response: meant, field: `/input/${known.index}/id`, itemsKnown: known.index + 1 });
  const outputs = lastOutputs(items);
  const waiting =
    outputs === null ? null : await responseOfCalls(sql, { tenantId, agentId: model, callIds: outputs.callIds });
  const response = waiting === null ? null : await readResponse(sql, tenantId, waiting);
  if (response === null || outputs === null) return null;
  const field = `/input/${outputs.index}/call_id`;
  return previousOf(sql, body, { response: lastOfTurn(response), field, itemsKnown: outputs.index });
}

/** Returns the place of the outputs at the end of an input that the turn waits for; null where it waits for none of them. */
function answersIn({ turnStatus, pauses }: StoredResponse, items: readonly InputItem[]): number | null {
  const outputs = lastOutputs(items);
  const waiting = new Set(pauses.at(-1)?.calls.map(({ toolCallId }) => toolCallId));
  if (turnStatus !== "waiting" || outputs === null) return null;
  return outputs.callIds.every((callId) => waiting.has(callId)) ? outputs.index : null;
}

/** Returns the response with which a turn that waits has stopped. */
function lastOfTurn(response: StoredResponse): StoredResponse {
  const { turnId, pauses } = response;
  const place = Math.max(0, pauses.length - 1);
  return { ...response, place, id: responseIdOf(pauses[place - 1]?.continuationId ?? turnId) };
}

/** A response that a request may go on from, and the field that says so. */
interface Meant {
  readonly response: StoredResponse;
  readonly field: string;
  readonly itemsKnown: number;
}

async function previousOf(sql: AnySql, body: CreateBody, { response, field, itemsKnown }: Meant): Promise<Previous> {
  const { model } = body;
  const { tenantId, sessionId, agentId, turnStatus } = response;
  const session = sessionId === null ? null : await findSession(sql, tenantId, agentId, sessionId);
  if (session === null || sessionId === null) throw new ApiError("not_found");
  if (agentId !== model) throw invalid(field, "is of another model");
  if (body.user != null && body.user !== session.userId)
    throw invalid("/user", "is not the user of the previous response");
  const isOver = turnStatus === "succeeded" || turnStatus === "failed" || turnStatus === "canceled";
  if (isOver && response.message === null) throw invalid(field, "is a response without an answer");
  return { response, sessionId, pinnedVersion: session.pinnedVersion, itemsKnown };
}

async function responseOfItems(
  sql: AnySql,
  tenantId: string,
  known: ReturnType<typeof lastKnownItem>,
): Promise<StoredResponse | null> {
  if (known === null) return null;
  const { itemId } = known;
  const id = isId("approval", itemId) ? await responseOfApproval(sql, tenantId, itemId) : responseOfItem(itemId);
  return id === null ? null : readResponse(sql, tenantId, id);
}
