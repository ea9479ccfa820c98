import { Buffer } from "node:buffer";
import type { ProviderType } from "../../kernel/config.ts";
import type { Ctx } from "../../kernel/context.ts";
import { chunksOfEvents, type LogKey, lastOf, type Relay } from "../../kernel/relay/relay.ts";
import { contextWindowOf } from "../../model/context-window.ts";
import { costOfCall } from "../../model/price.ts";
import { type CallBytes, estimatedTokens } from "../../model/token-counts.ts";
import type { OwnPrices } from "../../prices/own-prices.ts";
import { ownPricesOf } from "../../prices/store.ts";
import { addCost, addTokens, type Cost, noCost, noTokens, type TokenCounts } from "../../usage/tokens.ts";
import { noUsage, type TurnUsage } from "../state/turn-end.ts";

/** The log of a lost claim. */
interface LostLog extends LogKey {
  readonly hasShown: boolean;
  /** The first event of the step that was under way; 1 when left out. */
  readonly from?: number;
  /** The last event, of a log that is not sealed. */
  readonly upTo?: number | null;
}

/** Reading what a lost turn showed takes at most this long. */
const logReadMs = 5_000;
/** Messages that are counted as sent, the newest: more than a model's window holds. */
const sentMessagesMax = 2_000;

interface LostRow {
  providerId: string | null;
  providerType: ProviderType | null;
  baseUrl: string | null;
  model: string | null;
  tenantId: string;
  pricesVersion: number;
  /** Model calls of the lost claim that are in the turn's row, with their tokens. */
  written: number;
  sentBytes: number;
}

/**
 * Returns an estimate of what a claim used whose worker is lost, by what is stored: of its
 * prompt the instructions, the summary, the transcript and the user's message; of its
 * answer what is in its turn log, which is sealed. Each step in the log is a model call
 * that was sent all before it. A claim that showed nothing counts as one call without an
 * answer: whether it was made, only the worker knew.
 */
export async function lostUsage(
  { sql, relay }: Pick<Ctx, "sql" | "relay">,
  turnId: string,
  { logId, attempt, hasShown, from = 1, upTo = null }: LostLog,
): Promise<TurnUsage> {
  const [row] = await sql<LostRow[]>`
    select /* turn.read_usage */ v.provider_id, p.provider_type, p.base_url, v.config ->> 'model' as model,
      t.tenant_id, coalesce((select prices_version from tenants n where n.id = t.tenant_id), 0) as prices_version, t.model_calls - t.calls_before as written,
      coalesce(octet_length(v.config ->> 'instructions'), 0) + coalesce(octet_length(z.text), 0)
        + coalesce(octet_length(${withoutPictures("t.input")}), 0) + coalesce((
          select sum(octet_length(${withoutPictures("m.content")})) from (
            select content from messages where session_id = t.session_id and seq > coalesce(z.upto_seq, 0)
              and (t.keep_seq is null or seq <= t.keep_seq)
            order by seq desc limit ${sentMessagesMax}
          ) m), 0) + coalesce((select sum(octet_length(k.chunks::text)) from turn_checkpoints k where k.turn_id = t.id), 0) as sent_bytes
    from turns t
    left join agent_versions v on v.agent_id = t.agent_id and v.version = t.agent_version
    left join providers p on p.id = v.provider_id
    left join session_summaries z on z.session_id = t.session_id
    where t.id = ${turnId}`;
  if (row === undefined) return noUsage;
  const own = await ownPricesOf(sql, row.tenantId, row.pricesVersion);
  const shown = hasShown ? await shownCalls(relay, { logId, attempt, from, upTo }, row.sentBytes) : [];
  const calls = shown.length === 0 ? [{ sent: row.sentBytes, came: 0 }] : shown.slice(row.written);
  const windowTokens = contextWindowOf(row.model ?? "");
  const used = calls.map(({ sent, came }) => ({
    ...noTokens,
    inputTokens: Math.min(windowTokens, estimatedTokens(sent)),
    outputTokens: estimatedTokens(came),
  }));
  return {
    ...noUsage,
    provider: row.providerId,
    providerType: row.providerType,
    model: row.model,
    ...used.reduce((total, one) => addTokens(total, one), noTokens),
    ...used.map((one) => costOf(row, one, own)).reduce(addCost, noCost),
    modelCalls: calls.length,
    estimated: calls.length > 0,
  };

  function withoutPictures(column: "t.input" | "m.content") {
    return sql`regexp_replace(${sql(column)}::text, 'data:image/[^"]*', '', 'g')`;
  }
}

/** Returns the bytes of each model call in a sealed turn log; what cannot be read in time is left out. */
async function shownCalls(
  relay: Relay,
  { from, upTo, ...key }: LogKey & { readonly from: number; readonly upTo: number | null },
  sentBytes: number,
): Promise<CallBytes[]> {
  const calls: { sent: number; came: number }[] = [];
  let sent = sentBytes;
  if (upTo !== null && from > upTo) return calls;
  for await (const item of relay.follow(key, from, AbortSignal.timeout(logReadMs))) {
    if (item.type !== "batch") break;
    for (const chunk of chunksOfEvents(item.batch.sse) as ShownChunk[]) {
      if (chunk.type === "start-step") calls.push({ sent, came: 0 });
      const { came, told } = bytesOf(chunk);
      const call = calls.at(-1);
      if (call !== undefined) call.came += came;
      sent += came + told;
    }
    if (upTo !== null && lastOf(item.batch) >= upTo) break;
  }
  return calls;
}

interface ShownChunk {
  readonly type: string;
  readonly delta?: string;
  readonly input?: unknown;
  readonly output?: unknown;
}

/** Returns the bytes that came from the model with a chunk, and those that it is told of in the next call. */
function bytesOf({ type, delta = "", input, output }: ShownChunk): { came: number; told: number } {
  switch (type) {
    case "text-delta":
    case "reasoning-delta":
      return { came: Buffer.byteLength(delta), told: 0 };
    case "tool-input-available":
    case "tool-input-error":
      return { came: Buffer.byteLength(JSON.stringify(input) ?? ""), told: 0 };
    case "tool-output-available":
      return { came: 0, told: Buffer.byteLength(JSON.stringify(output) ?? "") };
    default:
      return { came: 0, told: 0 };
  }
}

function costOf(row: LostRow, tokens: TokenCounts, own: OwnPrices | null): Cost {
  const { providerId, providerType, baseUrl, model } = row;
  if (providerType === null || model === null) return { costPico: null, costComplete: false };
  return costOfCall({ providerId, providerType, baseUrl, model }, tokens, Date.now(), own);
}
