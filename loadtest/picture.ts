/** Pictures of a run as SVG, which a page of Markdown shows by itself: panels of lines over the time, one below the other. */

/** One panel. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly PanelLine[];
  /** Moments that are marked by an upright line, in the picture's unit. */
  readonly marks?: readonly number[];
}

/** A line of a panel, with its name beside its end. */
export interface PanelLine {
  readonly name: string;
  /** `x` in the picture's unit. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const colors = ["#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#4a5568", "#975a16", "#0987a0"];
const width = 900;
const plotLeft = 64;
const plotRight = width - 190;
const plotHeight = 150;
/** Title above, time below. */
const panelHeight = plotHeight + 62;
/** Names beside the lines keep this distance. */
const nameHeight = 15;

/** How time is drawn. */
interface TimeAxis {
  readonly unit: "min" | "s";
  /** Whether panels are drawn over the same time, or each over its own. */
  readonly scale: "common" | "own";
}

/** Returns the SVG text. */
export function drawPanels(
  title: string,
  panels: readonly Panel[],
  { unit, scale }: TimeAxis = { unit: "min", scale: "common" },
): string {
  const lastOf = (some: readonly Panel[]) =>
    Math.max(1e-9, ...some.flatMap(({ lines }) => lines.flatMap((line) => line.points.map(({ x }) => x))));
  const drawn = panels.map((panel, index) => {
    const lastX = lastOf(scale === "own" ? [panel] : panels);
    return `<g transform="translate(0,${34 + index * panelHeight})">${draw(panel, { lastX, unit })}</g>`;
  });
  const height = 40 + panels.length * panelHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui,sans-serif" font-size="12" fill="#222">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${words(plotLeft, 22, title, 'font-size="15" font-weight="600"')}
${drawn.join("\n")}
</svg>
`;
}

function draw(
  { title, lines, marks = [] }: Panel,
  { lastX, unit }: { readonly lastX: number; readonly unit: TimeAxis["unit"] },
): string {
  // Lines that are 0 throughout lie at the bottom of a panel up to 1.
  const most = Math.max(0, ...lines.flatMap(({ points }) => points.map(({ y }) => y))) || 1;
  const stepY = niceStep(most / 4);
  const top = Math.ceil((most * 1.001) / stepY) * stepY;
  const atX = (x: number) => plotLeft + (x / lastX) * (plotRight - plotLeft);
  const atY = (y: number) => 24 + plotHeight - (y / top) * plotHeight;
  const parts = [words(plotLeft, 12, title, 'font-weight="600"')];
  for (let y = 0; y <= top * 1.0001; y += stepY)
    parts.push(
      `<line x1="${plotLeft}" x2="${plotRight}" y1="${fixed(atY(y))}" y2="${fixed(atY(y))}" stroke="#e2e2e2"/>`,
      words(plotLeft - 8, atY(y) + 4, figure(y), 'text-anchor="end" fill="#555"'),
    );
  const stepX = niceStep(lastX / 8);
  for (let x = 0; x <= lastX; x += stepX)
    parts.push(
      words(
        atX(x),
        atY(0) + 17,
        `${Number(x.toPrecision(6))}${x === 0 ? ` ${unit}` : ""}`,
        'text-anchor="middle" fill="#555"',
      ),
    );
  for (const mark of marks)
    parts.push(
      `<line x1="${fixed(atX(mark))}" x2="${fixed(atX(mark))}" y1="24" y2="${fixed(atY(0))}" stroke="#bbb" stroke-dasharray="3 3"/>`,
    );
  lines.forEach(({ points }, index) => {
    const path = points.map(({ x, y }) => `${fixed(atX(x))},${fixed(atY(y))}`).join(" ");
    parts.push(`<polyline fill="none" stroke="${colorOf(index)}" stroke-width="1.5" points="${path}"/>`);
  });
  return [...parts, ...names(lines, atY)].join("\n");
}

/** The names of the lines, each at the height of its line's end, moved where two would overlap. */
function names(lines: readonly PanelLine[], atY: (y: number) => number): string[] {
  const wanted = lines
    .map(({ name, points }, index) => ({ name, index, y: atY(points.at(-1)?.y ?? 0) }))
    .sort((a, b) => a.y - b.y);
  const lowest = atY(0) + 4;
  const taken: number[] = [];
  for (const { y } of wanted) taken.push(Math.max(y + 4, (taken.at(-1) ?? -nameHeight) + nameHeight));
  for (let n = taken.length - 1; n >= 0; n--)
    taken[n] = Math.min(taken[n] as number, lowest - (taken.length - 1 - n) * nameHeight);
  return wanted.map(({ name, index }, n) =>
    words(plotRight + 10, taken[n] as number, name, `fill="${colorOf(index)}"`),
  );
}

/** 1, 2 or 5 times a power of ten: the smallest that is not below `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((times) => times * power >= least * 0.9999) ?? 10) * power;
}

function figure(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (value >= 10_000) return `${Number((value / 1e3).toPrecision(3))} k`;
  return String(Number(value.toPrecision(4)));
}

const colorOf = (index: number) => colors[index % colors.length] as string;
const fixed = (value: number) => value.toFixed(1);

function words(x: number, y: number, text: string, attributes = ""): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" ${attributes}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
