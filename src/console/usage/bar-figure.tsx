import type { ReactNode } from "react";
import { countText } from "../parts/moment.ts";
import { allTokens, type UsageRow } from "./usage-rows.ts";

/** This many bars are drawn; the table has all. */
const barsMax = 10;

interface BarFigureProps {
  readonly caption: string;
  readonly rows: readonly UsageRow[];
  /** The table of all rows. */
  readonly children: ReactNode;
}

/** The largest rows as bars, and all of them as a table. */
export function BarFigure({ caption, rows, children }: BarFigureProps) {
  const most = Math.max(1, ...rows.map(allTokens));
  return (
    <figure className="plot">
      <figcaption>
        <span>{caption}</span>
      </figcaption>
      <ol className="bars">
        {rows.slice(0, barsMax).map((row) => (
          <li key={row.key}>
            <span className="clipped">{row.label}</span>
            <i style={{ inlineSize: `${(100 * allTokens(row)) / most}%` }} aria-hidden="true" />
            <span className="numeric">{countText(allTokens(row))}</span>
          </li>
        ))}
      </ol>
      {children}
    </figure>
  );
}
