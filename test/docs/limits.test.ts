import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import {
  outputTokensMax,
  seedMax,
  stopSequenceCharactersMax,
  stopSequencesMax,
  temperatureMax,
} from "../../src/agents/model-settings.ts";
import { agentsPerTenantMax } from "../../src/agents/schema.ts";
import { agentsPerKeyMax } from "../../src/apikeys/schema.ts";
import {
  chatConnectionsPerTenantMax,
  chatTextCharactersMax,
  eventsKeepHours,
  webhookBytesMax,
  webhooksPerSecondMax,
} from "../../src/chat/schema.ts";
import {
  clientTokensPerTenantMax,
  originsPerTenantMax,
  originsPerTokenMax,
  tokenSecondsDefault,
  tokenSecondsMax,
  tokenSecondsMin,
} from "../../src/client-tokens/schema.ts";
import {
  groupMembersKeptDays,
  linkMinutes,
  pageSessionsMax,
  personSessionsMax,
  sessionHoursMax,
} from "../../src/console-server/store.ts";
import { largeBodiesMax } from "../../src/kernel/admission/large-bodies.ts";
import { reportsMax } from "../../src/kernel/admission/reports.ts";
import { guessesMax } from "../../src/kernel/auth/guess-limit.ts";
import { eraseRowsMax } from "../../src/kernel/database/pace.ts";
import { foreignJsonDepthMax } from "../../src/kernel/json-bounds.ts";
import * as shared from "../../src/kernel/limits.ts";
import { relayLogBytesMax } from "../../src/kernel/relay/relay.ts";
import * as mcp from "../../src/mcp-connections/limits.ts";
import { mcpConnectionsPerTenantMax } from "../../src/mcp-connections/schema.ts";
import { invitationDays, membersPerTenantMax } from "../../src/members/schema.ts";
import { memoriesPerAgentMax, memoryTextBytesMax } from "../../src/memories/schema.ts";
import { summaryDaysMax } from "../../src/merchant/schema.ts";
import { picturesPerMessageMax } from "../../src/messages/ui-message.ts";
import { promptsPerTenantMax } from "../../src/prompts/schema.ts";
import {
  modelCallMsMax,
  modelErrorBytesMax,
  modelEventBytesMax,
  modelResponseBytesMax,
} from "../../src/providers/limits.ts";
import { providersPerTenantMax } from "../../src/providers/schema.ts";
import { inputItemsMax } from "../../src/responses/input.ts";
import {
  approvalReasonCharactersMax,
  clientErrorCharactersMax,
  clientResultBytesMax,
} from "../../src/sessions/schema.ts";
import {
  archiveBytesMax,
  filesPerSkillMax,
  librarySkillsPerTenantMax,
  skillBytesMax,
  skillPathBytesMax,
  skillsPerAgentMax,
} from "../../src/skills/schema.ts";
import { tasksPerTenantMax } from "../../src/tasks/schema.ts";
import { apiKeysMaxMax } from "../../src/tenants/store.ts";
import { usageRangeDaysMax } from "../../src/usage/schema.ts";
import * as webhooks from "../../src/webhooks/schema.ts";
import * as sandboxes from "../../src/workspaces/bubblewrap/limits.ts";
import * as workspaces from "../../src/workspaces/limits.ts";
import { inRepository } from "../harness/repository.ts";

/** Rows of docs/configuration.md by how they begin, each with the constants whose values it has to name. */
const constantsByRow: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  agents: { agentsPerTenantMax },
  "result of a client tool": { clientResultBytesMax, clientErrorCharactersMax },
  "[responses]": { inputItemsMax },
  prompts: { promptsPerTenantMax },
  memories: { memoriesPerAgentMax, memoryTextBytesMax },
  "skills of an agent": { skillsPerAgentMax, archiveBytesMax, filesPerSkillMax, skillBytesMax },
  "API keys": { apiKeysDefault: shared.apiKeysDefault, apiKeysMaxMax, agentsPerKeyMax },
  members: { membersPerTenantMax, invitationDays },
  "client tokens": {
    clientTokensPerTenantMax,
    tokenSecondsMin,
    tokenSecondsMax,
    tokenSecondsDefault,
    originsPerTokenMax,
    originsPerTenantMax,
  },
  providers: { providersPerTenantMax },
  workspaces: { workspacesPerTenantMax: workspaces.workspacesPerTenantMax },
  tasks: { tasksPerTenantMax },
  "sessions of the console": { pageSessionsMax, personSessionsMax, sessionHoursMax },
  "sign-in link": { linkMinutes },
  webhooks: { webhooksPerTenantMax: webhooks.webhooksPerTenantMax },
  "reason of a decision": { approvalReasonCharactersMax },
  usage: { usageRangeDaysMax, summaryDaysMax },
  "queued turns of a tenant": { queuedTurnsDefault: shared.queuedTurnsDefault },
  "turns in the line of a session": { lineTurnsMax: shared.lineTurnsMax },
  "large bodies": { largeBodiesMax },
  "JSON body": pick("jsonBodyBytesMax", "jsonDepthMax", "jsonValuesMax"),
  "wrong sign-ins to the console": { guessesMax },
  reports: { reportsMax },
  "body of a request": pick("bodySilenceMsMax"),
  "body that comes before": pick("strangeBodyMsMax"),
  "body of a refused request": pick("unreadBodySilenceMsMax", "unreadBodyMsMax"),
  "`metadata`": pick("metadataBytesMax"),
  "deletion in bulk": { eraseRowsMax },
  "`userId`": pick("userIdLengthMax"),
  "log of a turn in the relay": { relayLogBytesMax },
  "transcript that a turn reads": pick("transcriptBytesMax", "transcriptPartsMax"),
  "transcripts that a worker process caches": pick("cachedTranscriptsBytesMax", "cachedTranscriptMs"),
  "one answer": pick("answerBytesMax", "answerChunksMax", "modelCallsPerTurnMax", "turnRunMsMax"),
  "tool calls of a turn": pick("toolCallsAtOnceMax", "toolCallsPerStepMax"),
  "record of a turn's steps": pick("recordedCallsMax", "recordedNameLengthMax", "recordedToolsMax"),
  "token counts": pick("callTokensMax"),
  "response of a model provider": { modelResponseBytesMax, modelEventBytesMax, modelErrorBytesMax },
  "parts of an answer": pick("answerPartsMax"),
  "input of a tool call": pick("toolInputBytesMax", "toolInputDepthMax"),
  "values of an answer's tool calls": pick("answerValuesMax"),
  "one model call": { modelCallMsMax },
  "pictures of a message": { picturesPerMessageMax },
  "tool result": pick("toolResultBytesMax"),
  "pictures and sounds": pick("toolFileBytesMax", "turnFilesMax", "turnFilesBytesMax"),
  "call of an MCP server's tool": {
    callSilenceMs: mcp.callSilenceMs,
    callMsMax: mcp.callMsMax,
    responseBytesMax: mcp.responseBytesMax,
    streamBytesMax: mcp.streamBytesMax,
  },
  "task of an MCP server": { taskPollMsMax: mcp.taskPollMsMax, taskFailuresMax: mcp.taskFailuresMax },
  "JSON of other servers": { foreignJsonDepthMax },
  agent: {
    ...pick("fallbackModelsMax"),
    ...{ temperatureMax, outputTokensMax, stopSequencesMax, stopSequenceCharactersMax, seedMax },
  },
  "MCP connection": { mcpConnectionsPerTenantMax },
  "tools of an MCP server": {
    toolsMax: mcp.toolsMax,
    toolPagesMax: mcp.toolPagesMax,
    toolListBytesMax: mcp.toolListBytesMax,
    toolsAtStartMs: mcp.toolsAtStartMs,
    toolListsBytesMax: mcp.toolListsBytesMax,
  },
  "what the tools of a turn write": { turnWrittenBytesMax: workspaces.turnWrittenBytesMax },
  workspace: {
    fileBytesMax: workspaces.fileBytesMax,
    workspaceBytesMax: workspaces.workspaceBytesMax,
    workspaceFilesMax: workspaces.workspaceFilesMax,
  },
  "lists and pattern searches": {
    fileListsMax: workspaces.fileListsMax,
    fileListsPerTenantMax: workspaces.fileListsPerTenantMax,
  },
  skill: { skillPathBytesCount: skillPathBytesMax, librarySkillsPerTenantMax },
  "chat connection": { chatConnectionsPerTenantMax },
  "webhook of a chat connection": { webhookBytesMax, webhooksPerSecondMax },
  "message of a chat": { chatTextCharactersMax },
  "`Idempotency-Key`": pick("idempotencyKeyLengthMax", "idempotencyKeepHours", "idempotencyLeaseMs"),
  cursor: pick("cursorLengthMax"),
};

/** Rows of docs/webhooks.md, under "Limits of webhooks", in the same way. */
const webhookRows: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "webhooks of a tenant": { webhooksPerTenantMax: webhooks.webhooksPerTenantMax },
  "a response's status": { attemptTimeoutMs: webhooks.attemptTimeoutMs },
  "a response's body": { receiptBytesMax: webhooks.receiptBytesMax, receiptBodyMs: webhooks.receiptBodyMs },
  "deliveries to one webhook": { sendsAtOnceMax: webhooks.sendsAtOnceMax },
  "attempts that a delivery shows": { attemptsKeptMax: webhooks.attemptsKeptMax },
  "deliveries kept": {
    deliveriesKeptDays: webhooks.deliveriesKeptDays,
    deliveriesPerWebhookMax: webhooks.deliveriesPerWebhookMax,
  },
  "secret before a rotation": { secretOverlapHours: webhooks.secretOverlapHours },
};

/**
 * Sizes and long times that stand on another page than docs/configuration.md, because that page owns them: with the
 * constant where it is one that can be read here, else with whose it is.
 */
const ownedElsewhere: Readonly<Record<string, Readonly<Record<string, readonly [string, number] | string>>>> = {
  "docs/webhooks.md": {
    "6 hours": ["attemptPauseMaxMs", webhooks.attemptPauseMaxMs],
    "7 days": ["deliveriesKeptDays", webhooks.deliveriesKeptDays],
    "16 KiB": ["receiptBytesMax", webhooks.receiptBytesMax],
    "24 hours": ["secretOverlapHours", webhooks.secretOverlapHours],
    "72 hours": ["retryForHours", webhooks.retryForHours],
  },
  "docs/stored-data.md": {
    "72 hours": ["eventsKeepHours", eventsKeepHours],
    "24 hours": ["idempotencyKeepHours", shared.idempotencyKeepHours],
    "7 days": "counts of a day's turns",
    "90 days": "dead letters",
    "400 days": ["groupMembersKeptDays", groupMembersKeptDays],
  },
  "docs/sign-in.md": { "1 MiB": "an answer of the identity provider" },
  "docs/watching.md": { "64 Ki": "characters of an attribute of a span", "16 Ki": "characters of a text in it" },
  "docs/decisions/mcp-sign-in.md": { "10 minutes": ["signInMinutes", mcp.signInMinutes] },
  "docs/decisions/agents.md": { "15 minutes": "a signed URL of a picture" },
  "docs/decisions/requests.md": { "16 KiB": "headers, as the runtime has it" },
  "docs/deployment.md": { "16 MiB": "what a proxy should let through" },
  "docs/sandboxes.md": {
    "15 minutes": ["folderIdleMs", sandboxes.folderIdleMs],
    "256 KiB": ["outputBytesMax", sandboxes.outputBytesMax],
    "2 minutes": "how long a command waits",
    "50 MiB": "a workspace that was measured",
    "2 GiB": "what a host should have",
  },
  "docs/testing.md": { "128 MiB": "the disk of a fault" },
  "docs/workers.md": { "4 hours": "graphile-worker's own" },
};

function pick(...names: readonly (keyof typeof shared)[]): Record<string, number> {
  const all = { ...shared };
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

/** How a page may write a constant's value, by the unit in its name. */
function spellings(name: string, value: number): string[] {
  const unit = /(Bytes|Ms|Hours|Days|Minutes|Seconds)(?:Max|Min|Default)?$/.exec(name.replace("PerTenant", ""))?.[1];
  const count = value.toLocaleString("en");
  switch (unit) {
    case "Bytes":
      return value % 2 ** 20 === 0 ? [`${value / 2 ** 20} MiB`] : [`${value / 1024} KiB`];
    case "Ms":
      return [
        `${value / 1000} s`,
        `${value / 1000} seconds`,
        `${value / 60_000} minutes`,
        `${value / 3_600_000} hours`,
      ];
    case "Hours":
    case "Days":
    case "Minutes":
      return [`${count} ${unit.toLowerCase()}`];
    default:
      return [count];
  }
}

const read = (path: string) => readFileSync(inRepository(path), "utf8");

/** The rows of a page's tables below a heading. */
function rowsOf(path: string, heading: string): readonly string[] {
  const [, section = ""] = new RegExp(`^## ${heading}$([\\s\\S]*)`, "m").exec(read(path)) ?? [];
  return section.split("\n").filter((line) => line.startsWith("| "));
}

/** The row that begins so; where several do, the one that begins with nothing else. */
function rowOf(rows: readonly string[], start: string): string {
  const found = rows.filter((row) => row.startsWith(`| ${start}`));
  return found.find((row) => row.startsWith(`| ${start} |`)) ?? found[0] ?? "";
}

function expectSaid(row: string, constants: Readonly<Record<string, number>>): void {
  expect(row).not.toBe("");
  for (const [name, value] of Object.entries(constants)) {
    const isSaid = spellings(name, value).some((text) => new RegExp(`(?<![\\d,.])${text}(?![\\d]|,\\d)`).test(row));
    expect([name, value, isSaid ? "is said" : row]).toEqual([name, value, "is said"]);
  }
}

/** A size, or a time that is longer than any wait. */
const numberWithUnit = /(?<![\d,.])\d[\d,.]* (?:[KMG]iB|[KM]i|hours|days|minutes)\b/g;
/** The changelog tells what was, and the limits are what the others link to. */
const notHeld = ["docs/changelog.md", "docs/configuration.md"];

/** Numbers of a page that it does not own, in lines that do not lead to the page that does. */
function strayNumbers(path: string, text: string): string[] {
  const lines = text.split("\n").filter((line) => !/\]\([\w./]*configuration\.md/.test(line));
  const found = lines.flatMap((line) => line.match(numberWithUnit) ?? []);
  return [...new Set(found)].filter((number) => ownedElsewhere[path]?.[number] === undefined);
}

const pages = readdirSync(inRepository("docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`)
  .concat("README.md")
  .filter((path) => !notHeld.includes(path));

describe("the limits of docs/configuration.md", () => {
  const rows = rowsOf("docs/configuration.md", "Limits");
  test.each(Object.entries(constantsByRow))("%s", (start, constants) => expectSaid(rowOf(rows, start), constants));
});

describe("the limits of docs/webhooks.md", () => {
  const rows = rowsOf("docs/webhooks.md", "Limits of webhooks");
  test.each(Object.entries(webhookRows))("%s", (start, constants) => expectSaid(rowOf(rows, start), constants));
});

describe("numbers with a unit", () => {
  test.each(pages)("%s owns its sizes and long times, or leads to the page that does", (path) => {
    expect(strayNumbers(path, read(path))).toEqual([]);
  });

  test.each(Object.entries(ownedElsewhere))("%s has those that it owns, as they are", (path, numbers) => {
    const text = read(path);
    for (const [number, owner] of Object.entries(numbers)) {
      expect([path, text.match(numberWithUnit) ?? []]).toEqual([path, expect.arrayContaining([number])]);
      if (typeof owner !== "string") expect(spellings(...owner)).toContain(number);
    }
  });

  test("a stray one would be seen", () => {
    expect(strayNumbers("docs/a.md", "At most 16 MiB, for 72 hours.")).toEqual(["16 MiB", "72 hours"]);
    expect(strayNumbers("docs/a.md", "At most 16 MiB ([limits](configuration.md#limits)).")).toEqual([]);
  });

  test("another number would be seen", () => {
    expect(spellings("jsonBodyBytesMax", 16 * 2 ** 20)).toEqual(["16 MiB"]);
    expect(spellings("turnRunMsMax", 6 * 3_600_000)).toContain("6 hours");
    expect(spellings("idempotencyKeepHours", 24)).toEqual(["24 hours"]);
    expect(spellings("workspacesPerTenantMax", 1_000)).toEqual(["1,000"]);
  });
});
