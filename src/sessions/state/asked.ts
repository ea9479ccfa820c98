import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { CallerOptions } from "./caller-options.ts";
import type { TurnStatus } from "./turn.ts";
import { isVisible } from "./turn-view.ts";

/** What a turn was asked with, as its row has it. */
export interface AskedTurn {
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session"> | null;
  readonly status: TurnStatus | "enqueued";
  readonly userId: string;
  /** The user's message, or all messages of a stateless generation; null for a regeneration, and where they are kept no longer. */
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
  readonly callerOptions: CallerOptions | null;
  /** A regeneration keeps the transcript up to here. */
  readonly keepSeq: number | null;
  /** The message that a regeneration which never started was asked for; null: the last answer. */
  readonly regenerates: string | null;
  readonly isRegeneration: boolean;
  /** Its session takes further turns. */
  readonly isOpen: boolean;
}

/** Returns what a turn of a tenant was asked with. Throws 404. */
export async function findAsked(sql: AnySql, tenantId: string, turnId: string): Promise<AskedTurn> {
  const [turn] = await sql<AskedTurn[]>`
    select /* turn.asked */ t.agent_id, t.session_id, t.status, t.user_id, t.input, t.metadata, t.response_format, t.caller_options, t.keep_seq,
      t.regenerates, t.trigger = 'regenerate-message' as is_regeneration,
      exists (select 1 from sessions s where s.id = t.session_id and s.deleted_at is null) as is_open
    from turns t where t.id = ${turnId} and t.tenant_id = ${tenantId} and ${isVisible(sql)}`;
  if (turn === undefined) throw new ApiError("not_found", { message: "There is no such turn." });
  return turn;
}

/** What a turn was asked, as `GET /v1/turns/:turnId/input` shows it. */
export type TurnInput = { readonly message: UiMessage } | { readonly messages: readonly UiMessage[] };

/** Returns what a turn was asked: for a regeneration the message that it answers anew. Throws 404, also where that is kept no longer. */
export async function readAsked(sql: AnySql, tenantId: string, turnId: string): Promise<TurnInput> {
  const turn = await findAsked(sql, tenantId, turnId);
  const input = turn.input ?? (await answeredAnew(sql, turn))?.content ?? null;
  if (input === null) throw new ApiError("not_found", { message: "What this turn was asked is not kept any more." });
  return Array.isArray(input) ? { messages: input } : { message: input as UiMessage };
}

/** Returns the user's message in the transcript that a regeneration answers anew; null where there is none. */
export async function answeredAnew(
  sql: AnySql,
  { sessionId, keepSeq, regenerates }: AskedTurn,
): Promise<{ readonly id: string; readonly content: UiMessage } | null> {
  if (sessionId === null) return null;
  const upTo =
    regenerates === null
      ? sql`${keepSeq}::bigint`
      : sql`(select max(seq) from messages where session_id = ${sessionId} and id = ${regenerates})`;
  const [asked] = await sql<{ id: string; content: UiMessage }[]>`
    select /* message.answered */ id, content from messages
    where session_id = ${sessionId} and role = 'user' and seq <= coalesce(${upTo}, ${Number.MAX_SAFE_INTEGER}::bigint)
    order by seq desc limit 1`;
  return asked ?? null;
}
