import { expect } from "bun:test";
import type { ConsoleBench } from "./console-browser.ts";
import type { ConsoleVisit } from "./console-visit.ts";
import { eventually } from "./eventually.ts";
import { messagesOf } from "./turns.ts";

/** What a person does in the playground. */
export class Player {
  readonly visit: ConsoleVisit;
  readonly #bench: ConsoleBench;
  readonly #agentId: string;

  constructor(bench: ConsoleBench, agentId: string, visit: ConsoleVisit) {
    this.#bench = bench;
    this.#agentId = agentId;
    this.visit = visit;
  }

  /** Signs somebody in at a new conversation with an agent. */
  static async open(bench: ConsoleBench, agentId: string): Promise<Player> {
    const visit = await bench.signedIn(`/playground?agent=${agentId}`);
    await visit.page.getByRole("log", { name: "Conversation" }).first().waitFor();
    return new Player(bench, agentId, visit);
  }

  get page() {
    return this.visit.page;
  }

  get sessionId(): string {
    return new URL(this.page.url()).searchParams.get("session") ?? "";
  }

  async send(text: string): Promise<void> {
    await this.page.getByLabel("Message").fill(text);
    await this.visit.press("Send");
  }

  /** Waits until an answer says this. */
  answers(text: string): Promise<void> {
    return this.page.locator("article.assistant").getByText(text).last().waitFor();
  }

  settled(): Promise<void> {
    return this.visit.button("Regenerate").waitFor();
  }

  /** The role of each message, as it is stored. */
  async roles(): Promise<string[]> {
    return (await messagesOf(this.#bench.t, this.#agentId, this.sessionId)).map(({ role }: { role: string }) => role);
  }

  /** Watches the page while a call waits, for so long that it looks several times; one that reads in circles asks some hundred times. */
  async looksSeldom(): Promise<void> {
    const { sessionId } = this;
    let asked = 0;
    this.page.on("request", (request) => {
      if (request.url().includes(sessionId)) asked++;
    });
    const since = Date.now();
    await eventually(() => asked >= 2 && Date.now() - since > 5_000);
    expect(asked).toBeLessThanOrEqual(12);
  }

  /** Waits until the conversation has so many messages. */
  async shows(articles: number): Promise<void> {
    await eventually(async () => (await this.page.getByRole("log").locator("article").count()) === articles);
  }
}

/** The text of a message that makes the simulated model play a script. */
export const played = (settings: string) => `[[sim: ${settings}]]`;
