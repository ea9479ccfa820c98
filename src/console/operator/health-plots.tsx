import type { InstallationHealth } from "../../console-shapes/health.ts";
import { TurnPlots } from "../parts/turn-plots.tsx";

const timeText = (at: string) => new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });

/** The turns of all tenants over the last hours, in parts of five minutes; nothing where there was none. */
export function HealthPlots({ parts }: Pick<InstallationHealth, "parts">) {
  const sumOf = (name: "accepted" | "failed" | "inputTokens" | "outputTokens") =>
    parts.reduce((sum, part) => sum + part[name], 0);
  const accepted = sumOf("accepted");
  if (accepted === 0) return null;
  const tokens = { inputTokens: sumOf("inputTokens"), outputTokens: sumOf("outputTokens") };
  return <TurnPlots parts={parts} whole={{ accepted, failed: sumOf("failed"), ...tokens }} formatAt={timeText} />;
}
