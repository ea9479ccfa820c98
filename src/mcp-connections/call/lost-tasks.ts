import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { addJob, removeJob } from "../../kernel/queue/add-job.ts";
import type { JobPayloads } from "../../kernel/queue/catalogue.ts";
import { callMsMax, noticeTimeoutMs, taskIdCharactersMax, taskWatchMs } from "../limits.ts";
import { findMcpConnection } from "../store.ts";
import { ProtocolError } from "../wire/sdk.ts";
import { sessionPoolOf } from "./pool.ts";

/**
 * A call that a server runs as a task goes on there when its worker dies. So a job stands
 * behind each task: it looks every `taskWatchMs` whether the claim that made the call still runs, and
 * cancels the task once it does not. The job is removed when the call has its end.
 */
type Watch = JobPayloads["mcp-task.cancel"];

/** The call whose task is watched. */
export interface WatchedCall {
  readonly tenantId: string;
  readonly connectionId: string;
  /** The claim that makes the call. */
  readonly turnId: string;
  readonly attempt: number;
  /** Tells the calls of a claim apart. */
  readonly callKey: string;
}

/** Whether a claim of a turn runs; it may have been lost without anybody having noticed. */
export type IsClaimed = (sql: Sql, turnId: string, attempt: number) => Promise<boolean>;

/** The job behind the task of one call. Without a database for a moment there is none, and the task ends by its own time to live. */
export class TaskWatch {
  readonly #ctx: Ctx;
  readonly #call: WatchedCall;
  #added: Promise<void> | null = null;

  constructor(ctx: Ctx, call: WatchedCall) {
    this.#ctx = ctx;
    this.#call = call;
  }

  get #key(): string {
    const { turnId, attempt, callKey } = this.#call;
    return `${turnId}:${attempt}:${callKey}`;
  }

  /** Notes the task that the call has become. */
  begin(serverTaskId: string): void {
    // The id is the server's, and may be anything; no known server writes more than 36 characters.
    if (serverTaskId.length > taskIdCharactersMax) return;
    const { attempt, tenantId, connectionId, turnId } = this.#call;
    const watch: Watch = {
      watchKey: this.#key,
      connectionId,
      serverTaskId,
      turnId,
      attempt: String(attempt),
      // The server is asked to keep a task for so long.
      until: new Date(Date.now() + 2 * callMsMax).toISOString(),
      tenantId,
    };
    this.#added = lookAgain(this.#ctx.sql, watch).catch((error) => this.#note(error));
  }

  /** Removes the job, where the server does not run the task any more. */
  end(): void {
    const removed = this.#added?.then(() => removeJob(this.#ctx.sql, "mcp-task.cancel", this.#key));
    removed?.catch((error) => this.#note(error));
  }

  #note(error: unknown): void {
    this.#ctx.log.debug({ turnId: this.#call.turnId, err: error }, "the task of a call is not watched as it should be");
  }
}

/** Cancels a task whose claim does not run any more. While it runs, or while the server is out of reach, the job looks again later. */
export async function cancelLostTask(ctx: Ctx, watch: Watch, isClaimed: IsClaimed): Promise<void> {
  const { connectionId, serverTaskId, turnId, attempt, until, tenantId } = watch;
  // Also where somebody who wrote the job by hand named no moment.
  if (!(Date.parse(until) > Date.now())) return;
  if (await isClaimed(ctx.sql, turnId, Number(attempt))) return lookAgain(ctx.sql, watch);
  const connection = await findMcpConnection(ctx.sql, tenantId, connectionId);
  if (connection === null) return;
  try {
    const params = { taskId: serverTaskId };
    await sessionPoolOf(ctx).use(connection, (session) =>
      session.request("tasks/cancel", params, { timeout: noticeTimeoutMs }),
    );
  } catch (error) {
    // The task has ended, or the server has forgotten it.
    if (error instanceof ProtocolError) return;
    ctx.log.debug({ turnId, mcpConnectionId: connectionId, err: error }, "a lost task is not cancelled yet");
    await lookAgain(ctx.sql, watch);
  }
}

function lookAgain(sql: Sql, watch: Watch): Promise<void> {
  return addJob(sql, "mcp-task.cancel", watch, { runAt: new Date(Date.now() + taskWatchMs) });
}
