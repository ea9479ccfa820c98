import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Where Debian has it: the package `firefox-esr`. */
const executablePath = "/usr/bin/firefox-esr";
export const hasFirefox = existsSync(executablePath);

/** A cold start takes some ten seconds on two busy cores. */
const startMs = 90_000;
const answerMs = 60_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * A window of Firefox, spoken to by WebDriver BiDi, which it has built in. Playwright's own way to it needs commands
 * that this Firefox does not have.
 */
export class FirefoxWindow {
  /** What the page's own code threw, and what it or the browser logged as an error. */
  readonly faults: string[] = [];
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #context = "";

  private constructor(process: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = process;
    this.#profile = profile;
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#take(JSON.parse(String(data)));
  }

  /** Starts Firefox with an empty profile. */
  static async open(): Promise<FirefoxWindow> {
    const profile = await mkdtemp(join(tmpdir(), "parley-firefox-"));
    const args = ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", profile];
    const child = spawn(executablePath, args, { stdio: ["ignore", "ignore", "pipe"] });
    const socket = new WebSocket(`${await addressOf(child)}/session`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    const opened = new FirefoxWindow(child, profile, socket);
    await opened.#send("session.new", { capabilities: {} });
    await opened.#send("session.subscribe", { events: ["log.entryAdded"] });
    const tree = (await opened.#send("browsingContext.getTree", {})) as { contexts: { context: string }[] };
    opened.#context = tree.contexts[0]?.context ?? "";
    return opened;
  }

  /** Goes to an address and waits until it is loaded. */
  async goTo(url: string): Promise<void> {
    await this.#send("browsingContext.navigate", { context: this.#context, url, wait: "complete" });
  }

  /** The value of an expression in the page: a text, a number or a yes or no. */
  async evaluate(expression: string): Promise<unknown> {
    const target = { context: this.#context };
    const said = (await this.#send("script.evaluate", { expression, target, awaitPromise: true })) as {
      type: string;
      result?: { value?: unknown };
    };
    if (said.type !== "success") throw new Error(`The page threw: ${JSON.stringify(said)}`);
    return said.result?.value;
  }

  async close(): Promise<void> {
    this.#socket.close();
    this.#process.kill("SIGKILL");
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #send(method: string, params: object): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      setTimeout(() => reject(new Error(`No answer to ${method} within ${answerMs} ms.`)), answerMs).unref();
    });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  #take(message: { id?: number; type: string; result?: unknown; message?: string; params?: unknown }): void {
    if (message.type === "event") {
      const { level, text } = message.params as { level: string; text: string };
      if (level === "error") this.faults.push(text);
      return;
    }
    const waiting = this.#waiting.get(message.id ?? 0);
    this.#waiting.delete(message.id ?? 0);
    if (message.type === "success") waiting?.resolve(message.result);
    else waiting?.reject(new Error(message.message ?? "Firefox refused it."));
  }
}

/** Waits until Firefox says where it listens. */
async function addressOf(child: ChildProcess): Promise<string> {
  const timer = setTimeout(() => child.kill("SIGKILL"), startMs);
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const address = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1];
    if (address === undefined) continue;
    clearTimeout(timer);
    child.stderr?.resume();
    return address;
  }
  clearTimeout(timer);
  throw new Error("Firefox ended, or did not say where it listens.");
}
