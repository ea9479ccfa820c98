import type { Sql } from "../../src/kernel/database/client.ts";
import { eventually } from "../harness/eventually.ts";
import type { Client } from "../harness/processes.ts";
import type { ReceivedMessage } from "../servers/webhook-receiver.ts";
import { WebhookReceiver } from "../servers/webhook-receiver.ts";
import type { Remains } from "./rows.ts";

const events = ["turn.ended", "approval.requested"];
const path = "/told";
/** Once all faults are over, everything has come within this. */
const toldMs = 90_000;

/** The calm tenant's webhook; its receiver refuses some messages, and takes others without saying so. */
export class ToldServer implements AsyncDisposable {
  readonly #receiver = new WebhookReceiver();
  #webhook = { id: "", secret: "" };

  static async open(client: Client): Promise<ToldServer> {
    const told = new ToldServer();
    await told.#receiver.start();
    const made = await client.request("POST", "/v1/webhooks", { url: `${told.#receiver.url}${path}`, events });
    if (made.status !== 201) throw new Error(`${made.status} ${await made.text()}`);
    told.#webhook = (await made.json()) as { id: string; secret: string };
    for (let n = 0; n < 5; n += 1) {
      told.#receiver.injectFault(path, { status: 503, body: {} });
      told.#receiver.injectFault(path, "cut after");
    }
    return told;
  }

  /** Returns what it was told wrongly, twice under two ids, or not at all. */
  async check(sql: Sql, remains: Pick<Remains, "turns" | "approvals">): Promise<string[]> {
    const { id, secret } = this.#webhook;
    try {
      // A connection may be one that the last fault has ended; the next look gets another.
      const look = async () => {
        await sql`update webhook_deliveries set next_attempt_at = now() where webhook_id = ${id} and status = 'pending'`;
        await sql`update webhooks set paused_until = null where id = ${id}`;
        const [left] = await sql`
          select count(*)::int as rows from webhook_deliveries where webhook_id = ${id} and status <> 'succeeded'`;
        return left?.rows === 0;
      };
      await eventually(() => look().catch(() => false), toldMs);
    } catch {
      return ["deliveries of a webhook are left"];
    }
    return checkTold(this.#receiver.received(path, secret), remains);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.stop();
  }
}

/** Each turn's end and each approval was told, once (a repeat has the same id), and nothing else. */
export function checkTold(
  messages: readonly Pick<ReceivedMessage, "id" | "event">[],
  { turns, approvals }: Pick<Remains, "turns" | "approvals">,
): string[] {
  const once = new Map(messages.map(({ id, event }) => [id, event]));
  const ended = [...once.values()].filter(({ type }) => type === "turn.ended");
  const asked = [...once.values()].filter(({ type }) => type === "approval.requested");
  const faults = turns.flatMap(({ id, status }) => {
    const said = ended.filter(({ data }) => data.ids.turnId === id).map(({ data }) => data.status);
    return said.length === 1 && said[0] === status
      ? []
      : [`${id} is ${status}, and its webhook was told: ${said.join(", ")}`];
  });
  const known = new Set(turns.map(({ id }) => id));
  for (const { data } of [...ended, ...asked])
    if (!known.has(data.ids.turnId ?? "")) faults.push(`a webhook was told of ${data.ids.turnId}, which there is not`);
  for (const { id } of approvals) {
    const count = asked.filter(({ data }) => data.ids.approvalId === id).length;
    if (count !== 1) faults.push(`a webhook was told ${count} times of the approval ${id}`);
  }
  return faults;
}
