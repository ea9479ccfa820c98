import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, listOf, Moment, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { approvalModes } from "../tools/policy.ts";
import { SandboxId } from "../workspaces/sandbox-id.ts";
import { toolGroups } from "./schema.ts";

/** The response schemas of operations on agents, for the OpenAPI document. */

const Policy = Closed({
  default: OneOf(...approvalModes),
  overrides: Type.Array(
    Closed({ tool: Text, mcpConnectionId: Nullable(Id("mcpConnection")), mode: OneOf(...approvalModes, "deny") }),
  ),
});

const config = {
  name: Text,
  model: TextOrNull,
  providerId: Nullable(Id("provider")),
  memoryInjectionEnabled: Type.Boolean(),
  instructions: Text,
  metadata: Metadata,
  mcpConnectionIds: Type.Array(Id("mcpConnection")),
};
const configInB = {
  ...config,
  thinkingLevel: TextOrNull,
  autoCompaction: Type.Boolean(),
  compactionReserveTokens: Type.Integer(),
  tools: Type.Array(OneOf(...toolGroups)),
  approvalInChat: Policy,
  approvalInTasks: Policy,
};
const configInA = {
  ...config,
  skills: Type.Array(Id("skill")),
  tools: Type.Array(OneOf("file_operation_sandbox", "write_todos", "memory")),
};

function agent(more: TProperties) {
  return Closed({
    id: Id("agent"),
    tenantId: Id("tenant"),
    ...more,
    ...attribution,
    avatarUrl: TextOrNull,
    version: Type.Integer(),
    status: OneOf("active", "disabled"),
    ...times,
  });
}

function version(more: TProperties) {
  return Closed({
    agentId: Id("agent"),
    tenantId: Id("tenant"),
    version: Type.Integer(),
    ...more,
    createdAt: Moment,
  });
}

const inBoth = (b: TSchema, a: TSchema) => ({ answer: b, answerInA: a });
const AgentInB = agent({ ...configInB, workspaceId: Nullable(Id("workspace")) });
const AgentInA = agent({ ...configInA, sandboxId: Nullable(SandboxId) });

export const agentResponse = inBoth(AgentInB, AgentInA);
export const agentListResponse = inBoth(listOf("agents", AgentInB), listOf("agents", AgentInA));
export const agentVersionResponse = inBoth(version(configInB), version(configInA));
export const agentVersionListResponse = inBoth(pageOf(version(configInB)), pageOf(version(configInA)));

export const McpAttachmentResponse = Closed({
  mcpConnectionId: Id("mcpConnection"),
  forwardUserId: Type.Boolean(),
  forwardedMetadataKeys: Type.Array(Text),
  ...times,
});
export const McpAttachmentListResponse = listOf("mcpAttachments", McpAttachmentResponse);
