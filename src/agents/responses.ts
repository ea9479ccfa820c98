import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import {
  attribution,
  listOf,
  listPartOf,
  Moment,
  pageOf,
  Text,
  TextOrNull,
  times,
} from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { approvalModes } from "../tools/policy.ts";
import { SandboxId } from "../workspaces/sandbox-id.ts";
import { ClientTools } from "./client-tools.ts";
import { ModelSettingsShown } from "./model-settings.ts";
import { promptCachings, TurnLimitsField } from "./schema.ts";
import { toolGroups } from "./tool-groups.ts";

/** What operations on agents respond with, for the OpenAPI document. */

const Policy = Component("ApprovalPolicy", {
  default: OneOf(...approvalModes),
  overrides: example(
    Type.Array(
      Closed({ tool: Text, mcpConnectionId: Nullable(Id("mcpConnection")), mode: OneOf(...approvalModes, "deny") }),
    ),
    [{ tool: "bash", mcpConnectionId: null, mode: "manual" }],
  ),
});

const config = {
  name: example(Text, "Support"),
  model: example(TextOrNull, "gpt-5-mini"),
  providerId: Nullable(Id("provider")),
  memoryInjectionEnabled: Type.Boolean(),
  instructions: example(Text, "You answer questions about orders, in one or two sentences."),
  metadata: Metadata,
  mcpConnectionIds: Type.Array(Id("mcpConnection")),
};
const configInB = {
  ...config,
  thinkingLevel: example(TextOrNull, null),
  autoCompaction: Type.Boolean(),
  compactionReserveTokens: example(Type.Integer(), 16_384),
  tools: Type.Array(OneOf(...toolGroups)),
  clientTools: ClientTools,
  approvalInChat: Policy,
  approvalInTasks: Policy,
  fallbackModels: Type.Array(Closed({ providerId: Id("provider"), model: example(Text, "gpt-5-nano") })),
  turnLimits: TurnLimitsField,
  modelSettings: ModelSettingsShown,
  promptCaching: OneOf(...promptCachings),
};
const configInA = {
  ...config,
  model: example(TextOrNull, "openai/gpt-5-mini"),
  skills: Type.Array(Id("skill")),
  tools: Type.Array(OneOf("file_operation_sandbox", "write_todos", "memory")),
};

/** Of an agent. */
export const AgentStatus = OneOf("active", "disabled");

function agent(component: string, more: TProperties) {
  return Component(component, {
    id: Id("agent"),
    tenantId: Id("tenant"),
    ...more,
    ...attribution,
    avatarUrl: example(TextOrNull, null),
    version: Type.Integer(),
    status: AgentStatus,
    ...times,
  });
}

function version(component: string, more: TProperties) {
  return Component(component, {
    agentId: Id("agent"),
    tenantId: Id("tenant"),
    version: Type.Integer(),
    ...more,
    createdAt: Moment,
  });
}

const inBoth = (b: TSchema, a: TSchema) => ({ response: b, responseInA: a });
const AgentInB = agent("Agent", { ...configInB, workspaceId: Nullable(Id("workspace")) });
const AgentInA = agent("AgentA", { ...configInA, sandboxId: Nullable(SandboxId) });
const VersionInB = version("AgentVersion", {
  ...configInB,
  changeNote: Type.Optional(example(Text, "Answers in the language of the question")),
});
const VersionInA = version("AgentVersionA", configInA);

export const agentResponse = inBoth(AgentInB, AgentInA);
export const agentListResponse = inBoth(
  listPartOf("AgentList", "agents", AgentInB),
  listPartOf("AgentListA", "agents", AgentInA),
);
export const agentVersionResponse = inBoth(VersionInB, VersionInA);
export const agentVersionListResponse = inBoth(
  pageOf("AgentVersionPage", VersionInB),
  pageOf("AgentVersionPageA", VersionInA),
);

export const McpAttachmentResponse = Component("McpAttachment", {
  mcpConnectionId: Id("mcpConnection"),
  forwardUserId: Type.Boolean(),
  forwardedMetadataKeys: example(Type.Array(Text), ["plan"]),
  ...times,
});
export const McpAttachmentListResponse = listOf("McpAttachmentList", "mcpAttachments", McpAttachmentResponse);
