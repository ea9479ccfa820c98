import { readFileSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that hold secrets. Each has a twin with `_FILE`, which names a file that has the value. */
export const secretVariables = [
  "DATABASE_URL",
  "DATABASE_POOL_URL",
  "DATABASE_READ_URL",
  "REDIS_URL",
  "ENCRYPTION_KEY",
  "ENCRYPTION_KEY_PREVIOUS",
  "DASHBOARD_JWT_SECRET",
  "METRICS_TOKEN",
  "OPERATOR_TOKEN",
  "CONSOLE_OIDC_CLIENT_SECRET",
  "SANDBOX_TOKEN",
  "PLATFORM_PROVIDER_API_KEY",
] as const;

/** What is wrong with such a twin; it names the variable. */
export class SecretFileFault extends Error {
  override readonly name = "SecretFileFault";
}

/** Returns what secret files hold, by the variable that each stands for. The end of a file's line is no part of the value. Throws `SecretFileFault`. */
export function readSecretFiles(env: Environment): Environment {
  const read: Record<string, string> = {};
  for (const name of secretVariables) {
    const path = env[`${name}_FILE`] ?? "";
    if (path === "") continue;
    if ((env[name] ?? "") !== "")
      throw new SecretFileFault(`${name} and ${name}_FILE exclude each other: set one of them.`);
    read[name] = readSecret(name, path);
  }
  return read;
}

function readSecret(name: string, path: string): string {
  let value: string;
  try {
    value = readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    const { code = "an error" } = error as { readonly code?: string };
    throw new SecretFileFault(`${name}_FILE names a file that cannot be read (${code}).`);
  }
  if (value === "") throw new SecretFileFault(`${name}_FILE names a file that is empty.`);
  return value;
}
