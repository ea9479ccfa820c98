/**
 * Makes the pictures of the console's screens in docs/console, wide ones light and dark, narrow ones light,
 * on an installation of its own with invented data: `npm run console:pictures`. With names of
 * screens behind `--` it makes those only.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Parley } from "parley/client";
import { type Browser, chromium } from "playwright-core";
import { ensureConsoleBuilt } from "../harness/console-build.ts";
import { startInstallation } from "../harness/installation.ts";
import { inRepository } from "../harness/repository.ts";
import { SlackServer } from "../servers/slack.ts";
import { inventData } from "./picture-data.ts";
import { startPictureModel } from "./picture-model.ts";

const operatorToken = "operator-token-of-the-pictures";
const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };
/** A screen is still after this long without a request, at most. */
const stillMs = 5_000;

const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);

const folder = inRepository("docs/console");
const slack = new SlackServer();
await ensureConsoleBuilt();
await slack.start();
const model = startPictureModel();
const service = await startInstallation({
  ...{ OPERATOR_TOKEN: operatorToken, CHAT_A_API_URL: slack.apiUrl, ALLOW_PRIVATE_NETWORK: "1" },
});
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await mkdir(folder, { recursive: true });
  const parley = new Parley({ baseUrl: service.url, apiKey: service.apiKey });
  const places = await inventData(parley, slack, model.url);
  await takePictures(browser, service.apiKey, places);
  await takePictures(browser, operatorToken, {
    "operator-health": "/operator",
    "operator-queue": "/operator/queue",
    "operator-workers": "/operator/workers",
    "operator-tenants": "/operator/tenants",
  });
} finally {
  await browser.close();
  await service.stop();
  await slack.stop();
  await model.stop();
}

async function takePictures(on: Browser, token: string, places: Readonly<Record<string, string>>): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(sizes)) {
      // On a phone the colors show nothing that the wide pictures do not.
      if (size === "narrow" && colorScheme === "dark") continue;
      const context = await on.newContext({ viewport, colorScheme, locale: "en-GB", timezoneId: "Europe/Berlin" });
      const page = await context.newPage();
      await page.goto(`${service.url}/console`);
      await page.getByLabel("API key").waitFor();
      if (isWanted("sign-in")) await page.screenshot({ path: join(folder, `sign-in-${colorScheme}-${size}.png`) });
      await page.getByLabel("API key").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByLabel("API key").waitFor({ state: "detached" });
      for (const [name, path] of Object.entries(places).filter(([each]) => isWanted(each))) {
        await page.goto(`${service.url}/console${path}`);
        // Screens that follow something are never without requests for long.
        await page.waitForLoadState("networkidle", { timeout: stillMs }).catch(() => {});
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${size}.png`) });
      }
      await context.close();
    }
  }
}
