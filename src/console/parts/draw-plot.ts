import uPlot from "uplot";

const daySeconds = 86_400;

/** Lines or bars, whether the axis counts in whole numbers, and whether that of time has days of UTC. */
interface PlotKind {
  readonly kind: "lines" | "bars";
  readonly isWhole: boolean;
  readonly byDay: boolean;
}

/** Draws into an element, in the colors of the page's tokens. */
export function drawPlot(
  element: HTMLElement,
  { kind, isWhole, byDay }: PlotKind,
  height: number,
  series: readonly (readonly [name: string, color: string])[],
  data: uPlot.AlignedData,
  format: (value: number) => string,
): uPlot {
  const colorOf = (token: string, opacity = 1) => colorIn(element, token, opacity);
  const axis = {
    stroke: colorOf("--faint"),
    grid: { stroke: colorOf("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(element).fontFamily}`,
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  const options: uPlot.Options = {
    width: Math.max(element.clientWidth, 120),
    height,
    legend: { show: false },
    ...(byDay && { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") }),
    cursor: { y: false, drag: { x: false, y: false } },
    padding: [8, 26, 0, 0],
    scales: {
      ...(kind === "bars" && { x: { range: aroundBars } }),
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: 70,
        values: (_, marks, __, ___, stepSeconds) => marks.map((mark) => momentText(mark, stepSeconds, byDay)),
      },
      {
        ...axis,
        size: 52,
        space: 30,
        ...(isWhole && { incrs: wholeSteps }),
        values: (_, marks) => marks.map((mark) => format(mark)),
      },
    ],
    series: [
      {},
      ...series.map(([label, color]) => ({
        label,
        stroke: colorOf(color),
        width: 1.5,
        points: { show: true, size: 5, filter: alone },
        ...(kind === "bars" && bars ? { paths: bars, fill: colorOf(color), width: 0 } : { fill: colorOf(color, 0.12) }),
      })),
    ],
  };
  return new uPlot(options, data, element);
}

/** Half a bar of room at both ends, so that the first and the last one are whole. */
const aroundBars: uPlot.Range.Function = (plot, first, last) => {
  const parts = (plot.data[0]?.length ?? 0) - 1;
  const half = parts < 1 ? 1 : (last - first) / parts / 2;
  return [first - half, last + half];
};

/** A value without a neighbour would be no line: it is a point. */
const alone: uPlot.Series.Points.Filter = (plot, series) => {
  const values = plot.data[series] ?? [];
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined;
  return [...values.keys()].filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
};

/** Steps of an axis that counts: there is no half of a turn. */
const wholeSteps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** A mark of the axis of time: days where it counts in days, else the time of day, which days of UTC do not have. */
function momentText(seconds: number, stepSeconds: number, byDay: boolean): string {
  const date = new Date(seconds * 1000);
  const isDay = byDay ? seconds % daySeconds === 0 : stepSeconds >= daySeconds;
  if (isDay)
    return date.toLocaleDateString(undefined, { month: "short", day: "numeric", ...(byDay && { timeZone: "UTC" }) });
  return byDay ? "" : date.toLocaleTimeString(undefined, { timeStyle: "short" });
}

/** A token's color as a canvas takes it: the token itself names one for each scheme. */
function colorIn(element: HTMLElement, token: string, opacity: number): string {
  const probe = element.appendChild(document.createElement("i"));
  probe.style.color = `color-mix(in srgb, var(${token}) ${opacity * 100}%, transparent)`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
