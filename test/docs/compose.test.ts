import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { readConfig } from "../../src/kernel/config.ts";
import { closeMs } from "../../src/roles/run.ts";
import { inRepository } from "../harness/repository.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
  readonly stop_grace_period?: string;
}

/** The services of the file, as Compose reads it with these variables. */
async function servicesWith(variables: Readonly<Record<string, string>>): Promise<Record<string, Service>> {
  const text = await readFile(inRepository("docs/container/compose.yaml"), "utf8");
  const filled = (value: string) =>
    value.replaceAll(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, otherwise = "") => variables[name] ?? otherwise);
  const { services } = parse(text, { merge: true });
  // It puts the variables into what it has parsed.
  return JSON.parse(JSON.stringify(services), (_, value) => (typeof value === "string" ? filled(value) : value));
}

const ours = async (variables: Readonly<Record<string, string>>) =>
  Object.entries(await servicesWith(variables)).filter(([, { image }]) => image === "parley");
const key = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64") };
const environmentOf = ({ environment }: Service) =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));

test("compose.yaml starts each role with settings that the service takes, with nothing set but the key", async () => {
  const services = await ours(key);
  expect(services.map(([name, { command }]) => [name, command?.at(-1) ?? "serve"])).toEqual([
    ["migrate", "migrate"],
    ["work", "work"],
    ["serve", "serve"],
  ]);
  for (const [name, service] of services) {
    const config = readConfig(environmentOf(service));
    expect([name, config.operatorToken, config.metricsToken, config.platformProvider]).toEqual([
      name,
      null,
      null,
      null,
    ]);
  }
});

test("compose.yaml hands on tokens, a provider and an identity provider", async () => {
  const set = {
    ...key,
    OPERATOR_TOKEN: "operator-token-of-32-characters!",
    METRICS_TOKEN: "metrics-token-of-32-characters!!",
    PLATFORM_PROVIDER_TYPE: "llm_vendor_a",
    PLATFORM_PROVIDER_API_KEY: "sk-platform",
    CONSOLE_OIDC_ISSUER: "https://login.example.com",
    CONSOLE_OIDC_CLIENT_ID: "parley",
    CONSOLE_OIDC_CLIENT_SECRET: "secret-of-the-client",
  };
  for (const [, service] of await ours(set)) expect(environmentOf(service)).toMatchObject(set);
  const serve = (await ours(set)).find(([name]) => name === "serve")?.[1] as Service;
  expect(readConfig(environmentOf(serve))).toMatchObject({ operatorToken: set.OPERATOR_TOKEN, console: true });
});

test("compose.yaml waits for what a role needs, and gives it the time to end", async () => {
  const { postgres, migrate, work, serve } = await servicesWith(key);
  expect(postgres?.healthcheck).toBeDefined();
  expect(migrate?.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  const after = { migrate: { condition: "service_completed_successfully" } };
  expect([work?.depends_on, serve?.depends_on]).toEqual([after, after]);
  const seconds = readConfig({}).drainSeconds + closeMs / 1000;
  for (const [name, { stop_grace_period = "" }] of await ours(key))
    expect(Number.parseInt(stop_grace_period, 10), name).toBeGreaterThanOrEqual(seconds);
});

test("compose.yaml leads to its own stores, and publishes the image's port to this machine alone", async () => {
  const services = await servicesWith(key);
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services.postgres?.environment ?? {};
  for (const [name, service] of await ours(key)) {
    const { databaseUrl, redisUrl } = readConfig(environmentOf(service));
    expect([databaseUrl, redisUrl], name).toEqual([
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`,
      "redis://redis:6379",
    ]);
  }
  const image = await readFile(inRepository("docs/container/Dockerfile"), "utf8");
  const [port, metricsPort] = ["PORT", "METRICS_PORT"].map((name) => new RegExp(`\\b${name}=(\\d+)`).exec(image)?.[1]);
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((each) => [name, each]));
  expect(published).toEqual([["serve", `127.0.0.1:${port}:${port}`]]);
  for (const [, service] of await ours(key)) expect(environmentOf(service).METRICS_PORT).toBe(metricsPort as string);
});
