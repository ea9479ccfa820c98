import { resolve } from "node:path";
import { apiKeyFault } from "./api-key-fault.ts";
import { hostsOf } from "./database/address.ts";
import { type OidcConfig, OidcConfigFault, readOidcConfig } from "./oidc-config.ts";
import { parseRedisUrl } from "./relay/redis-address.ts";
import { programLimitsDefault, type SandboxConfig } from "./sandbox-config.ts";
import { readSecretFiles, SecretFileFault } from "./secret-files.ts";
import { logLevels } from "./telemetry/log.ts";

/** A configuration value that cannot be used. Its message names the variable; the process ends with it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Everything the environment decides. Read once, at the start, by `readConfig`. */
export interface Config {
  /** TCP port of the HTTP tier; 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  /** The address clients reach the service at, without a trailing slash; null when it is to be derived from host and port. */
  readonly publicUrl: string | null;
  /** Null: the embedded Postgres. */
  readonly databaseUrl: string | null;
  /** A pooler in transaction mode for what needs no session; null: everything goes to `databaseUrl`. */
  readonly databasePoolUrl: string | null;
  /** A replica for lists and reports; null: these are read from the primary. */
  readonly databaseReadUrl: string | null;
  /** Null: the in-process relay. */
  readonly redisUrl: string | null;
  /** Absolute path of the folder for everything that the all-in-one start keeps. */
  readonly home: string;
  /** 32 bytes; null when the start is to make and keep one. */
  readonly encryptionKey: Buffer | null;
  /** Keys that only open what they sealed, 32 bytes each. */
  readonly previousEncryptionKeys: readonly Buffer[];
  readonly dashboardJwtSecret: string | null;
  readonly dashboardJwksUrl: string | null;
  /** What a dashboard JWT has to have as `aud` (alone or among others); null: anything. */
  readonly dashboardJwtAudience: string | null;
  /** What a dashboard JWT has to have as `iss`; null: anything. */
  readonly dashboardJwtIssuer: string | null;
  readonly pools: PoolSizes;
  /** Jobs one worker process runs at once. */
  readonly workerConcurrency: number;
  /** A turn's chunks are kept in the relay for so long after its end. */
  readonly relayKeepSeconds: number;
  readonly drainSeconds: number;
  /** A model call in which nothing comes for so long ends. */
  readonly modelIdleSeconds: number;
  readonly logLevel: (typeof logLevels)[number];
  /** Lifts the https-and-public rule for URLs that tenants supply. */
  readonly allowPrivateNetwork: boolean;
  /** The provider of agents that name none; null when the operator configured none. */
  readonly platformProvider: PlatformProvider | null;
  readonly endpoints: VendorEndpoints;
  /** TCP port of a worker process's `/metrics`, `/healthz` and `/readyz`; null: none. */
  readonly metricsPort: number | null;
  /** The bearer that `/metrics` demands; null: none. */
  readonly metricsToken: string | null;
  /** Where traces go, without `/v1/traces`; null switches tracing off. */
  readonly collectorUrl: string | null;
  /** The service's name in traces. */
  readonly serviceName: string;
  /** Whether traces hold what people, models and tools said; OpenTelemetry's own instrumentations read the same variable. */
  readonly tracesContent: boolean;
  /** Whether HTTP processes serve the console (docs/console.md). */
  readonly console: boolean;
  /** What signs an operator in to the console; null: nothing does. */
  readonly operatorToken: string | null;
  /** What signs people in to the console by OpenID Connect; null: nothing does. */
  readonly consoleOidc: OidcConfig | null;
  readonly sandbox: SandboxConfig;
  /** The package script that this process is, when a package manager runs it; null otherwise. */
  readonly parentScript: ParentScript;
}

/** Connections to Postgres that a process may open, beside a few whose number is fixed. */
export interface PoolSizes {
  /** For the requests of an HTTP process. */
  readonly http: number;
  /** For the turns and jobs of a worker. */
  readonly worker: number;
  /** For fetching and ending a worker's jobs. */
  readonly queue: number;
}

/** Package scripts that run until they are stopped, and what npm calls a program that `npx` runs. */
const lastingScripts = ["start", "serve", "work", "sandbox", "npx"] as const;
export type ParentScript = (typeof lastingScripts)[number] | null;

/** The operator's own model provider. */
export interface PlatformProvider {
  readonly providerType: ProviderType;
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** Base URLs of the chat platforms and billing providers, so that proxies and tests can take their place. */
export interface VendorEndpoints {
  readonly chatA: string;
  readonly chatB: string;
  readonly billingA: string;
  readonly billingB: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Defaults that depend on the role, where the environment sets nothing. */
export interface ConfigDefaults {
  readonly logLevel: (typeof logLevels)[number];
  readonly console?: boolean;
}

const encryptionKeyBytes = 32;
/** Each of them is tried for a signed URL, so there are few. */
const previousKeysMax = 16;
/** An HS256 secret shorter than this many bytes is guessable. */
const jwtSecretBytesMin = 16;
/** So is a shorter token. */
const tokenBytesMin = 16;
/** The kinds of model provider (docs/decisions/providers.md). */
export const providerTypes = [
  "llm_vendor_a",
  "llm_vendor_b",
  "llm_vendor_c",
  "router_vendor",
  "gateway",
  "custom",
] as const;
export type ProviderType = (typeof providerTypes)[number];
/** The vendors' own names, accepted wherever a type is and shown as the label. */
export const providerAliases = {
  openai: "llm_vendor_a",
  anthropic: "llm_vendor_b",
  google: "llm_vendor_c",
  openrouter: "router_vendor",
} as const satisfies Record<string, ProviderType>;

/** The environment as it is: for `readConfig`, and for a process that starts once more. */
export const environment: Environment = process.env;

/** Returns the configuration, read from the environment and checked (docs/configuration.md, "Variables"). Throws `ConfigError`. */
export function readConfig(env: Environment = environment, defaults: ConfigDefaults = { logLevel: "info" }): Config {
  const files = readFiles(env);
  const text = (name: string) => files[name] || env[name] || null;
  return {
    port: integer("PORT", text("PORT"), 8080, 0, 65_535),
    host: text("HOST") ?? "127.0.0.1",
    publicUrl: url("PUBLIC_URL", text("PUBLIC_URL"), ["http:", "https:"]),
    databaseUrl: databaseUrl("DATABASE_URL", text("DATABASE_URL")),
    databasePoolUrl: poolUrl(text("DATABASE_POOL_URL"), text("DATABASE_URL")),
    databaseReadUrl: oneHost("DATABASE_READ_URL", databaseUrl("DATABASE_READ_URL", text("DATABASE_READ_URL"))),
    redisUrl: redisUrl(text("REDIS_URL")),
    home: resolve(text("PARLEY_HOME") ?? ".parley"),
    encryptionKey: optional(text("ENCRYPTION_KEY"), (value) => readEncryptionKey(value)),
    previousEncryptionKeys: optional(text("ENCRYPTION_KEY_PREVIOUS"), readPreviousKeys) ?? [],
    dashboardJwtSecret: jwtSecret(text("DASHBOARD_JWT_SECRET"), text("DASHBOARD_JWKS_URL")),
    dashboardJwksUrl: url("DASHBOARD_JWKS_URL", text("DASHBOARD_JWKS_URL"), ["http:", "https:"]),
    dashboardJwtAudience: text("DASHBOARD_JWT_AUDIENCE"),
    dashboardJwtIssuer: text("DASHBOARD_JWT_ISSUER"),
    pools: {
      http: integer("HTTP_CONNECTIONS", text("HTTP_CONNECTIONS"), 20, 1, 1_000),
      worker: integer("WORKER_CONNECTIONS", text("WORKER_CONNECTIONS"), 12, 1, 1_000),
      queue: integer("QUEUE_CONNECTIONS", text("QUEUE_CONNECTIONS"), 7, 4, 100),
    },
    workerConcurrency: integer("WORKER_CONCURRENCY", text("WORKER_CONCURRENCY"), 500, 1, 10_000),
    relayKeepSeconds: integer("RELAY_KEEP_SECONDS", text("RELAY_KEEP_SECONDS"), 300, 1, 86_400),
    drainSeconds: integer("DRAIN_SECONDS", text("DRAIN_SECONDS"), 30, 0, 86_400),
    modelIdleSeconds: integer("MODEL_IDLE_SECONDS", text("MODEL_IDLE_SECONDS"), 120, 1, 1_800),
    logLevel: logLevel(text("LOG_LEVEL"), defaults.logLevel),
    allowPrivateNetwork: flag("ALLOW_PRIVATE_NETWORK", text("ALLOW_PRIVATE_NETWORK")),
    platformProvider: platformProvider(text),
    endpoints: {
      chatA: url("CHAT_A_API_URL", text("CHAT_A_API_URL"), ["http:", "https:"]) ?? "https://slack.com/api/",
      chatB: url("CHAT_B_API_URL", text("CHAT_B_API_URL"), ["http:", "https:"]) ?? "https://api.telegram.org",
      billingA: url("BILLING_A_API_URL", text("BILLING_A_API_URL"), ["http:", "https:"]) ?? "https://api.polar.sh",
      billingB: url("BILLING_B_API_URL", text("BILLING_B_API_URL"), ["http:", "https:"]) ?? "https://api.stripe.com",
    },
    metricsPort: text("METRICS_PORT") === null ? null : integer("METRICS_PORT", text("METRICS_PORT"), 0, 0, 65_535),
    metricsToken: secret("METRICS_TOKEN", text("METRICS_TOKEN"), tokenBytesMin),
    collectorUrl: url("OTEL_EXPORTER_OTLP_ENDPOINT", text("OTEL_EXPORTER_OTLP_ENDPOINT"), ["http:", "https:"]),
    serviceName: text("OTEL_SERVICE_NAME") ?? "parley",
    tracesContent: flag(
      "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
      text("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")?.toLowerCase() ?? null,
    ),
    console: flag("CONSOLE", text("CONSOLE"), defaults.console),
    operatorToken: secret("OPERATOR_TOKEN", text("OPERATOR_TOKEN"), tokenBytesMin),
    consoleOidc: consoleOidc(text),
    sandbox: sandboxConfig(text),
    parentScript: lastingScripts.find((script) => script === text("npm_lifecycle_event")) ?? null,
  };
}

function readFiles(env: Environment): Environment {
  try {
    return readSecretFiles(env);
  } catch (error) {
    throw error instanceof SecretFileFault ? new ConfigError(error.message) : error;
  }
}

function consoleOidc(text: (name: string) => string | null): OidcConfig | null {
  try {
    return readOidcConfig(text);
  } catch (error) {
    throw error instanceof OidcConfigFault ? new ConfigError(error.message) : error;
  }
}

function sandboxConfig(text: (name: string) => string | null): SandboxConfig {
  const runtime = text("SANDBOX") ?? "simulated";
  if (runtime !== "simulated" && runtime !== "bubblewrap" && runtime !== "remote")
    throw new ConfigError("SANDBOX must be one of simulated, bubblewrap, remote.");
  const named = (text("SANDBOX_URL") ?? "").split(",").map((word) => word.trim());
  const urls = named
    .filter((word) => word !== "")
    .map((word) => url("SANDBOX_URL", word, ["http:", "https:"]) as string);
  const token = secret("SANDBOX_TOKEN", text("SANDBOX_TOKEN"), tokenBytesMin);
  if (runtime === "remote" && (urls.length === 0 || token === null))
    throw new ConfigError("SANDBOX=remote needs SANDBOX_URL and SANDBOX_TOKEN.");
  const { memoryMib, processes, openFiles, fileMib, writtenMib, files, tmpMib, cpuSeconds } = programLimitsDefault;
  const number = (name: string, fallback: number, min: number, max: number) =>
    integer(name, text(name), fallback, min, max);
  return {
    runtime,
    urls,
    token,
    places: number("SANDBOX_PLACES", 4, 1, 1_000),
    cacheMib: number("SANDBOX_CACHE_MIB", 1_024, 0, 1_000_000),
    limits: {
      memoryMib: number("SANDBOX_MEMORY_MIB", memoryMib, 16, 1_000_000),
      processes: number("SANDBOX_PROCESSES", processes, 4, 32_768),
      openFiles: number("SANDBOX_OPEN_FILES", openFiles, 16, 1_000_000),
      fileMib: number("SANDBOX_FILE_MIB", fileMib, 1, 100_000),
      writtenMib: number("SANDBOX_WRITTEN_MIB", writtenMib, 1, 100_000),
      files: number("SANDBOX_FILES", files, 16, 1_000_000),
      tmpMib: number("SANDBOX_TMP_MIB", tmpMib, 1, 100_000),
      cpuSeconds: number("SANDBOX_CPU_SECONDS", cpuSeconds, 1, 3_600),
    },
  };
}

function optional<T>(value: string | null, read: (value: string) => T): T | null {
  return value === null ? null : read(value);
}

function integer(name: string, value: string | null, fallback: number, min: number, max: number): number {
  if (value === null) return fallback;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max)) throw new ConfigError(`${name} must be a whole number from ${min} to ${max}.`);
  return number;
}

function url(name: string, value: string | null, protocols: readonly string[]): string | null {
  const checked = connectionUrl(name, value, protocols);
  return checked === null ? null : checked.replace(/\/+$/, "");
}

function connectionUrl(name: string, value: string | null, protocols: readonly string[]): string | null {
  if (value === null) return null;
  const protocol = URL.canParse(value) ? new URL(value).protocol : "";
  // The value itself is not in the message: connection URLs contain passwords.
  if (!protocols.includes(protocol))
    throw new ConfigError(`${name} must be a URL that starts with ${protocols.join("// or ")}//.`);
  return value;
}

function databaseUrl(name: string, value: string | null): string | null {
  if (value === null || hostsOf(value) !== null) return value;
  throw new ConfigError(
    `${name} must be a URL such as postgres://user:password@host:5432/name; hosts are comma-separated.`,
  );
}

function oneHost(name: string, value: string | null): string | null {
  if (value === null || hostsOf(value)?.length === 1) return value;
  throw new ConfigError(`${name} must name one host; a name or a balancer before several does.`);
}

function poolUrl(value: string | null, direct: string | null): string | null {
  const checked = oneHost("DATABASE_POOL_URL", databaseUrl("DATABASE_POOL_URL", value));
  if (checked !== null && direct === null)
    throw new ConfigError(
      "DATABASE_POOL_URL needs DATABASE_URL, for locks and migrations: they are not said over a pooler.",
    );
  return checked;
}

function redisUrl(value: string | null): string | null {
  try {
    if (value !== null) parseRedisUrl(value);
    return value;
  } catch (error) {
    throw new ConfigError(`REDIS_URL ${(error as Error).message}.`);
  }
}

/** Returns a sealing key, read from its base64; `name` is where it stands. Throws `ConfigError`. */
export function readEncryptionKey(value: string, name = "ENCRYPTION_KEY must"): Buffer {
  const key = /^[A-Za-z0-9+/]+={0,2}$/.test(value) ? Buffer.from(value, "base64") : Buffer.alloc(0);
  if (key.length !== encryptionKeyBytes)
    throw new ConfigError(`${name} be 32 bytes in base64, as \`openssl rand -base64 32\` prints them.`);
  return key;
}

function readPreviousKeys(value: string): Buffer[] {
  const words = value.split(",").map((word) => word.trim());
  if (words.length > previousKeysMax)
    throw new ConfigError(`ENCRYPTION_KEY_PREVIOUS must name at most ${previousKeysMax} keys.`);
  return words.map((word) => readEncryptionKey(word, "Each key of ENCRYPTION_KEY_PREVIOUS (comma-separated) must"));
}

function jwtSecret(value: string | null, jwksUrl: string | null): string | null {
  if (value === null) return null;
  if (jwksUrl !== null)
    throw new ConfigError("DASHBOARD_JWT_SECRET and DASHBOARD_JWKS_URL exclude each other: set one of them.");
  return secret("DASHBOARD_JWT_SECRET", value, jwtSecretBytesMin);
}

function secret(name: string, value: string | null, bytesMin: number): string | null {
  if (value !== null && Buffer.byteLength(value) < bytesMin)
    throw new ConfigError(`${name} must have at least ${bytesMin} bytes.`);
  return value;
}

function logLevel(value: string | null, fallback: Config["logLevel"]): Config["logLevel"] {
  const level = logLevels.find((known) => known === (value ?? fallback));
  if (level === undefined) throw new ConfigError(`LOG_LEVEL must be one of ${logLevels.join(", ")}.`);
  return level;
}

function flag(name: string, value: string | null, fallback = false): boolean {
  if (value === null) return fallback;
  if (value === "0" || value === "false") return false;
  if (value === "1" || value === "true") return true;
  throw new ConfigError(`${name} must be 1 or 0.`);
}

/** Returns the type that a label or a vendor's own name means; null for anything else. */
export function providerTypeOf(name: string): ProviderType | null {
  if (Object.hasOwn(providerAliases, name)) return providerAliases[name as keyof typeof providerAliases];
  return providerTypes.find((type) => type === name) ?? null;
}

function platformProvider(text: (name: string) => string | null): PlatformProvider | null {
  const named = text("PLATFORM_PROVIDER_TYPE");
  const baseUrl = url("PLATFORM_PROVIDER_BASE_URL", text("PLATFORM_PROVIDER_BASE_URL"), ["http:", "https:"]);
  const apiKey = text("PLATFORM_PROVIDER_API_KEY");
  if (named === null) {
    if (baseUrl !== null || apiKey !== null)
      throw new ConfigError("PLATFORM_PROVIDER_TYPE is missing beside PLATFORM_PROVIDER_BASE_URL or _API_KEY.");
    return null;
  }
  const providerType = providerTypeOf(named);
  if (providerType === null) {
    throw new ConfigError(
      `PLATFORM_PROVIDER_TYPE must be one of ${[...providerTypes, ...Object.keys(providerAliases)].join(", ")}.`,
    );
  }
  if (apiKey === null) throw new ConfigError("PLATFORM_PROVIDER_API_KEY is missing beside PLATFORM_PROVIDER_TYPE.");
  const fault = apiKeyFault(apiKey);
  if (fault !== null) throw new ConfigError(`PLATFORM_PROVIDER_API_KEY ${fault}.`);
  if (providerType === "custom" && baseUrl === null)
    throw new ConfigError("PLATFORM_PROVIDER_BASE_URL is required for PLATFORM_PROVIDER_TYPE=custom.");
  if (providerType === "gateway" && baseUrl !== null)
    throw new ConfigError("PLATFORM_PROVIDER_BASE_URL is not taken for PLATFORM_PROVIDER_TYPE=gateway.");
  return { providerType, baseUrl, apiKey };
}
