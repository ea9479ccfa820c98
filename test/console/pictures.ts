/**
 * Makes the pictures of the console's screens in docs/console, light and dark, wide and narrow,
 * on an installation of its own with invented data: `npm run console:pictures`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Parley } from "parley/client";
import { type Browser, chromium } from "playwright-core";
import { ensureConsoleBuilt } from "../harness/console-build.ts";
import { inRepository } from "../harness/repository.ts";
import { SlackServer } from "../servers/slack.ts";
import { inventData } from "./picture-data.ts";

const operatorToken = "operator-token-of-the-pictures";
const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };
/** A screen is still after this long without a request, at most. */
const stillMs = 5_000;

const folder = inRepository("docs/console");
const home = await mkdtemp(join(tmpdir(), "parley-pictures-"));
const slack = new SlackServer();
await ensureConsoleBuilt();
const service = await start();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await mkdir(folder, { recursive: true });
  const parley = new Parley({ baseUrl: service.url, apiKey: service.apiKey });
  const places = await inventData(parley, slack);
  await takePictures(browser, service.apiKey, places);
  await takePictures(browser, operatorToken, {
    "operator-queue": "/operator",
    "operator-workers": "/operator/workers",
    "operator-tenants": "/operator/tenants",
  });
} finally {
  await browser.close();
  service.child.kill("SIGTERM");
  await once(service.child, "exit");
  await slack.stop();
  await rm(home, { recursive: true, force: true });
}

/** Starts an installation as a person does, and returns what it prints. */
async function start() {
  await slack.start();
  const env = { PORT: "0", PARLEY_HOME: home, OPERATOR_TOKEN: operatorToken, CHAT_A_API_URL: slack.apiUrl };
  const options = { cwd: inRepository("."), env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] };
  const child = spawn(process.execPath, ["src/main.ts", "start"], options as never);
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    printed.push(line);
    if (line.startsWith("Ctrl-C")) break;
  }
  const value = (name: string) => new RegExp(`^\\s+${name}\\s+(\\S+)`, "m").exec(printed.join("\n"))?.[1] ?? "";
  return { child, url: value("URL"), apiKey: value("API key") };
}

async function takePictures(on: Browser, token: string, places: Readonly<Record<string, string>>): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(sizes)) {
      const context = await on.newContext({ viewport, colorScheme, locale: "en-GB", timezoneId: "Europe/Berlin" });
      const page = await context.newPage();
      await page.goto(`${service.url}/console`);
      await page.screenshot({ path: join(folder, `sign-in-${colorScheme}-${size}.png`) });
      await page.getByLabel("API key").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByLabel("API key").waitFor({ state: "detached" });
      for (const [name, path] of Object.entries(places)) {
        await page.goto(`${service.url}/console${path}`);
        // Screens that follow something are never without requests for long.
        await page.waitForLoadState("networkidle", { timeout: stillMs }).catch(() => {});
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${size}.png`) });
      }
      await context.close();
    }
  }
}
