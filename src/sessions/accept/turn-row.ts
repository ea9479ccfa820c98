import type postgres from "postgres";
import { type AnySql, json } from "../../kernel/database/client.ts";
import type { Given } from "../../kernel/database/statement.ts";
import type { Form } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { previewOf } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { hasParkedSql } from "../state/parked.ts";
import type { TurnKind } from "../state/turn.ts";
import { countQueued, type TenantQueue } from "./queued-turns.ts";

/** A turn to be written, and with it its session when that is new. */
export interface NewTurn extends TenantQueue {
  readonly turnId: IdOf<"turn">;
  readonly agentId: IdOf<"agent">;
  /** Null: a stateless generation. */
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: TurnKind;
  readonly newSession: boolean;
  /** Whether a new session is visible at once. */
  readonly visible: boolean;
  /** The version of the agent that a new session keeps to; null: always the newest. */
  readonly pinnedVersion: number | null;
  /** The version that the turn runs; null: its session's. */
  readonly agentVersion: number | null;
  readonly trigger: "submit-message" | "regenerate-message";
  readonly input: UiMessage | readonly UiMessage[] | null;
  /** A regeneration keeps the transcript up to this place. */
  readonly keepSeq: number | null;
  /** The message that a regeneration in a line was asked for; null is the last answer. */
  readonly regenerates: string | null;
  readonly assistantMessageId: IdOf<"message">;
  /** The user of a new session; a turn of an existing session has the session's. */
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
  readonly callerOptions: CallerOptions | null;
  readonly requestId: string;
  /** The trace context of the request's span, which is the parent of the turn's. */
  readonly traceparent: string | null;
  /** By the database's clock; a statement that starts later writes nothing. */
  readonly writeBefore: Date;
  /** The API key that the statement looks up, because it was not before, and the form of its tenant; null: who asks is known. */
  readonly recalled: { readonly key: string | null; readonly form: Form } | null;
  /** The Idempotency-Key that the turn is stored under. */
  readonly key: IdempotencyKey | null;
  /** Whether the operator configured a provider for agents without one. */
  readonly hasPlatformProvider: boolean;
}

/** The size of a turn among others in one statement. */
export function charsOf({ input }: NewTurn): number {
  return JSON.stringify(input).length;
}

type Value = string | number | boolean | Date | Buffer | object | null;
type Column = readonly [type: keyof typeof textOf, (turn: NewTurn) => Value];

/** How several turns' values of a column are sent, by its type: as texts, because an array of a type that Postgres is not asked for is one of texts. */
const textOf = {
  text: String,
  int: String,
  bigint: String,
  boolean: String,
  json: (value: Value) => JSON.stringify(value),
  timestamptz: (value: Value) => (value as Date).toISOString(),
  bytea: (value: Value) => `\\x${(value as Buffer).toString("hex")}`,
};

/** The columns of `asked`: how the statements that write turns see them. */
const columns: Readonly<Record<string, Column>> = {
  turn_id: ["text", (turn) => turn.turnId],
  tenant_id: ["text", (turn) => turn.tenantId],
  agent_id: ["text", (turn) => turn.agentId],
  session_id: ["text", (turn) => turn.sessionId],
  kind: ["text", (turn) => turn.kind],
  new_session: ["boolean", (turn) => turn.newSession],
  visible: ["boolean", (turn) => turn.visible],
  first_preview: ["text", firstPreview],
  pinned_version: ["int", (turn) => turn.pinnedVersion],
  agent_version: ["int", (turn) => turn.agentVersion],
  trigger: ["text", (turn) => turn.trigger],
  input: ["json", (turn) => turn.input],
  /** Of a message that has to be new in its session: to read it from the input would parse that again. */
  message_id: ["text", newMessageId],
  keep_seq: ["bigint", (turn) => turn.keepSeq],
  assistant_message_id: ["text", (turn) => turn.assistantMessageId],
  user_id: ["text", (turn) => turn.userId],
  metadata: ["json", (turn) => turn.metadata],
  response_format: ["json", (turn) => turn.responseFormat],
  caller_options: ["json", (turn) => turn.callerOptions],
  request_id: ["text", (turn) => turn.requestId],
  traceparent: ["text", (turn) => turn.traceparent],
  write_before: ["timestamptz", (turn) => turn.writeBefore],
  queued_turns_max: ["int", (turn) => turn.queuedTurnsMax],
  is_counted: ["boolean", (turn) => turn.isCounted],
  key_digest: ["text", (turn) => turn.recalled?.key ?? null],
  form: ["text", (turn) => turn.recalled?.form ?? null],
  idempotency_key: ["text", (turn) => turn.key?.key ?? null],
  request_digest: ["bytea", (turn) => turn.key?.requestDigest ?? null],
};

/** The list of sessions shows what a new one began with, whatever becomes of the turn. */
function firstPreview({ newSession, input }: NewTurn): string | null {
  return newSession && input !== null ? previewOf(input as UiMessage) : null;
}

function newMessageId({ sessionId, newSession, trigger, input }: NewTurn): string | null {
  if (sessionId === null || newSession || trigger !== "submit-message" || input === null) return null;
  return (input as { readonly id?: string }).id ?? null;
}

/** Returns the query of one turn as it is asked for, for a CTE `asked`: its columns are parameters, which Postgres can put in wherever they are used. */
export function askedRow(sql: AnySql, given: Given<NewTurn>): postgres.Fragment {
  const values = Object.entries(columns).map(([name, [type, read]], index) => {
    const as = sql.unsafe(`::${type} as ${name}`);
    const sent = given((turn, client) => {
      const value = read(turn);
      return type === "json" && value !== null ? json(client, value) : value;
    });
    return sql`${index === 0 ? sql`` : sql`, `}${sent}${as}`;
  });
  return sql`select ${values}`;
}

/**
 * Returns the query of several turns. The limit lets nothing out: with it a plan for any number of turns looks no dearer to Postgres than
 * one for these, because it assumes that a limit it does not know lets through a tenth. Otherwise groups of up to four were planned anew each
 * time, which was most of what they took.
 */
function manyRows(sql: AnySql, given: Given<readonly NewTurn[]>): postgres.Fragment {
  const all = Object.entries(columns);
  const arrays = all.map(([, [type, read]], index) => {
    const texts = given((turns) =>
      turns.map((turn) => {
        const value = read(turn);
        return value === null ? null : textOf[type](value);
      }),
    );
    return sql`${index === 0 ? sql`` : sql`, `}${texts}::text[]`;
  });
  const typed = sql.unsafe(all.map(([name, [type]]) => `${name}::${type}`).join(", "));
  const names = sql.unsafe(all.map(([name]) => name).join(", "));
  return sql`select ${typed} from unnest(${arrays}) as sent(${names}) limit ${given((turns) => turns.length)}`;
}

/**
 * Returns the CTE `asked`: the turns that are asked for, `one` or several, each with whether its tenant has no place left for
 * it, and whether it is to be parked.
 */
export function askedTurns(sql: AnySql, given: Given<readonly NewTurn[]>, one: boolean): postgres.Fragment {
  const queued = countQueued(sql, sql`sent.tenant_id`, sql`queued_turns_max`);
  const isParked = sql`is_counted or ${hasParkedSql(sql, sql`sent.tenant_id`)} as is_parked`;
  if (one)
    return sql`
    asked as not materialized (
      select sent.*, queued_turns_max is not null and ${queued} >= queued_turns_max as is_full, ${isParked}
      from (${askedRow(sql, (read) => given(([turn], client) => read(turn as NewTurn, client)))}) sent
    )`;
  return sql`
    sent as materialized (${manyRows(sql, given)}), shares as materialized (
      select tenant_id, ${isParked}, case when queued_turns_max is not null then queued_turns_max - ${queued} end as places
      from (select tenant_id, min(queued_turns_max) as queued_turns_max, bool_or(is_counted) as is_counted from sent group by tenant_id) sent
    ), asked as materialized (
      select sent.*, coalesce(place > places, false) as is_full, is_parked
      from (select *, row_number() over (partition by tenant_id) as place from sent) sent join shares using (tenant_id)
    )`;
}
