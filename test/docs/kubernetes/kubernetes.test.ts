import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { readConfig } from "../../../src/kernel/config.ts";
import { createOperatorApp } from "../../../src/kernel/http/operator-app.ts";
import { secretVariables } from "../../../src/kernel/secret-files.ts";
import { roleHelp } from "../../../src/roles/help.ts";
import { closeMs } from "../../../src/roles/run.ts";
import { useService } from "../../harness/fixture.ts";
import { samplesOf } from "../../harness/prometheus.ts";
import { inRepository } from "../../harness/repository.ts";
import { inProcess } from "../../harness/runtimes.ts";
import {
  build,
  containersOf,
  documentsOf,
  faultsOf,
  files,
  kustomize,
  type Manifest,
  manifestFiles,
  overlays,
  readDocuments,
} from "./manifests.ts";

const manifests = manifestFiles.flatMap(readDocuments);
const parts = containersOf(manifests);
const configuration = (name: string) =>
  (readDocuments(name)[0] as unknown as { configMapGenerator: { literals: string[] }[] }).configMapGenerator.flatMap(
    ({ literals }) => literals.map((literal) => literal.split(/=(.*)/s, 2) as [string, string]),
  );
const literals = [
  ...configuration("base/kustomization.yaml"),
  ...configuration("components/sandbox/kustomization.yaml"),
];
/** Variables that the components add by patches. */
const patched = files
  .filter((name) => basename(name) === "kustomization.yaml")
  .flatMap((name) => (readDocuments(name)[0] as unknown as { patches?: { patch: string }[] }).patches ?? [])
  .flatMap(({ patch }) => [...patch.matchAll(/name: (\w+), value: ([^\s}]+)/g)])
  .map(([, name = "", value = ""]) => ({ name, value }));

/** Names that the configuration reads. */
const known = new Set<string>();
readConfig(new Proxy({}, { get: (_, name) => void known.add(String(name)) }));

describe("the manifests of docs/kubernetes/", () => {
  test("are there: a base, components and two overlays", () => {
    expect(overlays.sort()).toEqual(["high-availability", "one-node"]);
    expect(manifests.length).toBeGreaterThan(15);
  });

  test.each(files)("%s is YAML", (name) => {
    expect(readDocuments(name).length).toBeGreaterThan(0);
  });

  test.each(manifestFiles)("%s has the kinds and fields of the API", (name) => {
    expect(readDocuments(name).flatMap(faultsOf)).toEqual([]);
  });

  test("a wrong field, type or kind would be seen", () => {
    const [serve] = readDocuments("base/serve.yaml") as [Manifest];
    const wrong = (change: (text: string) => string) => documentsOf(change(JSON.stringify(serve))).flatMap(faultsOf);
    expect(wrong((text) => text.replace('"replicas":2', '"replica":2'))).toEqual([
      expect.stringContaining('"additionalProperty":"replica"'),
    ]);
    expect(wrong((text) => text.replace('"periodSeconds":2', '"periodSeconds":"2"'))).toEqual([
      expect.stringContaining("must be integer"),
    ]);
    expect(wrong((text) => text.replace("apps/v1", "apps/v2"))).toEqual(["apps/v2 Deployment is unknown"]);
    expect(wrong((text) => text.replace('"path":"/readyz"', '"pat":"/readyz"')).length).toBe(1);
  });

  test("name variables that the configuration reads, with values that it takes", () => {
    const named = [...parts.flatMap(({ container }) => container.env ?? []), ...patched];
    expect(named.length).toBeGreaterThan(15);
    const names = [...named.map(({ name }) => name as string), ...literals.map(([name]) => name)];
    expect(names.filter((name) => !known.has(name))).toEqual([]);
    const secrets = { SANDBOX_TOKEN: "a token of 16 bytes" };
    const plain = named.filter(({ name }) => !name.endsWith("_FILE")).map(({ name, value }) => [name, value]);
    expect(() =>
      readConfig({ ...Object.fromEntries(literals), ...Object.fromEntries(plain), ...secrets }),
    ).not.toThrow();
  });

  test("start roles that there are", () => {
    expect(parts.map(({ container }) => container.command.slice(0, 2))).toEqual(
      parts.map(() => ["bun", "src/main.ts"]),
    );
    expect(parts.map(({ container }) => container.command[2]).sort()).toEqual(["migrate", "sandbox", "serve", "work"]);
    for (const { container } of parts) expect(Object.keys(roleHelp)).toContain(container.command[2]);
    for (const { container } of parts) expect(container.name).toBe(container.command[2]);
  });

  test("open the ports that the variables name", () => {
    const { PORT, METRICS_PORT } = Object.fromEntries(literals);
    const expected: Record<string, string | undefined> = { serve: PORT, work: METRICS_PORT, sandbox: PORT };
    for (const { container } of parts.filter(({ container }) => container.ports !== undefined))
      expect([container.name, container.ports.map((port: { containerPort: number }) => port.containerPort)]).toEqual([
        container.name,
        [Number(expected[container.name])],
      ]);
  });

  test("wait for the drain: preStop, DRAIN_SECONDS and the closing fit into the grace period", () => {
    const lasting = parts.filter(({ container }) => container.name !== "migrate");
    expect(lasting.length).toBe(3);
    for (const { manifest, container } of lasting) {
      const drain = Number(container.env.find(({ name }: { name: string }) => name === "DRAIN_SECONDS").value);
      const sleep = container.lifecycle?.preStop.sleep.seconds ?? 0;
      const { terminationGracePeriodSeconds: grace } = manifest.spec.template.spec;
      expect([container.name, grace > sleep + drain + closeMs / 1000]).toEqual([container.name, true]);
    }
  });

  test("hold no secret, and mount each that a variable names", () => {
    const twins = secretVariables.map((name) => `${name}_FILE`);
    for (const { manifest, container } of parts) {
      const env = [...(container.env ?? []), ...(["serve", "work"].includes(container.name) ? patched : [])];
      expect(
        env.map(({ name }) => name).filter((name) => (secretVariables as readonly string[]).includes(name)),
      ).toEqual([]);
      const [mount] = container.volumeMounts.filter(({ name }: { name: string }) => name === "secrets");
      const [volume] = manifest.spec.template.spec.volumes.filter(({ name }: { name: string }) => name === "secrets");
      const given = volume.secret.items?.map(({ path }: { path: string }) => path) ?? null;
      for (const { name, value } of env.filter(({ name }) => name.endsWith("_FILE"))) {
        expect(twins).toContain(name);
        const key = name.replace(/_FILE$/, "");
        expect(value).toBe(`${mount.mountPath}/${key}`);
        if (given !== null) expect(given).toContain(key);
      }
    }
  });

  test.each(overlays)("%s has an example of its secrets, with addresses that the configuration takes", (overlay) => {
    const [secret] = readDocuments(`overlays/${overlay}/secrets.example.yaml`) as [Manifest];
    const { stringData = {} } = secret;
    expect(() => readConfig(stringData)).not.toThrow();
    const mounted = parts
      .filter(({ container }) => container.name !== "sandbox" || "SANDBOX_TOKEN" in stringData)
      .flatMap(({ container }) => container.env as { name: string }[])
      .filter(({ name }) => name.endsWith("_FILE"))
      .map(({ name }) => name.replace(/_FILE$/, ""));
    expect([...new Set(mounted)].filter((name) => !(name in stringData))).toEqual([]);
  });
});

describe.skipIf(!inProcess)("what the manifests ask of the service", async () => {
  const h = await useService();
  const app = createOperatorApp(h.ctx);
  const get = (path: string) => app(new Request(`http://parley.test${path}`));

  test("probes ask for paths that answer", async () => {
    const paths = parts.flatMap(({ container }) =>
      ["startupProbe", "readinessProbe", "livenessProbe"].flatMap((probe) => container[probe]?.httpGet.path ?? []),
    );
    expect(new Set(paths)).toEqual(new Set(["/healthz", "/readyz"]));
    for (const path of new Set(paths)) expect((await get(path)).status).toBe(200);
  });

  test("scalers read numbers that are there", async () => {
    const backlog = (await (await get("/backlog")).json()) as Record<string, unknown>;
    const [scaled] = manifests.filter(({ kind }) => kind === "ScaledObject") as [Manifest];
    const [trigger] = scaled.spec.triggers;
    expect(new URL(trigger.metadata.url).pathname).toBe("/backlog");
    expect(backlog[trigger.metadata.valueLocation]).toBeNumber();
    const [pods] = manifests.filter(({ kind }) => kind === "HorizontalPodAutoscaler") as [Manifest];
    const [{ pods: asked }] = pods.spec.metrics;
    const source = readFileSync(inRepository("src/kernel/telemetry/metrics.ts"), "utf8");
    expect(source).toContain(`name: "${asked.metric.name}"`);
    expect(source).toContain(`state: "${asked.metric.selector.matchLabels.state}"`);
    expect(Number(asked.target.averageValue)).toBe(readConfig({}).workerConcurrency * 0.7);
    const [adapter] = readDocuments("components/autoscaling/prometheus-adapter.yaml") as unknown as [
      { rules: { custom: { name: { as: string } }[] } },
    ];
    expect(adapter.rules.custom.map(({ name }) => name.as)).toEqual([asked.metric.name]);
  });

  test("Prometheus finds metrics at the monitors' paths", async () => {
    const [monitor] = manifests.filter(({ kind }) => kind === "ServiceMonitor") as [Manifest];
    for (const { path } of monitor.spec.endpoints)
      expect(samplesOf(await (await get(path)).text()).length).toBeGreaterThan(10);
  });
});

describe.skipIf(kustomize === undefined)("the overlays, put together by kustomize", () => {
  const { version } = JSON.parse(readFileSync(inRepository("package.json"), "utf8")) as { version: string };

  test.each(overlays)("%s has the kinds and fields of the API", (overlay) => {
    const built = build(overlay);
    expect(built.flatMap(faultsOf)).toEqual([]);
    expect(new Set(built.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size).toBe(built.length);
  });

  test.each(overlays)("%s runs one image, of this release", (overlay) => {
    const images = containersOf(build(overlay)).map(({ container }) => container.image as string);
    expect(images.length).toBeGreaterThanOrEqual(3);
    expect(new Set(images)).toEqual(new Set([`registry.example.com/parley:${version}`]));
  });

  test.each(overlays)("%s: services, budgets, policies and scalers find pods and ports", (overlay) => {
    const built = build(overlay);
    const pods = built.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template]));
    const labelsMatch = (wanted: Record<string, string> = {}, labels: Record<string, string>) =>
      Object.entries(wanted).every(([name, value]) => labels[name] === value);
    const podsOf = (wanted: Record<string, string> | undefined) =>
      pods.filter(({ metadata }) => labelsMatch(wanted, metadata.labels));
    const portsOf = (found: typeof pods) =>
      found.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports)) as {
        name: string;
        containerPort: number;
      }[];
    for (const { kind, metadata, spec } of built) {
      if (kind === "Service") {
        const found = podsOf(spec.selector);
        expect([metadata.name, found.length]).toEqual([metadata.name, 1]);
        for (const { targetPort, port } of spec.ports)
          expect(portsOf(found).some((open) => open.name === targetPort || open.containerPort === port)).toBe(true);
      }
      if (kind === "PodDisruptionBudget")
        expect([metadata.name, podsOf(spec.selector.matchLabels).length]).toEqual([metadata.name, 1]);
      if (kind === "NetworkPolicy") {
        const values = spec.podSelector.matchExpressions?.[0].values;
        const found = values?.flatMap((value: string) => podsOf({ "app.kubernetes.io/component": value })) ?? [
          ...podsOf(spec.podSelector.matchLabels),
        ];
        expect([metadata.name, found.length]).toEqual([metadata.name, values?.length ?? 1]);
      }
      if (kind === "ScaledObject" || kind === "HorizontalPodAutoscaler") {
        const target = built.find(
          (other) => other.kind === "Deployment" && other.metadata.name === spec.scaleTargetRef.name,
        );
        expect([metadata.name, target?.spec.replicas]).toEqual([metadata.name, undefined]);
        expect(target).toBeDefined();
      }
      if (kind === "ServiceMonitor") {
        const services = built.filter(
          (other) => other.kind === "Service" && labelsMatch(spec.selector.matchLabels, other.metadata.labels ?? {}),
        );
        const open = services.flatMap((service) => service.spec.ports.map(({ name }: { name: string }) => name));
        for (const { port } of spec.endpoints) expect(open).toContain(port);
      }
    }
  });

  test("sandboxes are named one by one", () => {
    const built = build("high-availability");
    const map = built.find(({ kind }) => kind === "ConfigMap");
    const sandbox = built.find(({ kind, metadata }) => kind === "StatefulSet" && metadata.name === "parley-sandbox");
    const { urls } = readConfig({ ...map?.data, SANDBOX_TOKEN: "a token of 16 bytes" }).sandbox;
    expect(urls).toEqual(
      Array.from({ length: sandbox?.spec.replicas }, (_, n) => `http://parley-sandbox-${n}.parley-sandbox:8080`),
    );
  });
});
