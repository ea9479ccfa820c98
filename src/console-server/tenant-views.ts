import { Type } from "@sinclair/typebox";
import type { Ctx } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import { type OperationHandler, operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { readReport } from "../kernel/http/read-report.ts";
import { Characters, Closed, pageQuery } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { readAgentMarks, readVersionMarks } from "./agent-marks.ts";
import { Kept } from "./kept.ts";
import { type OverviewRange, overviewRanges, readOverview, type TurnOverview } from "./overview.ts";
import { readProviderMarks } from "./provider-marks.ts";
import { readQuestions } from "./questions.ts";
import { searchSessions } from "./search.ts";
import { readSessionMarks } from "./session-marks.ts";
import { readTurnWords } from "./turn-words.ts";
import { listUnanswered } from "./unanswered.ts";
import { listWaitingCalls } from "./waiting.ts";

/** Rows that the page asks about at once, and the characters of their ids with the commas between them. */
const askedIdsMax = 100;
const askedIdsLengthMax = askedIdsMax * 40;
/** Words of a message that are searched for. */
const searchedWords = { min: 3, max: 200 };

/** Operations that only the page has. They are checked as those of the interface are, and are no part of it. */
export function tenantViews(ctx: Ctx) {
  return { overview: overviewOperation(ctx), ...listViews(ctx), ...wordViews(ctx), ...markViews(ctx) };
}

function overviewOperation(ctx: Ctx): OperationHandler {
  const overviews = new Kept<TurnOverview>();
  const ranges = Object.keys(overviewRanges) as OverviewRange[];
  return operation(ctx, {
    id: "consoleViews.overview",
    role: "reader",
    summary: "The last hour, day or week in parts",
    query: Closed({ range: Type.Optional(Type.Union(ranges.map((range) => Type.Literal(range)))) }),
    success: 200,
    handle: ({ tenantId, principal: { agentIds }, query: { range = "hour" }, request }) => {
      const read = () => readReport(ctx, request, tenantId, (sql) => readOverview(sql, tenantId, { range, agentIds }));
      return overviews.read(`${tenantId} ${range} ${agentIds === null ? "" : agentIds.join()}`, read);
    },
  });
}

/** What lists have beside the rows of the interface. */
function listViews(ctx: Ctx) {
  return {
    waiting: operation(ctx, {
      id: "consoleViews.waiting",
      role: "reader",
      summary: "What waits for a person, oldest first",
      query: Closed(pageQuery),
      success: 200,
      errors: ["invalid_cursor"],
      handle: ({ sql, tenantId, principal: { agentIds }, query: { cursor, limit } }) =>
        listWaitingCalls(sql, tenantId, { agentIds, cursor, limit: readLimit(limit) }),
    }),
    questions: operation(ctx, {
      id: "consoleViews.questions",
      role: "reader",
      summary: "The beginnings of what turns were asked",
      query: Closed({ turnIds: Characters({ min: 1, max: askedIdsLengthMax }) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query: { turnIds } }) => ({
        data: await readQuestions(sql, tenantId, { turnIds: idsOf("turnIds", turnIds), agentIds }),
      }),
    }),
    sessionMarks: operation(ctx, {
      id: "consoleViews.sessionMarks",
      role: "reader",
      summary: "What became of the last turns of sessions",
      query: Closed({ sessionIds: Characters({ min: 1, max: askedIdsLengthMax }) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query: { sessionIds } }) => ({
        data: await readSessionMarks(sql, tenantId, { sessionIds: idsOf("sessionIds", sessionIds), agentIds }),
      }),
    }),
  };
}

/** What was said, where the interface has it in another shape. */
function wordViews(ctx: Ctx) {
  return {
    unanswered: operation(ctx, {
      id: "consoleViews.unanswered",
      role: "reader",
      summary: "Turns of a session that failed or were canceled, with their places in the transcript",
      query: Closed({ sessionId: Id("session"), fromMessageId: Type.Optional(Characters({ min: 1, max: 256 })) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query }) => ({
        data: await listUnanswered(sql, tenantId, { fromMessageId: undefined, ...query, agentIds }),
      }),
    }),
    turnWords: operation(ctx, {
      id: "consoleViews.turnWords",
      role: "reader",
      summary: "What a turn was asked and what it said",
      query: Closed({ turnId: Id("turn") }),
      success: 200,
      handle: ({ sql, tenantId, principal: { agentIds }, query: { turnId } }) =>
        readTurnWords(sql, tenantId, { turnId, agentIds }),
    }),
    search: operation(ctx, {
      id: "consoleViews.search",
      role: "reader",
      summary: "Sessions in which something was said",
      query: Closed({ words: Characters(searchedWords) }),
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, query: { words }, request }) =>
        readReport(ctx, request, tenantId, async (sql) => ({
          data: await searchSessions(sql, tenantId, { words, agentIds }),
        })),
    }),
  };
}

/** What providers, agents and versions came to. */
function markViews(ctx: Ctx) {
  return {
    providerMarks: operation(ctx, {
      id: "consoleViews.providerMarks",
      role: "reader",
      summary: "The last failure of each provider",
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds } }) => ({
        data: await readProviderMarks(sql, tenantId, agentIds),
      }),
    }),
    agentMarks: operation(ctx, {
      id: "consoleViews.agentMarks",
      role: "reader",
      summary: "What agents' turns of the last 24 hours came to",
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, request }) =>
        readReport(ctx, request, tenantId, async (sql) => ({ data: await readAgentMarks(sql, tenantId, agentIds) })),
    }),
    versionMarks: operation(ctx, {
      id: "consoleViews.versionMarks",
      role: "reader",
      summary: "What the turns of an agent's versions came to",
      query: Closed({ agentId: Id("agent") }),
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, query: { agentId }, request }) =>
        readReport(ctx, request, tenantId, async (sql) => ({
          data: await readVersionMarks(sql, tenantId, { agentId, agentIds }),
        })),
    }),
  };
}

/** The ids of a field with commas between them. Throws 400 for more than the page ever asks about. */
function idsOf(field: string, text: string): string[] {
  const ids = text.split(",");
  if (ids.length > askedIdsMax) throw invalid(field, `must name at most ${askedIdsMax}`);
  return ids;
}
