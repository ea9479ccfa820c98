import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createOperatorApp } from "../../src/kernel/http/operator-app.ts";
import { QueueGauges } from "../../src/kernel/queue/gauges.ts";
import { useService } from "../harness/fixture.ts";
import { metricsOf, samplesOf } from "../harness/prometheus.ts";
import { inRepository } from "../harness/repository.ts";
import { inProcess } from "../harness/runtimes.ts";

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const read = (path: string) => readFileSync(inRepository(path), "utf8");
const { panels } = JSON.parse(read("docs/grafana.json")) as { panels: Panel[] };
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
const named = new Set(queries.flatMap(({ expr }) => expr.match(/\b(parley|process|nodejs)_\w+/g) ?? []));

const h = await useService();
await h.sql`
  insert into turns (id, tenant_id, agent_id, kind, agent_version, assistant_message_id)
  values ('turn_1', 'ten_1', 'ag_1', 'generate', 1, 'msg_1')`;
// The gauges that name tenants are left out where no token guards the metrics.
const text =
  (await (await createOperatorApp(h.ctx)(new Request("http://parley.test/metrics"))).text()) +
  (await new QueueGauges(h.sql, { tellTenants: true }).text());

describe.skipIf(!inProcess)("docs/grafana.json and docs/watching.md", () => {
  /** The metric that a series belongs to. */
  const metricOf = (series: string) =>
    metricsOf(text).includes(series) ? series : series.replace(/_(bucket|sum|count)$/, "");

  test("every metric that the dashboard names exists", () => {
    expect(named.size).toBeGreaterThan(15);
    expect([...named].filter((series) => !metricsOf(text).includes(metricOf(series)))).toEqual([]);
  });

  test("every metric of ours is on the dashboard, and explained", () => {
    const ours = metricsOf(text).filter((name) => name.startsWith("parley_"));
    expect(ours.length).toBeGreaterThan(15);
    const shown = new Set([...named].map(metricOf));
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
    const explained = read("docs/watching.md");
    expect(ours.filter((name) => !explained.includes(`\`${name}\``))).toEqual([]);
    const told = explained.match(/`parley_\w+`/g) ?? [];
    expect(told.filter((name) => !ours.includes(name.slice(1, -1)))).toEqual([]);
  });

  test("the dashboard groups by labels that its metrics have", async () => {
    const source =
      read("src/kernel/telemetry/metrics.ts") +
      read("src/kernel/database/pool-gauges.ts") +
      read("src/kernel/queue/gauges.ts");
    const declared = [...source.matchAll(/labelNames: \[([^\]]*)\]/g)].flatMap(([, list]) => list?.match(/\w+/g) ?? []);
    const known = new Set([
      "le",
      "instance",
      ...declared,
      ...samplesOf(text).flatMap(({ labels }) => Object.keys(labels)),
    ]);
    const grouped = queries.flatMap(({ expr }) =>
      [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => (list ?? "").split(", ")),
    );
    expect(grouped.length).toBeGreaterThan(10);
    expect(grouped.filter((label) => !known.has(label))).toEqual([]);
  });
});
