import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { readConfig } from "../../src/kernel/config.ts";
import { inRepository } from "../harness/repository.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
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
