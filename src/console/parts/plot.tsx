import { type ReactNode, useEffect, useRef } from "react";
import type uPlot from "uplot";
import { exactText } from "./moment.ts";
import { dayText } from "./periods.ts";

/** One line, or row of bars, of a plot; null where there is no value. */
export interface PlotSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** One of the tokens `--plot-1` to `--plot-5`, or `--bad`. */
  readonly color: `--${string}`;
}

interface PlotProps {
  readonly caption: string;
  /** The moments of the values, RFC 3339; with `byDay` days of UTC, YYYY-MM-DD. */
  readonly at: readonly string[];
  /** Whether the axis has days of UTC: by the reader's own zone a day's bar would stand between two days. */
  readonly byDay?: boolean;
  readonly series: readonly PlotSeries[];
  readonly kind?: "lines" | "bars";
  /** Whether the axis counts in whole numbers; where this is left out that of bars does. */
  readonly isWhole?: boolean;
  /** How a value is written; whole numbers by default. */
  format?(value: number): string;
  /** How a moment is written in the table; the day, or date and time by default. */
  formatAt?(at: string): string;
  /** A number that sums it up, beside the caption. */
  readonly figure?: ReactNode;
  readonly heightPx?: number;
  /** Stands in place of the drawing where no value is known. */
  readonly empty?: string | false;
}

const plain = (value: number) => value.toLocaleString();

/** A plot over time: a figure with its caption, the names of its lines, and the same as a table. */
export function Plot(props: PlotProps) {
  const { caption, at, byDay = false, series, format = plain, figure, empty = false } = props;
  const { formatAt = byDay ? dayText : exactText } = props;
  return (
    <figure className="plot">
      <figcaption>
        <span>{caption}</span>
        {figure !== undefined && <strong>{figure}</strong>}
      </figcaption>
      {empty === false ? <Canvas {...props} /> : <p className="canvas-empty">{empty}</p>}
      {series.length > 1 && (
        <ul className="legend" aria-hidden="true">
          {series.map(({ name, color }) => (
            <li key={name}>
              <i style={{ background: `var(${color})` }} />
              {name}
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>Table of {caption.toLowerCase()}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
        <section className="scroll-y" tabIndex={0} aria-label={`Values of ${caption.toLowerCase()}`}>
          <table className="values">
            <thead>
              <tr>
                <th scope="col">{byDay ? "Day, by UTC" : "Time"}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" className="numeric">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {at.map((moment, index) => (
                <tr key={moment}>
                  <th scope="row">{formatAt(moment)}</th>
                  {series.map(({ name, values }) => (
                    <td key={name} className="numeric">
                      {values[index] == null ? "–" : format(values[index] as number)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  );
}

/** The drawing, which is loaded when the first plot is shown, and follows the room and the colors there are. */
function Canvas({
  at,
  byDay = false,
  series,
  kind = "lines",
  isWhole = kind === "bars",
  format = plain,
  heightPx = 140,
  caption,
}: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const data: uPlot.AlignedData = [
    at.map((moment) => Date.parse(moment) / 1000),
    ...series.map(({ values }) => [...values]),
  ];
  const latest = useRef({ data, format });
  latest.current = { data, format };
  const shape = JSON.stringify([{ kind, isWhole, byDay }, heightPx, series.map(({ name, color }) => [name, color])]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let over = false;
    const colors = matchMedia("(prefers-color-scheme: dark)");
    async function draw(): Promise<void> {
      const { drawPlot } = await import("./draw-plot.ts");
      if (over || element === null) return;
      drawn.current?.destroy();
      const [kindNow, height, lines] = JSON.parse(shape);
      drawn.current = drawPlot(element, kindNow, height, lines, latest.current.data, (value) =>
        latest.current.format(value),
      );
    }
    // Who leaves the page while its code is on the way needs no drawing; the table has the values.
    const redraw = () => void draw().catch(() => {});
    redraw();
    const onResize = () => drawn.current?.setSize({ width: element.clientWidth, height: heightPx });
    const resized = new ResizeObserver(onResize);
    resized.observe(element);
    colors.addEventListener("change", redraw);
    return () => {
      over = true;
      resized.disconnect();
      colors.removeEventListener("change", redraw);
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [shape, heightPx]);
  const text = JSON.stringify(data);
  // Compared as text: each reading makes new arrays of the same numbers.
  useEffect(() => void drawn.current?.setData(latest.current.data), [text]);
  return <div ref={place} className="canvas" role="img" aria-label={`Plot: ${caption}`} style={{ height: heightPx }} />;
}
