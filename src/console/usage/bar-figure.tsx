import { countText } from "../parts/moment.ts";
import { allTokens, type UsageRow } from "./usage-rows.ts";

/** So many bars are drawn; the table below has all. */
const barsMax = 10;

/** The largest rows as bars; the table that follows is its alternative. */
export function BarFigure({ caption, rows }: { readonly caption: string; readonly rows: readonly UsageRow[] }) {
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
    </figure>
  );
}
