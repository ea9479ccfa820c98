import { Type } from "@sinclair/typebox";
import type { Overview } from "../console-shapes/overview.ts";
import type { Ctx } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import { MomentText } from "../kernel/http/date-time.ts";
import { type OperationHandler, operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { readMomentRange } from "../kernel/http/range.ts";
import { readReport } from "../kernel/http/read-report.ts";
import { Characters, Closed, OneOf, pageQuery, UserId } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { shownStatuses } from "../sessions/state/turn-view.ts";
import { readAgentMarks, readVersionMarks } from "./agent-marks.ts";
import { readAuditChoices } from "./audit-choices.ts";
import { readAuditNames } from "./audit-names.ts";
import { readDecisions } from "./decisions.ts";
import { readFirstSteps } from "./first-steps.ts";
import { Kept } from "./kept.ts";
import { listMessageTurns } from "./message-turns.ts";
import { readOverview } from "./overview.ts";
import { type OverviewRange, overviewRanges, spanBetween, spanOfRange } from "./overview-span.ts";
import { readProviderMarks } from "./provider-marks.ts";
import { readQuestions } from "./questions.ts";
import { searchSessions } from "./search.ts";
import { listSessionsWithMarks } from "./session-list.ts";
import { listStoppedUsers } from "./stopped-users.ts";
import { readSaidBefore, readTurnWords } from "./turn-words.ts";
import { listUnanswered } from "./unanswered.ts";
import { listWaitingCalls } from "./waiting.ts";

/** Rows that the page asks about at once, and the characters of their ids with the commas between them. */
const askedIdsMax = 100;
const askedIdsLengthMax = askedIdsMax * 40;
const toolNameLengthMax = 256;
/** Words of a message that are searched for. */
const searchedWords = { min: 3, max: 200 };

/** Which sessions are meant. */
const sessionFilters = {
  agentId: Type.Optional(Id("agent")),
  userId: Type.Optional(UserId),
  status: Type.Optional(OneOf(...shownStatuses)),
  from: Type.Optional(MomentText),
  to: Type.Optional(MomentText),
};

/** Operations that only the page has. They are checked as those of the interface are, and are no part of it. */
export function tenantViews(ctx: Ctx) {
  return {
    overview: overviewOperation(ctx),
    ...listViews(ctx),
    ...wordViews(ctx),
    ...markViews(ctx),
    ...tenantWide(ctx),
    ...auditViews(ctx),
  };
}

function overviewOperation(ctx: Ctx): OperationHandler {
  const overviews = new Kept<Overview<Date>>();
  const ranges = Object.keys(overviewRanges) as OverviewRange[];
  return operation(ctx, {
    id: "consoleViews.overview",
    role: "reader",
    summary: "The last hour, day or week in parts, or the time between two moments",
    query: Closed({
      range: Type.Optional(Type.Union(ranges.map((range) => Type.Literal(range)))),
      from: Type.Optional(MomentText),
      to: Type.Optional(MomentText),
      before: Type.Optional(MomentText),
    }),
    success: 200,
    handle: ({ tenantId, principal: { agentIds }, query: { range, from, to, before }, request }) => {
      const asked = from !== undefined || to !== undefined || before !== undefined;
      const span = asked
        ? spanBetween({ range, from, to, before }, Date.now())
        : spanOfRange(range ?? "hour", Date.now());
      const read = () => readReport(ctx, request, tenantId, (sql) => readOverview(sql, tenantId, { span, agentIds }));
      const name = asked ? [from, to, before].join() : range;
      return overviews.read(`${tenantId} ${name} ${agentIds === null ? "" : agentIds.join()}`, read);
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
      query: Closed({
        agentId: Type.Optional(Id("agent")),
        tool: Type.Optional(Characters({ min: 1, max: toolNameLengthMax })),
        ...pageQuery,
      }),
      success: 200,
      errors: ["invalid_cursor"],
      handle: ({ sql, tenantId, principal: { agentIds }, query: { agentId, tool, cursor, limit } }) =>
        listWaitingCalls(sql, tenantId, { agentIds, agentId, tool, cursor, limit: readLimit(limit) }),
    }),
    decisions: operation(ctx, {
      id: "consoleViews.decisions",
      role: "reader",
      summary: "Who decided approvals",
      query: Closed({ approvalIds: Characters({ min: 1, max: askedIdsLengthMax }) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query: { approvalIds } }) => ({
        data: await readDecisions(sql, tenantId, { approvalIds: idsOf("approvalIds", approvalIds), agentIds }),
      }),
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
    sessionList: operation(ctx, {
      id: "consoleViews.sessionList",
      role: "reader",
      summary: "Sessions with what became of their last turns, also those in which nothing was answered",
      query: Closed({ ...sessionFilters, ...pageQuery }),
      success: 200,
      errors: ["invalid_cursor"],
      handle: ({ sql, tenantId, principal: { agentIds }, query: { agentId, userId, status, cursor, ...query } }) =>
        listSessionsWithMarks(sql, tenantId, {
          ...{ agentIds, agentId, userId, status, cursor },
          ...readMomentRange(query),
          limit: readLimit(query.limit),
        }),
    }),
  };
}

/** A part of a transcript: what is shown of a session, from a message on. */
const transcriptPart = Closed({
  sessionId: Id("session"),
  fromMessageId: Type.Optional(Characters({ min: 1, max: 256 })),
});

/** What was said, where the interface has it in another shape. */
function wordViews(ctx: Ctx) {
  return {
    unanswered: operation(ctx, {
      id: "consoleViews.unanswered",
      role: "reader",
      summary: "Turns of a session that failed or were canceled, with their places in the transcript",
      query: transcriptPart,
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query }) => ({
        data: await listUnanswered(sql, tenantId, { fromMessageId: undefined, ...query, agentIds }),
      }),
    }),
    messageTurns: operation(ctx, {
      id: "consoleViews.messageTurns",
      role: "reader",
      summary: "The turns of a session's messages, and when each was sent",
      query: transcriptPart,
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query }) => ({
        data: await listMessageTurns(sql, tenantId, { fromMessageId: undefined, ...query, agentIds }),
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
    saidBefore: operation(ctx, {
      id: "consoleViews.saidBefore",
      role: "reader",
      summary: "What turns that wait for a person said last",
      query: Closed({ turnIds: Characters({ min: 1, max: askedIdsLengthMax }) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query: { turnIds } }) => ({
        data: await readSaidBefore(sql, tenantId, { turnIds: idsOf("turnIds", turnIds), agentIds }),
      }),
    }),
    search: operation(ctx, {
      id: "consoleViews.search",
      role: "reader",
      summary: "Sessions in which something was said",
      query: Closed({ words: Characters(searchedWords), ...sessionFilters }),
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, query: { words, agentId, userId, status, ...range }, request }) =>
        readReport(ctx, request, tenantId, async (sql) => ({
          data: await searchSessions(sql, tenantId, {
            ...{ words, agentIds, agentId, userId, status },
            ...readMomentRange(range),
          }),
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

/** What is known of a tenant as a whole. */
function tenantWide(ctx: Ctx) {
  return {
    stoppedUsers: operation(ctx, {
      id: "consoleViews.stoppedUsers",
      role: "reader",
      summary: "End users of whom no turn may begin",
      success: 200,
      handle: async ({ sql, tenantId }) => ({ data: await listStoppedUsers(sql, tenantId) }),
    }),
    firstSteps: operation(ctx, {
      id: "consoleViews.firstSteps",
      role: "reader",
      summary: "Which first steps the tenant has done",
      success: 200,
      handle: ({ sql, tenantId, principal: { keyId } }) => readFirstSteps(sql, tenantId, keyId),
    }),
  };
}

/** What the audit has beside its events. */
function auditViews(ctx: Ctx) {
  return {
    auditNames: operation(ctx, {
      id: "consoleViews.auditNames",
      role: "editor",
      summary: "What the resources of audit events are called",
      query: Closed({ auditEventIds: Characters({ min: 1, max: askedIdsLengthMax }) }),
      success: 200,
      handle: async ({ sql, tenantId, principal: { agentIds }, query: { auditEventIds } }) => ({
        data: await readAuditNames(sql, tenantId, { auditEventIds: idsOf("auditEventIds", auditEventIds), agentIds }),
      }),
    }),
    auditChoices: operation(ctx, {
      id: "consoleViews.auditChoices",
      role: "editor",
      summary: "The actions and people of the audit",
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, request }) =>
        readReport(ctx, request, tenantId, (sql) => readAuditChoices(sql, tenantId, agentIds)),
    }),
  };
}

/** The ids of a field with commas between them. Throws 400 for more than the page ever asks about. */
function idsOf(field: string, text: string): string[] {
  const ids = text.split(",");
  if (ids.length > askedIdsMax) throw invalid(field, `must name at most ${askedIdsMax}`);
  return ids;
}
