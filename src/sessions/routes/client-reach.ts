import { type ClientAbility, type ClientScope, requireAbility } from "../../kernel/auth/client-scope.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import type { ClientRequest, Narrowed } from "../../kernel/http/client-reach.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { findSession } from "../state/store.ts";

/**
 * What a client token is good for (docs/decisions/client-tokens.md): each function is one
 * kind of operation that it may call, and says what of it is in the token's reach. What is not
 * there is answered as what does not exist.
 */

interface SessionPath {
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session">;
}

/** What a turn's body names beside the message. */
interface AskedTurn {
  readonly userId?: string | undefined;
  readonly promptId?: string | undefined;
  readonly version?: number | undefined;
}

/** An operation on one session: the user's, with the token's agent. Throws 404. */
export async function ofOwnSession<P extends SessionPath, Q, B>({
  client,
  tenantId,
  params,
  sql,
}: ClientRequest<P, Q, B>): Promise<Narrowed<Q, B>> {
  const { agentId, sessionId } = params;
  const isNamed = agentId === client.agentId && (client.sessionId === null || sessionId === client.sessionId);
  const session = isNamed ? await findSession(sql, tenantId, agentId, sessionId) : null;
  if (session?.userId !== client.userId) throw new ApiError("not_found");
  return {};
}

/** An operation on one session that takes a token with an ability. Throws 403, 404. */
export function ofOwnSessionWith(ability: ClientAbility): typeof ofOwnSession {
  return (asked) => {
    requireAbility(asked.client, ability);
    return ofOwnSession(asked);
  };
}

/** A turn of an existing session. Throws 404, and 400 for what only the agent's owner may choose. */
export async function turnOfOwn<P extends SessionPath, Q, B extends AskedTurn>(
  asked: ClientRequest<P, Q, B>,
): Promise<Narrowed<Q, B>> {
  await ofOwnSession(asked);
  return { body: ownTurnBody(asked.client, asked.body) };
}

/** A new session with its first turn. Throws 404 for another agent, 403 for the token of one session, 400 as `turnOfOwn`. */
export async function newSessionOfOwn<P extends Pick<SessionPath, "agentId">, Q, B extends AskedTurn>({
  client,
  params,
  body,
}: ClientRequest<P, Q, B>): Promise<Narrowed<Q, B>> {
  if (params.agentId !== client.agentId) throw new ApiError("not_found");
  requireAllSessions(client);
  return { body: ownTurnBody(client, body) };
}

/** A copy of the user's session, which is the user's too. Throws 404, 403 for a token without `forks` or of one session, 400 for another user. */
export async function forkOfOwn<P extends SessionPath, Q, B extends Pick<AskedTurn, "userId">>(
  asked: ClientRequest<P, Q, B>,
): Promise<Narrowed<Q, B>> {
  requireAbility(asked.client, "forks");
  await ofOwnSession(asked);
  requireAllSessions(asked.client);
  return { body: { ...asked.body, userId: ownUserId(asked.client, asked.body.userId) } };
}

/** The list of an agent's sessions, narrowed to the user's. Of another agent or user there are none. */
export async function listOfOwnSessions<
  P extends Pick<SessionPath, "agentId">,
  Q extends { readonly userId?: string | undefined },
  B,
>({ client, params, query }: ClientRequest<P, Q, B>): Promise<Narrowed<Q, B>> {
  if (params.agentId !== client.agentId || isOther(query.userId, client.userId)) return { response: emptyPage };
  return { query: { ...query, userId: client.userId } };
}

/** The list of turns, narrowed to the user's with the agent. Of others there are none. */
export async function listOfOwnTurns<P, Q extends Partial<SessionPath> & { readonly userId?: string | undefined }, B>({
  client,
  query,
}: ClientRequest<P, Q, B>): Promise<Narrowed<Q, B>> {
  const { agentId, userId, sessionId } = client;
  const asksForOthers =
    isOther(query.agentId, agentId) || isOther(query.userId, userId) || isOther(query.sessionId, sessionId);
  if (asksForOthers) return { response: emptyPage };
  return { query: { ...query, agentId, userId, ...(sessionId === null ? {} : { sessionId }) } };
}

/** Reads a turn of the user with the agent. Throws 404. */
export async function ownTurn<P extends { readonly turnId: string }, Q, B>({
  client,
  tenantId,
  params,
  sql,
}: ClientRequest<P, Q, B>): Promise<Narrowed<Q, B>> {
  const { agentId, userId, sessionId } = client;
  const [turn] = await sql`
    select /* turn.is_within_reach */ 1 from turns where id = ${params.turnId} and tenant_id = ${tenantId} and agent_id = ${agentId}
      and user_id = ${userId} ${sessionId === null ? sql`` : sql`and session_id = ${sessionId}`}`;
  if (turn === undefined) throw new ApiError("not_found");
  return {};
}

const emptyPage = { data: [], nextCursor: null };

function isOther(asked: string | undefined, own: string | null): boolean {
  return asked !== undefined && own !== null && asked !== own;
}

/** The token of one session makes no other one. */
function requireAllSessions({ sessionId }: ClientScope): void {
  if (sessionId === null) return;
  throw new ApiError("client_token_refused", { message: "This client token is good for one session only." });
}

function ownTurnBody<B extends AskedTurn>(client: ClientScope, body: B): B {
  // Whose prompt it is, and which rules a version had, is for the agent's owner to choose.
  for (const field of ["promptId", "version"] as const)
    if (body[field] !== undefined) throw invalid(`/${field}`, "is not taken with a client token");
  return { ...body, userId: ownUserId(client, body.userId) };
}

/** Returns the token's user. Throws 400 where another one is named. */
function ownUserId({ userId }: ClientScope, asked: string | undefined): string {
  if (asked !== undefined && asked !== userId) throw invalid("/userId", "is not the user of the client token");
  return userId;
}
