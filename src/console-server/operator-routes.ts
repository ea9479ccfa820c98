import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { InstallationHealth } from "../console-shapes/health.ts";
import type { DiscardOutcome, EndedCounts, QueueState, TenantState, WorkerState } from "../console-shapes/operator.ts";
import {
  discardForGood,
  drainWorker,
  endWorkOf,
  isRefusal,
  makeKey,
  makeTenant,
  retryJobsNow,
  setTenant,
} from "../installation/actions.ts";
import type { Operator } from "../installation/operator-audit.ts";
import { findOperatedTenant, listOperatedTenants, listTenantLoads } from "../installation/tenants.ts";
import { listBusyWorkers } from "../installation/workers.ts";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { readJson } from "../kernel/http/json-body.ts";
import { type Page, readLimit } from "../kernel/http/page.ts";
import { isRead, requestIdOf } from "../kernel/http/request.ts";
import { Characters, Closed, pageQuery } from "../kernel/http/request-fields.ts";
import { validateBody, validateFields } from "../kernel/http/validate.ts";
import { Id, type IdOf } from "../kernel/ids.ts";
import { countJobs, findJob } from "../kernel/queue/stored-jobs.ts";
import { listDeadLetters } from "./dead-letters.ts";
import { readGauges } from "./gauges.ts";
import { readHealth } from "./health.ts";
import { confined } from "./inner-request.ts";
import { Kept } from "./kept.ts";
import { requireOperator } from "./session.ts";
import { TenantLimits } from "./tenant-limits.ts";

interface Asked<P extends TObject, Q extends TObject, B extends TSchema> {
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
  readonly operator: Operator;
}

interface OperatorRequest<P extends TObject, Q extends TObject, B extends TSchema> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly status?: 201 | 202;
  handle(asked: Asked<P, Q, B>): Promise<unknown>;
}

type Nothing = TObject<Record<never, never>>;
interface RouteContext {
  readonly request: Request;
  readonly params: Record<string, string | null>;
}

const bodyBytesMax = 64 * 1024;
const nothing = Closed({});
const worker = Closed({ workerId: Id("worker") });
const job = Closed({ jobId: Type.String({ pattern: "^\\d{1,18}$", errorMessage: "must be a job's number" }) });
const tenant = Closed({ tenantId: Id("tenant") });

/**
 * What an operator sees and does in the console: the same as with the commands `queue` and
 * `tenant`. A tenant's session gets 404 for all of it.
 */
export function operatorRoutes(ctx: Ctx) {
  const { sql } = ctx;
  const health = new Kept<InstallationHealth<Date>>();
  return new Elysia({ prefix: "/console/api/operator", normalize: false })
    .get(
      "/queue",
      onRequest(ctx, {
        handle: async (): Promise<QueueState> => {
          const [jobs, tenants] = await Promise.all([countJobs(sql), listTenantLoads(sql)]);
          return { at: new Date().toISOString(), jobs, tenants };
        },
      }),
    )
    .get("/health", onRequest(ctx, { handle: () => health.read("installation", () => readHealth(sql, ctx)) }))
    .get("/gauges", onRequest(ctx, { handle: async () => ({ data: await readGauges(sql) }) }))
    .get(
      "/workers",
      onRequest(ctx, { handle: async () => ({ data: (await listBusyWorkers(sql)) satisfies WorkerState<Date>[] }) }),
    )
    .post(
      "/workers/:workerId/drain",
      onRequest(ctx, {
        params: worker,
        status: 202,
        handle: async ({ params: { workerId }, operator }) => {
          if (!(await drainWorker(sql, operator, workerId))) throw new ApiError("not_found");
          const found = (await listBusyWorkers(sql)).find((one) => one.workerId === workerId);
          return found ?? { workerId, state: "draining" };
        },
      }),
    )
    .use(deadLetterRoutes(ctx))
    .use(tenantRoutes(ctx));
}

function deadLetterRoutes(ctx: Ctx) {
  const { sql } = ctx;
  const requireDead = async (id: string) => {
    const found = await findJob(sql, id);
    if (found === null || !(found.dead || found.lockedAt !== null)) throw new ApiError("not_found");
  };
  return new Elysia({ prefix: "/dead-letters", normalize: false })
    .get(
      "",
      onRequest(ctx, {
        query: Closed({ task: Type.Optional(Characters({ min: 1, max: 100 })), ...pageQuery }),
        handle: ({ query: { task, cursor, limit } }) => listDeadLetters(sql, { task, cursor, limit: readLimit(limit) }),
      }),
    )
    .post(
      "/:jobId/retry",
      onRequest(ctx, {
        params: job,
        status: 202,
        handle: async ({ params: { jobId }, operator }) => {
          await requireDead(jobId);
          const [id] = await retryJobsNow(sql, operator, [jobId]);
          if (id === undefined)
            throw new ApiError("job_state", { message: "The job runs; there is nothing to retry." });
          return { id };
        },
      }),
    )
    .post(
      "/:jobId/discard",
      onRequest(ctx, {
        params: job,
        handle: async ({ params: { jobId }, operator }) => {
          await requireDead(jobId);
          const outcome = await discardForGood(sql, operator, jobId);
          if (!isRefusal(outcome)) return { id: jobId, outcome: outcome satisfies DiscardOutcome };
          if (outcome === "missing") throw new ApiError("not_found");
          throw new ApiError("job_state", { message: refusals[outcome] });
        },
      }),
    );
}

const refusals = {
  running: "The job runs: end its turn, or wait.",
  kept: "The job has something to delete, which would stay for ever, or to tell: retry it instead.",
};

function tenantRoutes(ctx: Ctx) {
  const { sql } = ctx;
  const show = async (tenantId: IdOf<"tenant">): Promise<TenantState> => {
    const found = await findOperatedTenant(sql, tenantId);
    if (found === null) throw new ApiError("not_found");
    return found;
  };
  const suspending = (subscription: "active" | "inactive") =>
    onRequest(ctx, {
      params: tenant,
      handle: async ({ params: { tenantId }, operator }) => {
        if ((await setTenant(sql, operator, tenantId, { subscription })) === null) throw new ApiError("not_found");
        return show(tenantId);
      },
    });
  return new Elysia({ prefix: "/tenants", normalize: false })
    .get(
      "",
      onRequest(ctx, {
        query: Closed({ name: Type.Optional(Characters({ min: 1, max: 80 })), ...pageQuery }),
        handle: ({ query: { name, cursor, limit } }): Promise<Page<TenantState>> =>
          listOperatedTenants(sql, { name, cursor, limit: readLimit(limit) }),
      }),
    )
    .post(
      "",
      onRequest(ctx, {
        body: Closed({ name: Characters({ min: 1, max: 80 }) }),
        status: 201,
        handle: ({ body: { name }, operator }) => makeTenant(sql, operator, name),
      }),
    )
    .post(
      "/:tenantId/keys",
      onRequest(ctx, {
        params: tenant,
        body: Closed({ name: Characters({ min: 1, max: 80 }) }),
        status: 201,
        handle: async ({ params: { tenantId }, body: { name }, operator }) => {
          const made = await makeKey(sql, operator, tenantId, name);
          if (made === null) throw new ApiError("not_found");
          return made;
        },
      }),
    )
    .get("/:tenantId", onRequest(ctx, { params: tenant, handle: ({ params }) => show(params.tenantId) }))
    .patch(
      "/:tenantId",
      onRequest(ctx, {
        params: tenant,
        body: TenantLimits,
        handle: async ({ params: { tenantId }, body, operator }) => {
          if ((await setTenant(sql, operator, tenantId, body)) === null) throw new ApiError("not_found");
          return show(tenantId);
        },
      }),
    )
    .post("/:tenantId/suspend", suspending("inactive"))
    .post("/:tenantId/resume", suspending("active"))
    .post(
      "/:tenantId/end-turns",
      onRequest(ctx, {
        params: tenant,
        body: Closed({ agentId: Type.Optional(Id("agent")) }),
        status: 202,
        handle: async ({ params: { tenantId }, body: { agentId }, operator }): Promise<EndedCounts> => {
          const ended = await endWorkOf(sql, operator, tenantId, agentId ?? null);
          if (typeof ended === "string") throw new ApiError("not_found");
          return ended;
        },
      }),
    );
}

/** Returns a route's handler, which checks in the order of operations: who asks, path and query, body. */
function onRequest<P extends TObject = Nothing, Q extends TObject = Nothing, B extends TSchema = Nothing>(
  ctx: Ctx,
  spec: OperatorRequest<P, Q, B>,
): (context: RouteContext) => Promise<Response> {
  return async ({ request, params }) => {
    const { account } = await requireOperator(ctx, request);
    const asked = {
      params: validateFields(spec.params ?? nothing, Object.entries(params ?? {})) as Static<P>,
      query: validateFields(spec.query ?? nothing, new URL(request.url).searchParams) as Static<Q>,
      body: validateBody(
        spec.body ?? nothing,
        isRead(request) ? {} : await readJson(request, "operator", bodyBytesMax),
      ) as Static<B>,
      operator: { id: account, requestId: requestIdOf(request) },
    };
    return confined(Response.json(await spec.handle(asked), { status: spec.status ?? 200 }));
  };
}
