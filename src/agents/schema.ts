import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import {
  Change,
  Characters,
  Closed,
  FileBytes,
  listPartQuery,
  Metadata,
  Name,
  Nullable,
  OneOf,
  UserId,
} from "../kernel/http/request-fields.ts";
import { Id, type IdOf } from "../kernel/ids.ts";
import { fallbackModelsMax, modelCallsPerTurnMax, turnRunMsMax } from "../kernel/limits.ts";
import type { ModelSettings } from "../providers/model-settings.ts";
import { type ApprovalPolicy, approvalModes } from "../tools/policy.ts";
import { SandboxId } from "../workspaces/sandbox-id.ts";
import { type ClientTool, ClientTools } from "./client-tools.ts";
import { ModelSettingsUpdate } from "./model-settings.ts";
import { type ToolGroup, toolGroups } from "./tool-groups.ts";

/** Agents a tenant may have at once, in both forms. */
export const agentsPerTenantMax = 100;
/** This many versions of an agent are kept, the newest, and every older one that something is pinned to. */
export const agentVersionsKept = 100;
/** This many drafts of an agent are kept, as of its versions. */
export const agentDraftsKept = 100;
/** The note of a change has at most this many characters. */
const changeNoteCharactersMax = 200;
/** Instructions have at most this many characters. */
const instructionsCharactersMax = 3000;
/** A model id has at most this many characters. */
const modelCharactersMax = 256;
/** MCP connections one agent may be attached to; as many as a tenant may have. */
const mcpConnectionsPerAgentMax = 50;
/** Library skills one agent may name. */
export const librarySkillsPerAgentMax = 100;
/** Overrides one approval policy may hold. */
const overridesPerPolicyMax = 200;
/** The most tokens that an agent's `turnLimits` may name. */
const limitTokensMax = 1_000_000_000;
/** The model of a new agent in form A that names none (`POST /v1/agents`). */
export const defaultModel = "openai/gpt-4o-mini";
/** Tokens kept free for the model's answer by default. */
const compactionReserveTokensDefault = 16_384;
/** Session metadata keys an attachment may forward. */
const forwardedKeysMax = 100;

const Override = Closed({
  tool: Characters({ min: 1, max: 200 }),
  mcpConnectionId: Type.Optional(Nullable(Id("mcpConnection"))),
  mode: OneOf(...approvalModes, "deny"),
});
const overrides = Type.Optional(Type.Array(Override, { maxItems: overridesPerPolicyMax }));
const PolicyOnCreate = Component("ApprovalPolicyCreate", {
  default: Type.Optional(OneOf(...approvalModes)),
  overrides,
});
/** A policy is replaced as a whole, so its default is required. */
const PolicyOnUpdate = Component("ApprovalPolicyUpdate", { default: OneOf(...approvalModes), overrides });

/** A model that is called where the agent's own fails before it gave anything. */
export interface FallbackModel {
  readonly providerId: string;
  readonly model: string;
}

/** What one turn of an agent may use, its continuations included; what is left out has no limit of the agent's own. */
export interface TurnLimits {
  readonly maxModelCalls?: number;
  /** Input and output. */
  readonly maxTokens?: number;
  /** Of running; waiting for a person, or in a queue, does not count. */
  readonly maxSeconds?: number;
}

/** The versioned configuration of an agent, as its row and each version's row hold it. */
export interface AgentConfig {
  readonly name: string;
  readonly model: string | null;
  readonly thinkingLevel: string | null;
  readonly providerId: string | null;
  readonly autoCompaction: boolean;
  readonly compactionReserveTokens: number;
  readonly memoryInjectionEnabled: boolean;
  readonly tools: readonly ToolGroup[];
  /** What the caller of a session runs; the model is offered it there only. */
  readonly clientTools: readonly ClientTool[];
  readonly instructions: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly mcpConnectionIds: readonly string[];
  readonly approvalInChat: ApprovalPolicy;
  readonly approvalInTasks: ApprovalPolicy;
  /** Library skills by id; only form A shows and takes them. */
  readonly skills: readonly string[];
  /** In the order in which they are tried. */
  readonly fallbackModels: readonly FallbackModel[];
  readonly turnLimits: TurnLimits;
  /** None in a version from before there were any. */
  readonly modelSettings?: ModelSettings;
  /** `auto` in a version from before there was a choice. */
  readonly promptCaching?: PromptCaching;
}

/** Whether the caches of vendors are used. */
export const promptCachings = ["auto", "off"] as const;
export type PromptCaching = (typeof promptCachings)[number];

const runsWithoutAsking: ApprovalPolicy = { default: "full", overrides: [] };

/** What a new agent has in every field that its creator leaves out. */
export const configDefaults: Omit<AgentConfig, "name"> = {
  model: null,
  thinkingLevel: null,
  providerId: null,
  autoCompaction: true,
  compactionReserveTokens: compactionReserveTokensDefault,
  memoryInjectionEnabled: false,
  tools: [],
  clientTools: [],
  instructions: "",
  metadata: {},
  mcpConnectionIds: [],
  approvalInChat: runsWithoutAsking,
  approvalInTasks: runsWithoutAsking,
  skills: [],
  fallbackModels: [],
  turnLimits: {},
  modelSettings: {},
  promptCaching: "auto",
};

const optional = {
  providerId: Type.Optional(Nullable(Id("provider"))),
  tools: Type.Optional(Type.Array(OneOf(...toolGroups), { uniqueItems: true })),
  memoryInjectionEnabled: Type.Optional(Type.Boolean()),
  instructions: Type.Optional(
    example(
      Characters({ max: instructionsCharactersMax }),
      "You answer questions about orders, in one or two sentences.",
    ),
  ),
  metadata: Type.Optional(Metadata),
  mcpConnectionIds: Type.Optional(Type.Array(Id("mcpConnection"), { maxItems: mcpConnectionsPerAgentMax })),
};

const Fallback = Closed({
  providerId: Id("provider"),
  model: example(Characters({ min: 1, max: modelCharactersMax }), "gpt-5-nano"),
});

export const TurnLimitsField = Component("TurnLimits", {
  maxModelCalls: Type.Optional(example(Type.Integer({ minimum: 1, maximum: modelCallsPerTurnMax }), 10)),
  maxTokens: Type.Optional(example(Type.Integer({ minimum: 1, maximum: limitTokensMax }), 200_000)),
  maxSeconds: Type.Optional(example(Type.Integer({ minimum: 1, maximum: turnRunMsMax / 1000 }), 600)),
});

const optionalInB = {
  ...optional,
  model: Type.Optional(example(Nullable(Characters({ min: 1, max: modelCharactersMax })), "gpt-5-mini")),
  workspaceId: Type.Optional(Id("workspace")),
  thinkingLevel: Type.Optional(Nullable(Characters({ min: 1, max: 64 }))),
  autoCompaction: Type.Optional(Type.Boolean()),
  compactionReserveTokens: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
  fallbackModels: Type.Optional(Type.Array(Fallback, { maxItems: fallbackModelsMax })),
  turnLimits: Type.Optional(TurnLimitsField),
  modelSettings: Type.Optional(Nullable(ModelSettingsUpdate)),
  promptCaching: Type.Optional(OneOf(...promptCachings)),
  clientTools: Type.Optional(ClientTools),
};

/** A vendor, and the model behind a slash. */
const VendorModel = {
  ...Characters({ max: modelCharactersMax, pattern: "^[^/]+/.+$" }),
  errorMessage: `must be a vendor, a slash and the vendor's name of the model, such as openai/gpt-5-mini, of at most ${modelCharactersMax} characters`,
};

/** Form A's fields after they were raised to form B's names. */
const optionalInA = {
  ...optional,
  model: Type.Optional(example(Nullable(VendorModel), "openai/gpt-5-mini")),
  workspaceId: Type.Optional(Nullable(Id("workspace"))),
  skills: Type.Optional(Type.Array(Id("skill"), { uniqueItems: true, maxItems: librarySkillsPerAgentMax })),
};

const { workspaceId: _, ...sharedInA } = optionalInA;
/** Form A's fields as a client sends them. */
const sentInA = {
  ...sharedInA,
  sandboxId: Type.Optional(Nullable(SandboxId)),
  tools: Type.Optional(Type.Array(OneOf("file_operation_sandbox", "write_todos", "memory"), { uniqueItems: true })),
};

export const AgentCreate = Component("AgentCreate", {
  ...optionalInB,
  name: Name,
  userId: Type.Optional(UserId),
  approvalInChat: Type.Optional(PolicyOnCreate),
  approvalInTasks: Type.Optional(PolicyOnCreate),
});

export const AgentCreateInA = Closed({ ...optionalInA, name: Name, userId: Type.Optional(UserId) });
/** The same as a client sends it. */
export const AgentCreateShownInA = Component("AgentCreateA", {
  ...sentInA,
  name: Name,
  userId: Type.Optional(UserId),
});

/** Why a version was made, in one line. */
const ChangeNote = example(
  {
    // Without control characters and whatever else ends a line.
    ...Characters({ max: changeNoteCharactersMax, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$" }),
    errorMessage: `must be one line of at most ${changeNoteCharactersMax} characters`,
  },
  "Answers in the language of the question",
);

const updated = { ...optionalInB, name: Name, approvalInChat: PolicyOnUpdate, approvalInTasks: PolicyOnUpdate };
export const AgentUpdate = Change("AgentUpdate", { ...updated, changeNote: ChangeNote });

const { workspaceId: _notVersioned, ...drafted } = updated;
/** The body that makes a draft: what it has otherwise than the agent. */
export const AgentDraft = Change("AgentDraft", { ...drafted, changeNote: ChangeNote });

export const AgentUpdateInA = Change("AgentUpdateRaisedA", { ...optionalInA, name: Name });
/** The same as a client sends it. */
export const AgentUpdateShownInA = Change("AgentUpdateA", { ...sentInA, name: Name });

const { workspaceId: _notVersionedInA, ...draftedInA } = { ...optionalInA, name: Name };
export const AgentDraftInA = Change("AgentDraftRaisedA", draftedInA);
const { sandboxId: _sandbox, ...draftSentInA } = { ...sentInA, name: Name };
/** The same as a client sends it. */
export const AgentDraftShownInA = Change("AgentDraftA", draftSentInA);

/** What a request may set of an agent's configuration and workspace, in either form. */
export type AgentFields = Partial<
  Omit<Static<typeof AgentCreate>, "userId" | "workspaceId"> & {
    workspaceId: IdOf<"workspace"> | null;
    skills: string[];
    /** Of the version, and no part of the configuration. */
    changeNote: string;
  }
>;

export const AgentListInA = Closed({ ...listPartQuery, userId: Type.Optional(UserId) });
export const AgentList = Closed({ ...AgentListInA.properties, workspaceId: Type.Optional(Id("workspace")) });

/** The form that a picture is sent in. */
export const AvatarUpload = Component("AvatarUpload", { file: FileBytes });

export const AttachmentUpdate = Change("McpAttachmentUpdate", {
  forwardUserId: example(Type.Boolean(), true),
  forwardedMetadataKeys: Type.Array(Characters({ min: 1, max: 256 }), {
    uniqueItems: true,
    maxItems: forwardedKeysMax,
  }),
});
