// @ts-check
/**
 * The end of a run: a JSON file with everything measured, an HTML page with
 * pictures, and a table on the screen. RESULTS is the files' name without its
 * ending; without it there is only the table.
 */
import http from "k6/http";
import { bars, lines } from "./chart.js";
import { settings } from "./client.js";

/**
 * @typedef {{ type: string, contains: string, values: Record<string, number>, thresholds?: Record<string, { ok: boolean }> }} Metric
 * @typedef {Record<string, Metric | undefined>} Metrics
 * @typedef {{ atMs: number, processes: Record<string, { cpuShare: number, memoryMb: number }> }} Sample
 */

/**
 * The summary function of a script: `row` says which figures stand in the table.
 *
 * @param {string} script
 * @param {Record<string, string | number>} extra the script's own settings
 * @param {(metrics: Metrics, samples: Sample[]) => Record<string, string>} row
 */
export function report(script, extra, row) {
  return (/** @type {{ metrics: Metrics, state: { testRunDurationMs: number } }} */ data) => {
    const samples = samplesOfStand();
    const crossed = crossedOf(data.metrics);
    const verdict = crossed.length === 0 ? "ok" : `crossed: ${crossed.join("; ")}`;
    const figures = { clients: String(settings.clients), ...row(data.metrics, samples), verdict };
    const at = new Date().toISOString();
    const about = { script, at, clients: settings.clients, duration: settings.duration, ...extra };
    const result = {
      about,
      figures,
      crossed,
      metrics: data.metrics,
      samples,
      durationMs: data.state.testRunDurationMs,
    };
    const table = `${Object.entries(figures)
      .map(([name, value]) => `${name.padEnd(28)} ${value}`)
      .join("\n")}\n`;
    const target = __ENV.RESULTS;
    if (target === undefined) return { stdout: table };
    return {
      stdout: table,
      [`${target}.json`]: `${JSON.stringify(result, null, 1)}\n`,
      [`${target}.html`]: page(about, figures, data.metrics, samples),
    };
  };
}

/** What the stand has seen of its processes since the run began. @returns {Sample[]} */
export function samplesOfStand() {
  if (settings.standUrl === "") return [];
  return JSON.parse(String(http.get(`${settings.standUrl}/samples`, { responseType: "text" }).body));
}

/** @param {Metrics} metrics */
function crossedOf(metrics) {
  return Object.entries(metrics).flatMap(([name, metric]) =>
    Object.entries(metric?.thresholds ?? {})
      .filter(([, { ok }]) => !ok)
      .map(([bound]) => `${name} ${bound}`),
  );
}

/** @param {Metric | undefined} metric @param {string} stat */
export function ms(metric, stat) {
  const value = metric?.values[stat];
  return value === undefined ? "–" : `${value.toFixed(1)} ms`;
}

/** @param {Metric | undefined} metric */
export function rate(metric) {
  return metric === undefined ? "–" : (metric.values.rate ?? 0).toFixed(0);
}

/** @param {Metric | undefined} metric */
export function count(metric) {
  return String(metric?.values.count ?? metric?.values.value ?? 0);
}

/** @param {Metric | undefined} metric */
export function share(metric) {
  return metric === undefined ? "–" : `${((metric.values.rate ?? 0) * 100).toFixed(2)} %`;
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}.ok{color:#17743b}.crossed{color:#b3261e}svg{max-width:100%}`;

/**
 * A page that needs nothing from any network.
 *
 * @param {Record<string, string | number>} about
 * @param {Record<string, string>} figures
 * @param {Metrics} metrics
 * @param {Sample[]} samples
 */
function page(about, figures, metrics, samples) {
  const title = `Load test: ${about.script}`;
  const trends = Object.entries(metrics).filter(([, metric]) => metric?.type === "trend" && metric.contains === "time");
  const own = trends
    .filter(([name]) => !name.startsWith("http_") && !name.startsWith("iteration_"))
    .sort(([a], [b]) => a.localeCompare(b));
  const pictures = bars(
    own.map(([name, metric]) => ({ name, values: pick(metric, ["med", "p(95)", "p(99)"]) })),
    "milliseconds",
  );
  const memory = samples.length < 2 ? "" : `<h2>Memory, MB</h2>${lines(series(samples, "memoryMb"))}`;
  const cpu = samples.length < 2 ? "" : `<h2>CPU, cores</h2>${lines(series(samples, "cpuShare"))}`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${html(title)}</title><style>${style}</style>
<h1>${html(title)}</h1><p>${Object.entries(about)
    .map(([name, value]) => `${html(name)} ${html(String(value))}`)
    .join(" · ")}</p>
${tableOf(Object.entries(figures).map(([name, value]) => [name, value]))}
<h2>Times</h2>${pictures}${memory}${cpu}
<h2>Bounds</h2>${tableOf(boundsOf(metrics))}
<h2>Everything measured</h2>${tableOf(Object.entries(metrics).map(([name, metric]) => [name, ...valuesOf(metric)]))}
</html>
`;
}

/** @param {Sample[]} samples @param {"memoryMb" | "cpuShare"} what */
function series(samples, what) {
  const first = samples[0]?.atMs ?? 0;
  const names = Object.keys(samples.at(-1)?.processes ?? {}).sort();
  return names.map((name) => ({
    name,
    points: samples.map(({ atMs, processes }) => ({ x: (atMs - first) / 1000, y: processes[name]?.[what] ?? 0 })),
  }));
}

/** @param {Metric | undefined} metric @param {string[]} stats */
function pick(metric, stats) {
  return stats.map((stat) => ({ name: stat, value: metric?.values[stat] ?? 0 }));
}

/** @param {Metric | undefined} metric */
function valuesOf(metric) {
  return Object.entries(metric?.values ?? {}).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`);
}

/** @param {Metrics} metrics */
function boundsOf(metrics) {
  return Object.entries(metrics).flatMap(([name, metric]) =>
    Object.entries(metric?.thresholds ?? {}).map(([bound, { ok }]) => [`${name} ${bound}`, ok ? "ok" : "crossed"]),
  );
}

/** @param {string[][]} rows */
function tableOf(rows) {
  const cell = (/** @type {string} */ text) =>
    `<td${text === "ok" || text.startsWith("crossed") ? ` class="${text.split(":")[0]}"` : ""}>${html(text)}</td>`;
  return `<table>${rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("\n")}</table>`;
}

/** @param {string} text */
function html(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
