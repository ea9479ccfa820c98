import type { OverviewPart, TurnSums } from "../../console-shapes/overview.ts";
import { countText, durationText } from "./moment.ts";
import { Plot } from "./plot.tsx";

interface TurnPlotsProps {
  readonly parts: readonly OverviewPart[];
  /** What the parts come to together; the median is said where it is known. */
  readonly whole: Pick<TurnSums, "accepted" | "failed" | "inputTokens" | "outputTokens"> &
    Partial<Pick<TurnSums, "firstTextMsP50">>;
  formatAt(at: string): string;
}

/** What turns came to over time: how many, how soon they said something, how many failed, and their tokens. */
export function TurnPlots({ parts, whole, formatAt }: TurnPlotsProps) {
  const of = (name: keyof TurnSums) => parts.map((part) => part[name]);
  const shared = { at: parts.map(({ at }) => at), formatAt };
  const { firstTextMsP50: median } = whole;
  return (
    <div className="plots">
      <Plot
        {...shared}
        caption="Turns"
        kind="bars"
        figure={countText(whole.accepted)}
        series={[{ name: "Accepted", values: of("accepted"), color: "--plot-1" }]}
      />
      <Plot
        {...shared}
        caption="Time to first text"
        format={durationText}
        empty={parts.every((part) => part.firstTextMsP50 === null) && "No turn has said anything in this time."}
        {...(median !== undefined && { figure: median === null ? "–" : `median ${durationText(median)}` })}
        series={[
          { name: "Median", values: of("firstTextMsP50"), color: "--plot-1" },
          { name: "95th percentile", values: of("firstTextMsP95"), color: "--plot-3" },
        ]}
      />
      <Plot
        {...shared}
        caption="Failures"
        kind="bars"
        figure={countText(whole.failed)}
        series={[{ name: "Failed", values: of("failed"), color: "--bad" }]}
      />
      <Plot
        {...shared}
        caption="Tokens"
        figure={countText(whole.inputTokens + whole.outputTokens)}
        series={[
          { name: "Input", values: of("inputTokens"), color: "--plot-2" },
          { name: "Output", values: of("outputTokens"), color: "--plot-4" },
        ]}
      />
    </div>
  );
}
