import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Locator, Page } from "playwright-core";
import { eventually } from "./eventually.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page that is drawn anew, on a busy machine too, has come to rest after this. */
const settlesMs = 10_000;

/** What axe-core found, shortened to what a failure has to say. */
interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** A page of the console with what a person does on it, and a watch on what no page may do. */
export class ConsoleVisit {
  readonly page: Page;
  readonly origin: string;
  /** Requests to any other origin, errors of the page's own code, refusals of its Content-Security-Policy, and dialogs that a script opened. */
  readonly faults: string[] = [];

  constructor(page: Page, origin: string) {
    this.page = page;
    this.origin = origin;
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) this.faults.push(`asked ${url}`);
    });
    page.on("pageerror", (error) => this.faults.push(`threw ${error.message}`));
    page.on("dialog", (dialog) => {
      this.faults.push(`opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (/content security policy|refused to/i.test(message.text())) this.faults.push(message.text());
    });
  }

  /** Opens an address below `/console`. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.origin}/console${path}`);
  }

  /** Fills in the sign-in and waits until the navigation is there. */
  async signIn(apiKey: string): Promise<void> {
    await this.page.getByLabel("API key").fill(apiKey);
    await this.press("Sign in");
    await this.page.getByLabel("API key").waitFor({ state: "detached" });
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  press(name: string): Promise<void> {
    return this.button(name).click();
  }

  /** Follows a link of the navigation. */
  async go(screen: string): Promise<void> {
    await this.page.getByRole("navigation").getByRole("link", { name: screen, exact: true }).click();
    await this.heading(screen).waitFor();
  }

  heading(name: string): Locator {
    return this.page.getByRole("heading", { level: 1, name, exact: true });
  }

  sees(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor();
  }

  /** Waits until the address has this, such as a filter. */
  async hasAddress(part: string): Promise<void> {
    await eventually(() => this.page.url().includes(part));
  }

  /**
   * What is wrong with the page: the faults so far, what axe-core calls serious or critical, and content that is wider
   * than the window. What a page is for a moment, on its way to what it will be, is not wrong; what stays so is.
   */
  async wrongs(): Promise<string[]> {
    for (const until = Date.now() + settlesMs; ; ) {
      const found = await this.#wrongsNow();
      if (found.length === 0 || this.faults.length > 0 || Date.now() > until) return found;
    }
  }

  async #wrongsNow(): Promise<string[]> {
    await this.page.evaluate(axe);
    const run = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)";
    const found = (await this.page.evaluate(run)) as Finding[];
    const serious = found
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
    const overflow = await this.page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    return [...this.faults, ...serious, ...(Number(overflow) > 0 ? [`${overflow} px wider than the window`] : [])];
  }

  /** What is wrong with the page on a narrow screen; the window has its width again after it. */
  async wrongsOnPhone(): Promise<string[]> {
    const before = this.page.viewportSize();
    await this.page.setViewportSize({ width: 360, height: 740 });
    const found = await this.wrongs();
    if (before !== null) await this.page.setViewportSize(before);
    return found;
  }
}
