/**
 * Measures the console by the browser's own timing, on an installation of its own: what a first
 * load takes, and from a click on Send to the first text in the page, beside the same over HTTP
 * by a program: `npm run console:measure`. It prints rows for docs/console.md.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import { ensureConsoleBuilt } from "../harness/console-build.ts";
import { startInstallation } from "../harness/installation.ts";
import { userMessage } from "../harness/seed.ts";

const loads = 7;
const questions = 30;
/** The first answers warm up pools and code on both sides. */
const warmUps = 5;

/** Runs in the page: the entries that the browser has of its load. */
const readLoad = `new Promise((resolve) => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  new PerformanceObserver((list) => {
    resolve({
      bytes: all.reduce((sum, entry) => sum + entry.transferSize, 0),
      requests: all.length,
      firstPaintMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
      largestPaintMs: list.getEntries().at(-1)?.startTime ?? 0,
    });
  }).observe({ type: "largest-contentful-paint", buffered: true });
})`;

/** Runs in the page: from the click until the frame in which an answer's first text is painted. */
const watchFirstText = `window.firstText = new Promise((resolve) => {
  let clickedAt = 0;
  document.addEventListener("click", (event) => (clickedAt = event.timeStamp), { capture: true, once: true });
  const changes = new MutationObserver(() => {
    const answer = document.querySelector("article.assistant .markdown");
    if (clickedAt === 0 || !answer?.textContent?.trim()) return;
    changes.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - clickedAt));
  });
  changes.observe(document.querySelector("[role=log]").parentElement, { childList: true, subtree: true, characterData: true });
}), undefined`;

await ensureConsoleBuilt();
const service = await startInstallation();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const { signIn, overview } = await measureLoads(browser);
  print("Sign-in, first load", signIn);
  print("Overview, first load", overview);
  const { page, api } = await measureFirstText(browser);
  process.stdout.write(`| Send to first text in the page, ms | ${spread(page)} |\n`);
  process.stdout.write(`| POST to first text over HTTP, ms | ${spread(api)} |\n`);
} finally {
  await browser.close();
  await service.stop();
}

/** What a page's load took, by the browser's entries. */
interface Load {
  readonly bytes: number;
  readonly requests: number;
  readonly firstPaintMs: number;
  readonly largestPaintMs: number;
}

function print(name: string, all: readonly Load[]): void {
  const of = (value: keyof Load) => all.map((load) => load[value]);
  const size = `${(median(of("bytes")) / 1000).toFixed(0)} kB in ${median(of("requests"))} requests`;
  process.stdout.write(`| ${name}: compressed size | ${size} |\n`);
  process.stdout.write(`| ${name}: first paint, ms | ${spread(of("firstPaintMs"))} |\n`);
  process.stdout.write(`| ${name}: largest paint, ms | ${spread(of("largestPaintMs"))} |\n`);
}

async function measureLoads(on: Browser): Promise<{ signIn: Load[]; overview: Load[] }> {
  const signIn: Load[] = [];
  const overview: Load[] = [];
  // Without a turn there is nothing to plot.
  await firstTextOverHttp();
  for (let count = 0; count < loads; count++) {
    // A context has its own cache, which is empty; the second one has the cookie of the first.
    const strange = await on.newContext();
    signIn.push(await loadOf(await strange.newPage(), (page) => page.getByLabel("API key").waitFor()));
    const page = strange.pages()[0] as Page;
    await page.getByLabel("API key").fill(service.apiKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const known = await on.newContext({ storageState: await strange.storageState() });
    overview.push(await loadOf(await known.newPage(), (shown) => shown.locator("canvas").first().waitFor()));
    await strange.close();
    await known.close();
  }
  return { signIn, overview };
}

async function loadOf(page: Page, shown: (page: Page) => Promise<void>): Promise<Load> {
  await page.goto(`${service.url}/console`);
  await shown(page);
  return (await page.evaluate(readLoad)) as Load;
}

/** Asks in the page and over HTTP in turn, so that both meet the same machine. */
async function measureFirstText(on: Browser): Promise<{ page: number[]; api: number[] }> {
  const page = await (await on.newContext()).newPage();
  await page.goto(`${service.url}/console/playground?agent=${service.agentId}`);
  await page.getByLabel("API key").fill(service.apiKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Message").waitFor();
  const times = { page: [] as number[], api: [] as number[] };
  for (let count = 0; count < warmUps + questions; count++) {
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByLabel("Message").fill("Hello!");
    await page.evaluate(watchFirstText);
    await page.getByRole("button", { name: "Send" }).click();
    times.page.push(Number(await page.evaluate("window.firstText")));
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    times.api.push(await firstTextOverHttp());
  }
  return { page: times.page.slice(warmUps), api: times.api.slice(warmUps) };
}

async function firstTextOverHttp(): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${service.url}/v1/agents/${service.agentId}/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ message: userMessage("Hello!") }),
  });
  const decoder = new TextDecoder();
  let text = "";
  let firstMs = 0;
  for await (const piece of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    if (firstMs === 0 && text.includes('"text-delta"')) firstMs = performance.now() - began;
  }
  return firstMs;
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  return `${median(values).toFixed(0)} (${sorted[0]?.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)})`;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
