import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { agentsPerTenantMax } from "../../src/agents/schema.ts";
import { apiKeysPerTenantMax } from "../../src/apikeys/schema.ts";
import {
  chatConnectionsPerTenantMax,
  chatTextCharactersMax,
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
import { linkMinutes, pageSessionsMax, sessionHoursMax } from "../../src/console-server/store.ts";
import { largeBodiesMax } from "../../src/kernel/admission/large-bodies.ts";
import { reportsMax } from "../../src/kernel/admission/reports.ts";
import { guessesMax } from "../../src/kernel/auth/guess-limit.ts";
import { eraseRowsMax } from "../../src/kernel/database/pace.ts";
import { foreignJsonDepthMax } from "../../src/kernel/json-bounds.ts";
import * as shared from "../../src/kernel/limits.ts";
import { relayLogBytesMax } from "../../src/kernel/relay/relay.ts";
import * as mcp from "../../src/mcp-connections/limits.ts";
import { mcpConnectionsPerTenantMax } from "../../src/mcp-connections/schema.ts";
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
import { usageRangeDaysMax } from "../../src/usage/schema.ts";
import { webhooksPerTenantMax } from "../../src/webhooks/schema.ts";
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
  "API keys": { apiKeysPerTenantMax },
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
  "sessions of the console": { pageSessionsMax, sessionHoursMax },
  "sign-in link": { linkMinutes },
  webhooks: { webhooksPerTenantMax },
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
  agent: pick("fallbackModelsMax"),
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

const page = readFileSync(inRepository("docs/configuration.md"), "utf8");
const [, section = ""] = /^## Limits$([\s\S]*)/m.exec(page) ?? [];
const rows = section.split("\n").filter((line) => line.startsWith("| "));

/** The row that begins so; where several do, the one that begins with nothing else. */
function rowOf(start: string): string {
  const found = rows.filter((row) => row.startsWith(`| ${start}`));
  return found.find((row) => row.startsWith(`| ${start} |`)) ?? found[0] ?? "";
}

describe("the limits of docs/configuration.md", () => {
  test.each(Object.entries(constantsByRow))("%s", (start, constants) => {
    const row = rowOf(start);
    expect(row).not.toBe("");
    for (const [name, value] of Object.entries(constants)) {
      const isSaid = spellings(name, value).some((text) => new RegExp(`(?<![\\d,.])${text}(?![\\d]|,\\d)`).test(row));
      expect([name, value, isSaid ? "is said" : row]).toEqual([name, value, "is said"]);
    }
  });

  test("another number would be seen", () => {
    expect(spellings("jsonBodyBytesMax", 16 * 2 ** 20)).toEqual(["16 MiB"]);
    expect(spellings("turnRunMsMax", 6 * 3_600_000)).toContain("6 hours");
    expect(spellings("idempotencyKeepHours", 24)).toEqual(["24 hours"]);
    expect(spellings("workspacesPerTenantMax", 1_000)).toEqual(["1,000"]);
  });
});
