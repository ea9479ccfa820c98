import { expect } from "bun:test";
import { eventually } from "./eventually.ts";
import type { Harness, TestTenant } from "./harness.ts";
import { heldMark } from "./held-model.ts";
import { makeAgent, userMessage } from "./seed.ts";
import { type LiveStream, open, play, sessionPath, textOf } from "./turns.ts";

/** A tenant whose turns end when the test says so. */
export class Neighbour {
  readonly turns: LiveStream[] = [];
  readonly t: TestTenant;
  readonly #h: Harness;
  readonly #agentId: string;

  private constructor(h: Harness, t: TestTenant, agentId: string) {
    this.#h = h;
    this.t = t;
    this.#agentId = agentId;
  }

  /** A new tenant, whose agent talks to a held model. */
  static async moveIn(h: Harness, model: { url: string }, weight = 1): Promise<Neighbour> {
    const t = await h.tenant();
    await h.sql`update tenants set weight = ${weight} where id = ${t.id}`;
    return new Neighbour(h, t, await makeAgent({ model }, t));
  }

  /** Asks for turns that do not end by themselves, one after another. */
  async hold(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const body = { message: userMessage(heldMark) };
      this.turns.push(await open(this.#h, this.t, "POST", sessionPath(this.#agentId, null), { body }));
    }
  }

  /** A turn from beginning to end: returns its text. */
  async answer(): Promise<string> {
    const played = await play(this.t, this.#agentId, null, { message: userMessage("[[sim: text=answered]]") });
    return textOf(played.chunks);
  }

  async cancel(turn: LiveStream): Promise<void> {
    const { status } = await this.t.call("POST", sessionPath(this.#agentId, turn.sessionId, "/cancel"));
    expect(status).toBeLessThan(300);
  }

  /** The places, in the order of acceptance, of this tenant's turns in a status. */
  async places(status: "running" | "parked" | "canceled"): Promise<number[]> {
    const rows = await this.#h.sql<{ id: string }[]>`
      select id from turns where tenant_id = ${this.t.id}
        and case when parked_at is not null and status = 'queued' then 'parked' else status end = ${status}`;
    const ids = new Set(rows.map(({ id }) => id));
    return this.turns.flatMap(({ turnId }, place) => (ids.has(turnId) ? [place] : []));
  }

  /** Waits until so many turns run and so many are parked. */
  async settled(running: number, parked: number): Promise<void> {
    await eventually(async () => {
      // By one statement: between two of them the last parked turn may begin to run, and be in neither.
      const [row] = await this.#h.sql<{ runs: number; waits: number }[]>`
        select count(*) filter (where status = 'running')::int as runs,
          count(*) filter (where status = 'queued' and parked_at is not null)::int as waits
        from turns where tenant_id = ${this.t.id}`;
      return row?.runs === running && row.waits === parked;
    });
  }

  /** Cancels the oldest turn that runs, and waits until it has ended. */
  async freeOne(): Promise<void> {
    const [place] = await this.places("running");
    const turn = this.turns[place as number] as LiveStream;
    await this.cancel(turn);
    await eventually(async () => (await this.places("canceled")).includes(place as number));
  }
}
