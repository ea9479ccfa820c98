import type { TaskCreate } from "parley/client";
import { type ApiResponse, eventually, type Harness, type TestTenant } from "./harness.ts";

/** What a test does with tasks and runs, on a harness without workers, so that it sees a run queued. */
export class TaskFixture {
  readonly #h: Harness;
  readonly #t: TestTenant;
  readonly #agentId: string;

  constructor(h: Harness, t: TestTenant, agentId: string) {
    this.#h = h;
    this.#t = t;
    this.#agentId = agentId;
  }

  /** A task of an agent; returns its path. */
  async made(
    prompt: string,
    fields: Partial<TaskCreate> = {},
    tenant = this.#t,
    agent = this.#agentId,
  ): Promise<string> {
    const task = { agentId: agent, name: "n", prompt, ...fields };
    return `/v1/tasks/${(await tenant.parley.tasks.create(task)).task.id}`;
  }

  /** Asks for a run. */
  start(path: string, body: object = {}, tenant = this.#t, form: "a" | "b" = "b"): Promise<ApiResponse> {
    return tenant.call("POST", `${path}/runs`, { body, form });
  }

  /** A queued run; returns its path. */
  async started(path: string, tenant = this.#t): Promise<string> {
    return `${path}/runs/${(await tenant.parley.taskRuns.start(lastOf(path))).runId}`;
  }

  /** A run, or what lies under it, as the service returns it. */
  async read(path: string, tenant = this.#t, form: "a" | "b" = "b") {
    return (await tenant.call("GET", path, { form })).body;
  }

  /** Waits for a run's end. */
  ended(runPath: string, tenant = this.#t) {
    return eventually(async () => {
      const run = await this.read(runPath, tenant);
      return run.status === "queued" || run.status === "running" ? null : run;
    });
  }

  /** Does something while a worker runs jobs. */
  async working<T>(work: () => Promise<T>): Promise<T> {
    const pool = await this.#h.startWorkers();
    try {
      return await work();
    } finally {
      await pool.drain(5_000);
    }
  }

  /** Starts a run and waits for its end. */
  ran(path: string, tenant = this.#t) {
    return this.working(async () => this.ended(await this.started(path, tenant), tenant));
  }
}

/** The id at the end of a path. */
export function lastOf(path: string): string {
  return path.split("/").at(-1) as string;
}
