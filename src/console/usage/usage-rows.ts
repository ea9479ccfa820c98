import type { Usage, UsageBucket } from "parley/client";
import { userPath } from "../parts/user-path.ts";

/** What usage is added up by. */
export const usageChoices = ["day", "agent", "model", "user"] as const;
export type UsageChoice = (typeof usageChoices)[number];

/** The days that a report covers at most. */
export const rangeDaysMax = 31;
const dayMs = 86_400_000;

/** One row of a report: what it is about, and the sums. */
export interface UsageRow {
  readonly key: string;
  readonly label: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly requestCount: number;
  readonly durationMs: number;
  readonly costUsd: string | null;
  readonly costIsComplete: boolean;
  /** The page of what it is about; null where it has none. */
  readonly place: string | null;
}

/** What the largest rows are the largest of. */
export const measures = ["tokens", "cost"] as const;
export type Measure = (typeof measures)[number];

/** The amount of a row that it is compared by. */
export function amountOf(row: Pick<UsageRow, "inputTokens" | "outputTokens" | "costUsd">, measure: Measure): number {
  return measure === "cost" ? Number(row.costUsd ?? 0) : row.inputTokens + row.outputTokens;
}

/** Returns a moment whose date here is that of UTC at `now`: the calendar by which reports have their days. */
export function calendarOfUtc(now: Date): Date {
  return new Date(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), 12);
}

/** Returns each day from the first to the last, both included; at most `rangeDaysMax`. */
export function everyDay({ from, to }: { readonly from: string; readonly to: string }): string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const days = Math.min(rangeDaysMax, Math.floor((last - first) / dayMs) + 1);
  return Number.isNaN(days) ? [] : Array.from({ length: Math.max(0, days) }, (_, at) => dayText(first + at * dayMs));
}

function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** What rows are called, and compared by. */
interface RowsAbout {
  readonly by: UsageChoice;
  readonly measure: Measure;
  agentName(id: string): string;
  providerName(id: string): string;
}

/** Returns a report's buckets as rows, the largest first, or the newest day. */
export function rowsOf({ buckets }: Usage, { by, measure, agentName, providerName }: RowsAbout): UsageRow[] {
  // One model that several providers have is several rows.
  const isOfSeveral = (model: string | null) => buckets.filter((bucket) => bucket.model === model).length > 1;
  const modelName = ({ provider, model }: UsageBucket) =>
    provider !== null && isOfSeveral(model) ? `${model} of ${providerName(provider)}` : (model ?? "–");
  const names = { agentName, modelName };
  return buckets
    .map((bucket) => {
      const { inputTokens, outputTokens, requestCount, durationMs, costUsd, costIsComplete } = bucket;
      const sums = { inputTokens, outputTokens, requestCount, durationMs, costUsd, costIsComplete };
      return { ...subjectOf(bucket, by, names), ...sums };
    })
    .toSorted((one, other) =>
      by === "day" ? (one.key < other.key ? 1 : -1) : amountOf(other, measure) - amountOf(one, measure),
    );
}

function subjectOf(
  bucket: UsageBucket,
  by: UsageChoice,
  { agentName, modelName }: { agentName(id: string): string; modelName(bucket: UsageBucket): string },
): { key: string; label: string; place: string | null } {
  const { day, agentId, userId, model, provider } = bucket;
  switch (by) {
    case "day":
      return { key: day ?? "", label: day ?? "–", place: null };
    case "agent":
      return {
        key: agentId ?? "",
        label: agentId === null ? "–" : agentName(agentId),
        place: agentId && `/agents/${agentId}`,
      };
    case "user":
      return { key: userId ?? "", label: userId || "without a user", place: userId ? userPath(userId) : null };
    case "model":
      return { key: `${provider} ${model}`, label: modelName(bucket), place: provider && `/providers/${provider}` };
  }
}

/** Returns rows as CSV (RFC 4180) with a heading. A text that a spreadsheet would read as a formula gets a quote in front. */
export function csvOf(by: UsageChoice, rows: readonly UsageRow[]): string {
  const heading = [by, "input_tokens", "output_tokens", "turns", "duration_ms", "cost_usd", "cost_is_complete"];
  const lines = rows.map((row) => [
    csvText(row.label),
    ...[row.inputTokens, row.outputTokens, row.requestCount, row.durationMs].map(String),
    ...[row.costUsd ?? "", String(row.costIsComplete)],
  ]);
  return [heading, ...lines].map((line) => `${line.join(",")}\r\n`).join("");
}

function csvText(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
