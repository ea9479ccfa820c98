import type { Static, TObject } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Input, operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { ToolError } from "../tools/error.ts";
import type { ToolWrite } from "../tools/tool.ts";
import { WriteAllowance } from "./allowance.ts";
import type { CommandOutcome } from "./commands/keep.ts";
import { runInWorkspace } from "./commands/run.ts";
import { shownOutcome } from "./commands/shown.ts";
import { CommandResponse } from "./responses.ts";
import { RuntimeUnavailableError } from "./runtime.ts";
import { runtimeOf } from "./runtimes.ts";
import { SandboxId, workspaceIdOf } from "./sandbox-id.ts";
import { CommandCreate } from "./schema.ts";

/** Commands by the interface, `/v1/workspaces/:workspaceId/commands` and form A's `/v1/sandboxes/:sandboxId/commands`. */
export function commandRoutes(ctx: Ctx) {
  const shared = {
    audit: "workspace.command",
    body: CommandCreate,
    success: 200,
    response: CommandResponse,
    errors: ["workspace_not_found", "workspace_delete_conflict"],
    streams: true,
    description:
      "Runs a command in the shell over the files, as the tool `bash` does, and responds when it has ended. Files that it wrote are kept " +
      "all or nothing; of a command that its time has ended (exit code 124) none are. A caller that hangs up ends its command.",
  } as const;
  return new Elysia()
    .post(
      "/v1/workspaces/:workspaceId/commands",
      operation(ctx, {
        ...shared,
        id: "workspaces.runCommand",
        role: "editor",
        summary: "Run a command in a workspace",
        params: pathIds({ workspaceId: Id("workspace") }),
        onlyForm: "b",
        handle: (input) => respondTo(ctx, input, input.params.workspaceId),
      }),
    )
    .post(
      "/v1/sandboxes/:sandboxId/commands",
      operation(ctx, {
        ...shared,
        id: "sandboxes.runCommand",
        role: "editor",
        summary: "Run a command in a sandbox",
        params: pathIds({ sandboxId: SandboxId }),
        onlyForm: "a",
        handle: (input) => respondTo(ctx, input, workspaceIdOf(input.params.sandboxId)),
      }),
    );
}

type CommandInput = Pick<Input<TObject, TObject, typeof CommandCreate>, "sql" | "commit" | "tenantId" | "request"> & {
  readonly body: Static<typeof CommandCreate>;
};

const defaultSeconds = 30;

/**
 * Runs a command, and responds in the transaction that keeps what it wrote: with an Idempotency-Key, a repeat either finds both or
 * runs it.
 */
async function respondTo(ctx: Ctx, { sql, commit, tenantId, body, request }: CommandInput, workspaceId: string) {
  const { command, timeoutSeconds = defaultSeconds, stdin = "" } = body;
  let kept: { outcome: unknown; committed: Awaited<ReturnType<typeof commit>> } | null = null;
  const write: ToolWrite = async (work) => {
    let outcome: Awaited<ReturnType<typeof work>> | undefined;
    const committed = await commit(async (inner) => {
      outcome = await work(inner);
      if (outcome === "overtaken") throw new OvertakenError();
      return shown(outcome as CommandOutcome);
    }).catch((error: unknown) => {
      if (!(error instanceof OvertakenError)) throw error;
    });
    if (committed !== undefined) kept = { outcome, committed };
    return outcome as Awaited<ReturnType<typeof work>>;
  };
  const scope = { sql, write, tenantId, workspaceId, sessionId: null, allowance: new WriteAllowance() };
  const asked = { command, stdin, timeoutMs: timeoutSeconds * 1000 };
  const outcome = await runInWorkspace({ ...scope, runtime: runtimeOf(ctx.config) }, asked, request.signal).catch(
    refused,
  );
  const written = kept as { outcome: unknown; committed: Awaited<ReturnType<typeof commit>> } | null;
  if (written?.outcome === outcome && written !== null) return written.committed;
  return commit(async () => shown(outcome));
}

/** Another writer changed what the command used, so nothing of the transaction may stay. */
class OvertakenError extends Error {
  override readonly name = "OvertakenError";
}

function shown(outcome: CommandOutcome) {
  return shownOutcome(outcome, outcome.notes);
}

/** What keeps a command from running at all is 503, with the reason that a model would be told. */
function refused(error: unknown): never {
  if (!(error instanceof RuntimeUnavailableError) && !(error instanceof ToolError)) throw error;
  throw new ApiError("service_unavailable", { message: error.message, headers: { "Retry-After": "1" } });
}
