import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type IdOf, isId } from "../kernel/ids.ts";
import { findSession } from "../sessions/state/store.ts";
import { type InputItem, lastKnownItem } from "./input.ts";
import { readResponse, responseOfApproval, type StoredResponse } from "./read.ts";
import { responseOfItem } from "./response-id.ts";
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
 * Returns the response that a request goes on from: the one it names, or else the one that the last of those
 * items is of which have an id of ours, since clients send back what they were given. Null when there is none.
 * Throws 400 for one of another agent, or without an answer, 404, and 409 `session_busy` while it is under way.
 */
export async function findPrevious(
  sql: AnySql,
  tenantId: string,
  body: CreateBody,
  items: readonly InputItem[],
): Promise<Previous | null> {
  const { previous_response_id: named, model } = body;
  const known = lastKnownItem(items);
  const response =
    named == null ? await responseOfKnown(sql, tenantId, known) : await readResponse(sql, tenantId, named);
  if (response === null) {
    if (named != null) throw new ApiError("not_found", { message: "There is no such previous response." });
    return null;
  }
  const field = named == null ? `/input/${known?.index ?? 0}/id` : "/previous_response_id";
  const { sessionId, agentId, turnStatus } = response;
  const session = sessionId === null ? null : await findSession(sql, tenantId, agentId, sessionId);
  if (session === null || sessionId === null) throw new ApiError("not_found");
  if (agentId !== model) throw invalid(field, "is of another model");
  if (body.user != null && body.user !== session.userId)
    throw invalid("/user", "is not the user of the previous response");
  const isOver = turnStatus === "succeeded" || turnStatus === "failed" || turnStatus === "canceled";
  if (isOver && response.message === null) throw invalid(field, "is a response without an answer");
  const itemsKnown = known === null ? 0 : known.index + 1;
  return { response, sessionId, pinnedVersion: session.pinnedVersion, itemsKnown };
}

async function responseOfKnown(
  sql: AnySql,
  tenantId: string,
  known: ReturnType<typeof lastKnownItem>,
): Promise<StoredResponse | null> {
  if (known === null) return null;
  const { itemId } = known;
  const id = isId("approval", itemId) ? await responseOfApproval(sql, tenantId, itemId) : responseOfItem(itemId);
  return id === null ? null : readResponse(sql, tenantId, id);
}
