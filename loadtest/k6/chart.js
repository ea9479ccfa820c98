// @ts-check
/** Two pictures as inline SVG: bars for times, lines for what changes while a run goes on. */

const colors = ["#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#4a5568", "#975a16", "#0987a0"];
const width = 860;

/**
 * Groups of bars, each group a measured time, each bar a percentile.
 *
 * @param {{ name: string, values: { name: string, value: number }[] }[]} groups
 * @param {string} unit
 */
export function bars(groups, unit) {
  const labelWidth = 260;
  const barHeight = 14;
  const most = Math.max(1e-9, ...groups.flatMap(({ values }) => values.map(({ value }) => value)));
  let y = 4;
  const parts = groups.flatMap(({ name, values }) => {
    const head = text(0, y + 11, name);
    const drawn = values.map(({ name: label, value }, index) => {
      const length = Math.max(1, (value / most) * (width - labelWidth - 110));
      const bar = `<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight - 3}" fill="${color(index)}"/>`;
      const figure = text(labelWidth + length + 6, y + 10, `${label} ${value.toFixed(1)}`);
      y += barHeight;
      return bar + figure;
    });
    y += 8;
    return [head, ...drawn];
  });
  return svg(y + 18, [...parts, text(labelWidth, y + 12, unit)]);
}

/**
 * Lines over the seconds of a run.
 *
 * @param {{ name: string, points: { x: number, y: number }[] }[]} all
 */
export function lines(all) {
  const height = 240;
  const left = 60;
  const right = width - 140;
  const points = all.flatMap((line) => line.points);
  const lastX = Math.max(1, ...points.map(({ x }) => x));
  const mostY = Math.max(1e-9, ...points.map(({ y }) => y)) * 1.05;
  const at = (/** @type {{ x: number, y: number }} */ { x, y }) =>
    `${(left + (x / lastX) * (right - left)).toFixed(1)},${(height - (y / mostY) * (height - 10)).toFixed(1)}`;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const y = height - part * (height - 10);
    return (
      `<line x1="${left}" x2="${right}" y1="${y}" y2="${y}" stroke="#ddd"/>` +
      text(left - 8, y + 4, (part * mostY).toPrecision(3), "end")
    );
  });
  const drawn = all.map(({ name, points: own }, index) => {
    const path = `<polyline fill="none" stroke="${color(index)}" stroke-width="1.5" points="${own.map(at).join(" ")}"/>`;
    const key = `<rect x="${right + 12}" y="${12 + index * 20}" width="12" height="12" fill="${color(index)}"/>`;
    return path + key + text(right + 30, 22 + index * 20, name);
  });
  return svg(height + 24, [...grid, ...drawn, text(right, height + 18, `${lastX.toFixed(0)} s`, "end")]);
}

/** @param {number} index */
function color(index) {
  return colors[index % colors.length];
}

/** @param {number} height @param {string[]} parts */
function svg(height, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" font-family="system-ui,sans-serif" font-size="12">${parts.join("")}</svg>`;
}

/** @param {number} x @param {number} y @param {string} words @param {"start" | "end"} [anchor] */
function text(x, y, words, anchor = "start") {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${safe}</text>`;
}
