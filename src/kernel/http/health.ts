import { Elysia } from "elysia";
import { within } from "../async/wait.ts";
import type { Ctx } from "../context.ts";
import { readinessAwayMs, readinessTimeoutMs, readinessWaitMs } from "../limits.ts";

/** What a store is for this process: `read_only` is a Postgres that takes no writes. */
type StoreState = "ok" | "unavailable" | "read_only";

/** What a draining process says of itself, instead of what its stores are. */
export const drainingBody = { status: "draining" } as const;

/**
 * `/healthz`: the process lives. `/readyz`: it can serve. Each service that it depends on stands in the
 * body, and whether it is reachable. All processes lose Postgres at the same moment, and requests wait for it:
 * a balancer that sent none for that reason would refuse what would have been served. So only after
 * `readinessAwayMs` without Postgres the status is 503. Without the relay turns go on and lose their live text only.
 */
export function healthRoutes(ctx: Ctx) {
  const database = new StoreProbe(async () => ((await takesWrites(ctx)) ? "ok" : "read_only"));
  const relay = new StoreProbe(async () => {
    await ctx.relay.ping();
    return "ok";
  });
  return new Elysia()
    .get("/healthz", () => Response.json({ status: "ok" }))
    .get("/readyz", async () => {
      const [databaseState, relayState] = await Promise.all([database.state(), relay.state()]);
      const checks = { database: databaseState, relay: relayState };
      const status = checks.database === "ok" && checks.relay === "ok" ? "ready" : "degraded";
      return Response.json({ status, checks }, { status: database.awayMs > readinessAwayMs ? 503 : 200 });
    });
}

async function takesWrites({ probeSql }: Ctx): Promise<boolean> {
  const [row] = await probeSql<{ readOnly: boolean }[]>`
    select /* health.ready */ pg_is_in_recovery() or current_setting('transaction_read_only')::bool as read_only`;
  return row?.readOnly === false;
}

/** Asks how a store is, one question at a time, for all who want to know. */
class StoreProbe {
  readonly #ask: () => Promise<StoreState>;
  #asking: Promise<StoreState> | null = null;
  #awaySinceMs: number | null = null;

  constructor(ask: () => Promise<StoreState>) {
    this.#ask = ask;
  }

  /** How long the store has been away, as far as anyone asked; 0 where it is there. */
  get awayMs(): number {
    return this.#awaySinceMs === null ? 0 : performance.now() - this.#awaySinceMs;
  }

  /** Returns how it is. One that takes longer than `readinessWaitMs` is away: balancers give a probe little time. */
  async state(): Promise<StoreState> {
    this.#asking ??= this.#answer().finally(() => {
      this.#asking = null;
    });
    const state = await within(this.#asking, readinessWaitMs, () => "unavailable" as const);
    if (state !== "ok") this.#awaySinceMs ??= performance.now();
    return state;
  }

  async #answer(): Promise<StoreState> {
    const asked = this.#ask().catch(() => "unavailable" as const);
    const state = await within(asked, readinessTimeoutMs, () => "unavailable" as const);
    if (state === "ok") this.#awaySinceMs = null;
    return state;
  }
}
