import { Elysia } from "elysia";
import type { Ctx } from "../../kernel/context.ts";
import { unaudited } from "../../kernel/http/audit-trail.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { readLimit } from "../../kernel/http/page.ts";
import { readMomentRange } from "../../kernel/http/range.ts";
import { Id } from "../../kernel/ids.ts";
import { endTurnsOf } from "../cancel/end-all.ts";
import { TurnListFields, TurnsCancel } from "../schema.ts";
import { readAsked } from "../state/asked.ts";
import { listLongest } from "../state/longest-turns.ts";
import { listTurns } from "../state/turn-list.ts";
import { readTurn } from "../state/turn-view.ts";
import { listOfOwnTurns, ownTurn } from "./client-reach.ts";
import { CancelResponse, TurnDetailsResponse, TurnInputResponse, TurnListResponse } from "./responses.ts";

/** A request ends turns for this long; the reaper ends what is left then. */
const endingMsMax = 5_000;
/** A request asks turns to stop for this long; another one asks the rest. */
const askingMsMax = 30_000;

/** The turns of a tenant, wherever they came from: `/v1/turns`. */
export function allTurnsRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/turns" })
    .get(
      "",
      operation(ctx, {
        id: "turns.list",
        role: "reader",
        reads: "replica",
        summary: "List turns, newest first or longest first",
        description:
          "The filters narrow the list together; `error` is the code of the error that a turn failed with. `from` (inclusive) and `to` (exclusive) are when a turn was accepted; an empty `userId` means turns without a user. `sort=longest` sorts by `runMs`, over at most 31 days: those from `from` on, until `to`; without `from` the last day before it.",
        query: TurnListFields,
        success: 200,
        response: TurnListResponse,
        errors: ["invalid_cursor"],
        clientTokens: listOfOwnTurns,
        handle: ({ sql, tenantId, principal: { agentIds }, query }) => {
          const { status, kind, error, agentId, sessionId, userId, cursor } = query;
          const asked = {
            ...{ status, kind, error, agentId, agentIds, sessionId, userId, cursor },
            ...readMomentRange(query),
            limit: readLimit(query.limit),
          };
          return query.sort === "longest" ? listLongest(sql, tenantId, asked) : listTurns(sql, tenantId, asked);
        },
      }),
    )
    .post(
      "/cancel",
      operation(ctx, {
        id: "turns.cancel",
        role: "runner",
        audit: unaudited,
        summary: "Cancel all turns that match",
        description:
          "Turns that are queued, running or waiting and match every field that is given, at least one; a turn in its session's line counts as queued. They never run again; of many, the last are seen to end some seconds later. A request asks for up to 30 s; where `canceled` is not 0, send it again to be sure that nothing is left.",
        body: TurnsCancel,
        success: 202,
        response: CancelResponse,
        handle: async ({ sql, commit, tenantId, principal: { agentIds }, body }) => {
          const options = { endingMsMax, askingMsMax, logs: ctx };
          const { queued, running, waiting } = await endTurnsOf(sql, tenantId, { ...body, agentIds }, options);
          return commit(async () => ({ canceled: queued + running + waiting }));
        },
      }),
    )
    .use(oneTurnRoutes(ctx));
}

/** What is read of one turn. */
function oneTurnRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:turnId",
      operation(ctx, {
        id: "turns.get",
        role: "reader",
        summary: "Read a turn with its steps",
        description:
          "`steps` has times and names, no content. What a provider said of a call that failed is in `error.details.vendor` and in the `failures` of the steps, without credentials; a client token is not shown its words.",
        params: pathIds({ turnId: Id("turn") }),
        success: 200,
        response: TurnDetailsResponse,
        errors: ["not_found"],
        clientTokens: ownTurn,
        handle: ({ principal, sql, tenantId, params }) =>
          readTurn(sql, tenantId, params.turnId, { hidesWords: principal.client !== null }),
      }),
    )
    .get(
      "/:turnId/input",
      operation(ctx, {
        id: "turns.getInput",
        role: "reader",
        summary: "Read what a turn was asked",
        description:
          "The user's message, or all messages of a stateless generation as long as they are kept; also of a turn that failed or was canceled.",
        params: pathIds({ turnId: Id("turn") }),
        success: 200,
        response: TurnInputResponse,
        errors: ["not_found"],
        clientTokens: ownTurn,
        handle: ({ sql, tenantId, params }) => readAsked(sql, tenantId, params.turnId),
      }),
    );
}
