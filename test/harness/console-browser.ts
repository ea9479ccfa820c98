import { afterAll, setDefaultTimeout } from "bun:test";
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { listen } from "../../src/kernel/runtime.ts";
import { ensureConsoleBuilt } from "./console-build.ts";
import { consoleOrigin } from "./console-page.ts";
import { ConsoleVisit } from "./console-visit.ts";
import { useTenant } from "./fixture.ts";
import type { Harness, TestTenant } from "./harness.ts";

/** Where Debian has it; .ci/run installs it. */
const executablePath = "/usr/bin/chromium";

/** Whether there is a browser to try the console in. */
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) process.stderr.write(`The console is not tried: there is no ${executablePath}.\n`);

/** The console in a browser, on the real service with one tenant. */
export interface ConsoleBench {
  readonly h: Harness;
  readonly t: TestTenant;
  readonly origin: string;
  /** What signs an operator in. */
  readonly operatorToken: string;
  /** A window of its own, where nobody is signed in. */
  visit(options?: BrowserContextOptions): Promise<ConsoleVisit>;
  /** A window of its own, signed in as the tenant, at an address below `/console`. */
  signedIn(path?: string, options?: BrowserContextOptions): Promise<ConsoleVisit>;
}

/** What a person does on a screen takes up to 17 s with a browser on two cores, and may take five times as long. */
const testMs = 120_000;

/** Prepares the console for the tests of a file, with further settings of the service, and cleans up after the last. */
export async function useConsole(settings: Readonly<Record<string, string>> = {}): Promise<ConsoleBench> {
  setDefaultTimeout(testMs);
  const operatorToken = "operator-token-0123456789";
  const env = { CONSOLE: "1", OPERATOR_TOKEN: operatorToken, ...settings };
  const { h, t } = await useTenant({ worker: true, env });
  const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  const origin = `http://127.0.0.1:${service.port}`;
  let browser: Browser | null = null;
  if (hasBrowser) {
    await ensureConsoleBuilt();
    // An identity provider sends the browser back to the address that the service has by its own account.
    const atPublicUrl = `--host-resolver-rules=MAP ${new URL(consoleOrigin).host} 127.0.0.1:${service.port}`;
    // Root may start it only without its own sandbox.
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", atPublicUrl] });
  }
  afterAll(async () => {
    await browser?.close();
    await service.stop(true);
  });
  const visit = async (options: BrowserContextOptions = {}) => {
    // Colors on their way from one to another have any contrast.
    const context = await (browser as Browser).newContext({ reducedMotion: "reduce", ...options });
    return new ConsoleVisit(await context.newPage(), origin);
  };
  const signedIn = async (path = "", options: BrowserContextOptions = {}) => {
    const made = await visit(options);
    await made.open(path);
    await made.signIn(t.token);
    return made;
  };
  return { h, t, origin, operatorToken, visit, signedIn };
}
