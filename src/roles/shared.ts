import { type Config, ConfigError } from "../kernel/config.ts";

/** What all processes of an installation must have in common. */
export interface Shared {
  readonly databaseUrl: string;
  /** Null: the installation is one process, and needs no Redis. */
  readonly redisUrl: string | null;
  readonly encryptionKey: Buffer;
}

/** Returns what `serve` and `work` cannot do without. Throws `ConfigError`, which names what is missing. */
export function requireShared({ databaseUrl, redisUrl, encryptionKey }: Config): Shared {
  if (databaseUrl !== null && redisUrl !== null && encryptionKey !== null) {
    return { databaseUrl, redisUrl, encryptionKey };
  }
  const needed = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, ENCRYPTION_KEY: encryptionKey };
  const missing = Object.entries(needed).filter(([, value]) => value === null);
  throw new ConfigError(
    `${missing.map(([name]) => name).join(", ")} must be set, the same for all processes of an installation. ` +
      "(`npm start` runs everything in one process and needs none of it.)",
  );
}
