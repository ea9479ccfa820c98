import { createApp } from "../app.ts";
import type { Config } from "../kernel/config.ts";
import { createContext } from "../kernel/context.ts";
import { openDatabase } from "../kernel/database/client.ts";
import { MemoryRelay } from "../kernel/relay/memory.ts";
import { createLogger } from "../kernel/telemetry/log.ts";
import { print } from "./print.ts";

/** The server's address in the document when PUBLIC_URL is not set. */
const unnamedUrl = "https://parley.example.org";

/** Prints the service's OpenAPI document. */
export async function printOpenApi(config: Config): Promise<void> {
  await print(await openApiText(config));
}

/** Returns the service's OpenAPI document as JSON, made from the code alone, without a database. */
export async function openApiText(config: Config): Promise<string> {
  const app = createApp(
    createContext({
      config,
      log: createLogger(config.logLevel),
      // Connects at its first query, and there is none.
      sql: openDatabase({ url: "postgres://nowhere.invalid/none", max: 1, applicationName: "parley-openapi" }),
      relay: new MemoryRelay(),
      redis: null,
      encryptionKey: Buffer.alloc(32),
      publicUrl: config.publicUrl ?? unnamedUrl,
    }),
  );
  const response = await app(new Request("http://localhost/openapi.json"));
  return `${JSON.stringify(await response.json(), null, 2)}\n`;
}
