import type { ReactNode } from "react";
import { countText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { amountOf, type Measure, type UsageRow } from "./usage-rows.ts";

/** This many bars are drawn; the table has all. */
const barsMax = 10;

interface BarFigureProps {
  readonly caption: string;
  readonly rows: readonly UsageRow[];
  readonly measure: Measure;
  /** The table of all rows. */
  readonly children: ReactNode;
}

/** The largest rows as bars, and all of them as a table. */
export function BarFigure({ caption, rows, measure, children }: BarFigureProps) {
  const most = Math.max(Number.MIN_VALUE, ...rows.map((row) => amountOf(row, measure)));
  return (
    <figure className="plot">
      <figcaption>
        <span>{caption}</span>
      </figcaption>
      <ol className="bars">
        {rows.slice(0, barsMax).map((row) => (
          <li key={row.key}>
            <span className="clipped">{row.label}</span>
            <i style={{ inlineSize: `${(100 * amountOf(row, measure)) / most}%` }} aria-hidden="true" />
            <span className="numeric">{measure === "cost" ? costText(row) : countText(amountOf(row, measure))}</span>
          </li>
        ))}
      </ol>
      {children}
    </figure>
  );
}
