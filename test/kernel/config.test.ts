import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { ConfigError, readConfig } from "../../src/kernel/config.ts";

const key = randomBytes(32).toString("base64");

/** The message of the error that an environment leads to. */
function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  return "accepted";
}

describe("the configuration", () => {
  test("nothing set: the documented defaults", () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      port: 8080,
      host: "127.0.0.1",
      publicUrl: null,
      databaseUrl: null,
      redisUrl: null,
      encryptionKey: null,
      previousEncryptionKeys: [],
      dashboardJwtAudience: null,
      dashboardJwtIssuer: null,
      workerConcurrency: 500,
      drainSeconds: 30,
      modelIdleSeconds: 120,
      logLevel: "info",
      allowPrivateNetwork: false,
      platformProvider: null,
      endpoints: {
        chatA: "https://slack.com/api/",
        chatB: "https://api.telegram.org",
        billingA: "https://api.polar.sh",
        billingB: "https://api.stripe.com",
      },
    });
    expect(config.home).toEndWith("/.parley");
  });

  test("an empty value is one that is not set", () => {
    const names = ["PORT", "DATABASE_URL", "ENCRYPTION_KEY", "LOG_LEVEL", "ALLOW_PRIVATE_NETWORK", "PUBLIC_URL"];
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(readConfig({}));
  });

  const wrong: [string, Record<string, string>][] = [
    ["PORT", { PORT: "eighty" }],
    ["PORT", { PORT: "65536" }],
    ["PORT", { PORT: "-1" }],
    ["PORT", { PORT: "80.5" }],
    ["PUBLIC_URL", { PUBLIC_URL: "parley.example.com" }],
    ["PUBLIC_URL", { PUBLIC_URL: "ftp://parley.example.com" }],
    ["DATABASE_URL", { DATABASE_URL: "mysql://u:hidden@h/db" }],
    ["REDIS_URL", { REDIS_URL: "localhost:6379" }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: "short" }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: `${key}!` }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: randomBytes(31).toString("base64") }],
    ["DASHBOARD_JWT_SECRET", { DASHBOARD_JWT_SECRET: "guessable" }],
    ["DASHBOARD_JWKS_URL", { DASHBOARD_JWKS_URL: "keys" }],
    [
      "DASHBOARD_JWT_SECRET and DASHBOARD_JWKS_URL",
      { DASHBOARD_JWT_SECRET: "x".repeat(32), DASHBOARD_JWKS_URL: "https://keys.example.com" },
    ],
    ["WORKER_CONCURRENCY", { WORKER_CONCURRENCY: "0" }],
    ["DRAIN_SECONDS", { DRAIN_SECONDS: "soon" }],
    ["LOG_LEVEL", { LOG_LEVEL: "loud" }],
    ["METRICS_PORT", { METRICS_PORT: "9090a" }],
    ["METRICS_TOKEN", { METRICS_TOKEN: "guessable" }],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" }],
    ["ALLOW_PRIVATE_NETWORK", { ALLOW_PRIVATE_NETWORK: "yes" }],
    ["PLATFORM_PROVIDER_TYPE", { PLATFORM_PROVIDER_TYPE: "skynet", PLATFORM_PROVIDER_API_KEY: "k" }],
    ["PLATFORM_PROVIDER_TYPE", { PLATFORM_PROVIDER_API_KEY: "k" }],
    ["PLATFORM_PROVIDER_API_KEY", { PLATFORM_PROVIDER_TYPE: "openai" }],
    ["PLATFORM_PROVIDER_BASE_URL", { PLATFORM_PROVIDER_TYPE: "custom", PLATFORM_PROVIDER_API_KEY: "k" }],
    [
      "PLATFORM_PROVIDER_BASE_URL",
      { PLATFORM_PROVIDER_TYPE: "gateway", PLATFORM_PROVIDER_API_KEY: "k", PLATFORM_PROVIDER_BASE_URL: "https://x.io" },
    ],
    ["ENCRYPTION_KEY_PREVIOUS", { ENCRYPTION_KEY_PREVIOUS: "hidden" }],
    ["ENCRYPTION_KEY_PREVIOUS", { ENCRYPTION_KEY_PREVIOUS: `${key},hidden` }],
    ["ENCRYPTION_KEY_PREVIOUS", { ENCRYPTION_KEY_PREVIOUS: `${key},` }],
    ["ENCRYPTION_KEY_PREVIOUS", { ENCRYPTION_KEY_PREVIOUS: Array(17).fill(key).join(",") }],
    ["CHAT_A_API_URL", { CHAT_A_API_URL: "slack" }],
    ["BILLING_B_API_URL", { BILLING_B_API_URL: "/" }],
  ];
  for (const [name, env] of wrong) {
    test(`a wrong value is refused by name, in one line, without repeating it: ${JSON.stringify(env)}`, () => {
      const message = refusal(env);
      expect(message).toContain(name);
      expect(message).not.toContain("\n");
      expect(message).not.toContain("hidden");
    });
  }

  test("a right value is taken, and the vendor's name of the platform provider's type becomes the label", () => {
    const config = readConfig({
      PORT: "0",
      PUBLIC_URL: "https://parley.example.com/",
      ENCRYPTION_KEY: key,
      ENCRYPTION_KEY_PREVIOUS: `${key}, ${key}`,
      DASHBOARD_JWT_AUDIENCE: "parley",
      PLATFORM_PROVIDER_TYPE: "anthropic",
      PLATFORM_PROVIDER_API_KEY: "k",
      ALLOW_PRIVATE_NETWORK: "1",
    });
    expect(config.publicUrl).toBe("https://parley.example.com");
    expect(config.encryptionKey?.toString("base64")).toBe(key);
    expect(config.previousEncryptionKeys.map((previous) => previous.toString("base64"))).toEqual([key, key]);
    expect([config.dashboardJwtAudience, config.dashboardJwtIssuer]).toEqual(["parley", null]);
    expect(config.platformProvider).toEqual({ providerType: "llm_vendor_b", baseUrl: null, apiKey: "k" });
    expect([config.port, config.allowPrivateNetwork]).toEqual([0, true]);
  });
});
