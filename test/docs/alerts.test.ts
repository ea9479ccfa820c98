import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { createOperatorApp } from "../../src/kernel/http/operator-app.ts";
import { useService } from "../harness/fixture.ts";
import { metricsOf } from "../harness/prometheus.ts";
import { inRepository } from "../harness/repository.ts";
import { inProcess } from "../harness/runtimes.ts";

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const path = "docs/prometheus-rules.yaml";
const read = (name: string) => readFileSync(inRepository(name), "utf8");
const { groups } = parse(read(path)) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

describe.skipIf(!inProcess)(path, async () => {
  const h = await useService();

  test("names metrics that there are", async () => {
    const text = await (await createOperatorApp(h.ctx)(new Request("http://parley.test/metrics"))).text();
    const known = metricsOf(text);
    const named = alerts.flatMap(({ expr }) => expr.match(/\bparley_\w+/g) ?? []);
    expect(named.length).toBeGreaterThan(15);
    expect(
      named.filter((name) => !known.includes(name.replace(/_(bucket|count|sum)$/, "")) && !known.includes(name)),
    ).toEqual([]);
  });

  test("leads to a runbook from each alert, with what is seen, looked at, done, and when it is over", () => {
    const runbooks = read("docs/runbooks.md").split(/^## /m).slice(1);
    const byAnchor = new Map(
      runbooks.map((text) => [(text.split("\n")[0] ?? "").toLowerCase().replaceAll(" ", "-"), text]),
    );
    for (const { alert, annotations, labels } of alerts) {
      const url = new URL(annotations.runbook_url);
      expect(url.pathname).toBe("/docs/runbooks");
      expect([alert, byAnchor.has(url.hash.slice(1))]).toEqual([alert, true]);
      expect(["page", "ticket"]).toContain(labels.severity);
    }
    for (const text of byAnchor.values())
      expect([...text.matchAll(/^\| (seen|look at|do|over when) \|/gm)].map((match) => match[1])).toEqual([
        "seen",
        "look at",
        "do",
        "over when",
      ]);
  });

  test("is the same as the PrometheusRule for Kubernetes", () => {
    const rule = parse(read("docs/kubernetes/components/monitoring/prometheus-rule.yaml"));
    expect(rule.spec.groups).toEqual(groups);
  });
});

describe.skipIf(Bun.which("promtool") === null)("promtool", () => {
  test("takes the rules", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "rules", inRepository(path)], {
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`${alerts.length} rules found`);
  });
});
