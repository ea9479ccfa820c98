import type { Form } from "../../src/errors.ts";

/**
 * The answers' shapes as the documents describe them, in a notation of one word a
 * field: `text int bool object any time day`, an id by its prefix (`ag_`), a choice
 * (`=a,b`), a list (`[text]`), another shape (`#Agent`); `?` behind it for null, behind
 * the field's name for one that may be left out. Objects are closed.
 */
type Fields = Readonly<Record<string, string>>;

const made = { createdAt: "time", updatedAt: "time" } as const;
const attribution = { userId: "text", metadata: "object" } as const;
const page = (of: string) => ({ data: `[#${of}]`, nextCursor: "text?" });

const agentInBoth = {
  id: "ag_",
  tenantId: "ten_",
  name: "text",
  model: "text?",
  providerId: "prv_?",
  memoryInjectionEnabled: "bool",
  instructions: "text",
  ...attribution,
  mcpConnectionIds: "[mcp_]",
  avatarUrl: "text?",
  version: "int",
  status: "=active,disabled",
  ...made,
} as const;
const agentInB = {
  thinkingLevel: "text?",
  tools: "[=workspace,write_todos,memory]",
  autoCompaction: "bool",
  compactionReserveTokens: "int",
  approvalInChat: "#Policy",
  approvalInTasks: "#Policy",
} as const;
const agentInA = { skills: "[skill_]", tools: "[=file_operation_sandbox,write_todos,memory]" } as const;
const versionInBoth = {
  agentId: "ag_",
  tenantId: "ten_",
  version: "int",
  name: "text",
  model: "text?",
  providerId: "prv_?",
  memoryInjectionEnabled: "bool",
  instructions: "text",
  metadata: "object",
  mcpConnectionIds: "[mcp_]",
  createdAt: "time",
} as const;
const skill = { id: "skill_", name: "text", description: "text", metadata: "object", ...made } as const;
const librarySkill = { ...skill, ownerKind: "=platform,tenant", tenantId: "ten_?", userId: "text" } as const;
const task = {
  id: "tk_",
  tenantId: "ten_",
  agentId: "ag_",
  agentVersion: "int?",
  name: "text",
  prompt: "text",
  schedule: "object?",
  enabled: "bool",
  activeRunId: "tr_?",
  latestRunId: "tr_?",
  ...attribution,
  deletedAt: "time?",
  ...made,
} as const;
const summary = {
  id: "ss_",
  agentVersion: "int?",
  messageCount: "int",
  lastMessagePreview: "text",
  ...attribution,
  ...made,
} as const;
const provider = {
  id: "prv_",
  name: "text",
  providerType: "=llm_vendor_a,llm_vendor_b,router_vendor,llm_vendor_c,gateway,custom",
  ...made,
} as const;
const workspace = {
  tenantId: "ten_",
  name: "text",
  ...attribution,
  status: "=ready,deleting",
  ...made,
} as const;
const totals = { inputTokens: "int", outputTokens: "int", requestCount: "int", durationMs: "int" } as const;
const delivery = {
  id: "cd_",
  kind: "=reply,approval_card",
  status: "=pending,confirmed,failed,ambiguous",
  attempt: "int",
  credentialVersion: "int",
  representation: "=native,text",
  diagnostic: "text?",
  receipts: "[#Receipt]",
  sessionId: "ss_",
  messageId: "any",
  approvalId: "apr_?",
  threadId: "text",
  ...made,
} as const;
const messages = { data: "[#Message]", nextCursor: "text?", latestCursor: "text?" } as const;

/** Shapes that differ between the forms. */
const perForm: Readonly<Record<Form, Readonly<Record<string, Fields>>>> = {
  b: {
    Agent: { ...agentInBoth, ...agentInB, workspaceId: "ws_?" },
    AgentVersion: { ...versionInBoth, ...agentInB },
    LatestSession: { ...summary, agentId: "ag_", model: "text?", thinkingLevel: "text?", status: "=active,disabled" },
  },
  a: {
    Agent: { ...agentInBoth, ...agentInA, sandboxId: "sb_?" },
    AgentVersion: { ...versionInBoth, ...agentInA },
    LatestSession: { ...summary, agentId: "ag_", model: "text?", thinkingLevel: "text?", status: "=active,disabled" },
  },
};

const shapes: Readonly<Record<string, Fields>> = {
  AgentList: { agents: "[#Agent]" },
  AgentVersionPage: page("AgentVersion"),
  Policy: { default: "=full,auto,manual", overrides: "[#Override]" },
  Override: { tool: "text", mcpConnectionId: "mcp_?", mode: "=full,auto,manual,deny" },
  McpAttachment: { mcpConnectionId: "mcp_", forwardUserId: "bool", forwardedMetadataKeys: "[text]", ...made },
  McpAttachmentList: { mcpAttachments: "[#McpAttachment]" },
  Usage: { buckets: "[#UsageBucket]", totals: "#UsageTotals" },
  UsageTotals: totals,
  UsageBucket: {
    ...totals,
    day: "day?",
    agentId: "ag_?",
    sessionId: "text?",
    userId: "text?",
    provider: "text?",
    model: "text?",
  },
  Answer: { message: "#Message" },
  Canceled: { turnId: "turn_" },
  Message: { id: "text", role: "=user,assistant", parts: "[object]", "metadata?": "any" },
  MessagePage: messages,
  Session: summary,
  SessionPage: page("Session"),
  LatestPage: page("LatestSession"),
  ToolApprovals: { approvals: "[#ToolApproval]", continuation: "#Continuation?" },
  ToolApprovalDecision: { approval: "#ToolApproval", continuation: "#Continuation" },
  ToolApproval: {
    id: "apr_",
    sessionId: "ss_",
    turnId: "turn_",
    tool: "text",
    toolCallId: "text",
    input: "any",
    assistantMessageId: "msg_",
    status: "=pending,approved,denied",
    reason: "text?",
    createdAt: "time",
    decidedAt: "time?",
  },
  Continuation: {
    id: "cont_",
    status: "=waiting,queued,running,succeeded,failed",
    createdAt: "time",
    startedAt: "time?",
    finishedAt: "time?",
  },
  Prompt: {
    id: "prompt_",
    tenantId: "ten_",
    name: "text",
    template: "text",
    variables: "[text]",
    ...attribution,
    ...made,
  },
  PromptList: { prompts: "[#Prompt]" },
  Memory: {
    id: "mem_",
    tenantId: "ten_",
    agentId: "ag_",
    userId: "text",
    text: "text",
    lastAccessedAt: "time",
    ...made,
  },
  MemoryPage: page("Memory"),
  Skill: { ...skill, tenantId: "ten_", agentId: "ag_" },
  SkillDetail: { ...skill, tenantId: "ten_", agentId: "ag_", files: "[#File]" },
  SkillPage: page("Skill"),
  File: { path: "text", sizeBytes: "int" },
  FileList: { files: "[#File]" },
  SkillCopy: { agentId: "ag_", status: "=created,failed", "skill?": "#SkillDetail", "error?": "#CopyError" },
  CopyError: { code: "text", message: "text" },
  LibrarySkill: librarySkill,
  LibrarySkillDetail: { ...librarySkill, meta: "object", files: "[#File]" },
  LibrarySkillList: { skills: "[#LibrarySkill]" },
  ApiKey: { id: "ak_", name: "text", keyFragment: "text", createdAt: "time", expiresAt: "time?" },
  ApiKeyMade: { apiKey: "#ApiKey", token: "text" },
  ApiKeyList: { apiKeys: "[#ApiKey]" },
  ProviderItem: provider,
  ProviderList: { providers: "[#ProviderItem]" },
  Provider: { ...provider, baseUrl: "text?", keyFragment: "text" },
  Model: { id: "text" },
  ModelList: { models: "[#Model]" },
  ThinkingLevels: { known: "bool", levels: "[text]" },
  McpConnection: {
    id: "mcp_",
    name: "text",
    url: "text",
    authType: "=none,bearer,oauth_client_credentials,oauth_authorization_code",
    status: "=connected,needs_auth,error",
    credentialFragment: "text",
    lastAuthErrorCode: "text?",
    oauthIssuer: "text?",
    oauthResource: "text?",
    tokenExpiresAt: "time?",
    ...made,
  },
  McpConnectionList: { mcpConnections: "[#McpConnection]" },
  McpReconnect: { status: "=connected,needs_auth", connection: "#McpConnection" },
  McpConnect: { url: "text" },
  McpTest: {
    ok: "bool",
    "latencyMs?": "int",
    "server?": "#McpServer",
    "toolCount?": "int",
    "toolNames?": "[text]",
    "error?": "#CopyError",
  },
  McpServer: { name: "text", version: "text" },
  Workspace: { id: "ws_", ...workspace },
  WorkspacePage: page("Workspace"),
  Sandbox: { id: "sb_", ...workspace },
  SandboxPage: page("Sandbox"),
  WorkspaceDeleting: { status: "=deleting" },
  Task: task,
  ListedTask: { ...task, latestRun: "#LatestRun?" },
  LatestRun: { id: "tr_", status: "=queued,running,blocked,succeeded,failed,canceled", finishedAt: "time?" },
  TaskPage: page("ListedTask"),
  TaskMade: { task: "#Task", runId: "tr_?" },
  RunStarted: { runId: "tr_" },
  Run: {
    id: "tr_",
    taskId: "tk_",
    tenantId: "ten_",
    agentId: "ag_",
    agentVersion: "int?",
    sessionId: "ss_?",
    turnId: "turn_?",
    status: "=queued,running,blocked,succeeded,failed,canceled",
    error: "#CopyError?",
    ...attribution,
    startedAt: "time?",
    finishedAt: "time?",
    cancelRequestedAt: "time?",
    canceledAt: "time?",
    ...made,
  },
  RunPage: page("Run"),
  RunTranscript: {
    ...messages,
    status: "=queued,running,blocked,succeeded,failed,canceled",
    error: "#CopyError?",
    finishedAt: "time?",
  },
  ChatConnection: {
    id: "cc_",
    tenantId: "ten_",
    agentId: "ag_",
    name: "text",
    platform: "=chat_a,chat_b",
    enabled: "bool",
    configuration: "#ChatConfiguration",
    webhookUrl: "text",
    identity: "#BotIdentity",
    health: "#ChatHealth",
    credentialFragment: "text",
    credentialVersion: "int",
    ...made,
  },
  ChatConfiguration: {
    platform: "=chat_a,chat_b",
    "channelIds?": "[text]",
    "chatIds?": "[text]",
    "businessMode?": "bool",
  },
  BotIdentity: { botId: "text?", botUserId: "text?", teamId: "text?", appId: "text?" },
  ChatHealth: { checkedAt: "time?", tokenValid: "bool", identityVerified: "bool", checks: "[#HealthCheck]" },
  HealthCheck: {
    code: "=bot_identity,channel_membership,webhook_url",
    status: "=pass,fail,unknown",
    "subject?": "text",
  },
  ChatConnectionList: { chatConnections: "[#ChatConnection]" },
  Receipt: { attempt: "int", messageId: "text" },
  Delivery: delivery,
  DeliveryPage: page("Delivery"),
  Attention: { ...delivery, connectionId: "cc_", agentId: "ag_", platform: "=chat_a,chat_b" },
  AttentionPage: page("Attention"),
  DeliveryRepaired: {
    id: "cd_",
    sessionId: "ss_",
    threadId: "text",
    connectionId: "cc_",
    kind: "=reply,approval_card",
    status: "=pending,confirmed,failed,ambiguous",
    attempt: "int",
  },
  MerchantConnection: {
    id: "mch_",
    provider: "=billing_a,billing_b",
    environment: "=sandbox,live",
    status: "=active,disconnected",
    merchantAccountId: "text",
    keyFragment: "text",
    guard: "#Guard",
    configVersion: "int",
    ...made,
  },
  Guard: { enabled: "bool", productIds: "[text]", meterId: "text?" },
  MerchantConnectionRead: { connection: "#MerchantConnection?" },
  MerchantConnectionMade: { connection: "#MerchantConnection" },
  Binding: { userId: "text", customerId: "text", ...made },
  BindingPage: { bindings: "[#Binding]", nextCursor: "text?" },
  BindingMade: { binding: "#Binding" },
  UsageEvent: {
    id: "mev_",
    turnId: "turn_",
    connectionId: "mch_",
    provider: "=billing_a,billing_b",
    userId: "text",
    customerId: "text?",
    agentId: "ag_",
    sessionId: "text?",
    model: "text?",
    modelProvider: "text?",
    inputTokens: "int",
    outputTokens: "int",
    totalTokens: "int",
    turnStatus: "text",
    startedAt: "time?",
    occurredAt: "time",
    status: "=pending,accepted,failed,uncertain,unmapped,incomplete,discarded,expired",
    payload: "object?",
    attemptCount: "int",
    attemptGeneration: "int",
    lastAttemptAt: "time?",
    lastErrorCode: "text?",
    acceptedAt: "time?",
    workflowIssue: "text?",
    nextAction: "=wait,retry,bind_and_release,investigate,discard,none",
  },
  UsageEventPage: { events: "[#UsageEvent]", nextCursor: "text?" },
  UsageEventSummary: {
    counts: "object",
    lastAcceptedAt: "time?",
    oldestPendingAt: "time?",
    series: "[#UsageEventDay]",
  },
  UsageEventDay: { day: "day", acceptedEvents: "int", acceptedTokens: "int", pendingEvents: "int" },
};

const words: Readonly<Record<string, object>> = {
  any: {},
  text: { type: "string" },
  int: { type: "integer" },
  bool: { type: "boolean" },
  object: { type: "object" },
  time: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" },
  day: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d$" },
};

function schemaOfWord(word: string): object {
  if (word.endsWith("?")) return { anyOf: [schemaOfWord(word.slice(0, -1)), { type: "null" }] };
  if (word.startsWith("[")) return { type: "array", items: schemaOfWord(word.slice(1, -1)) };
  if (word.startsWith("=")) return { enum: word.slice(1).split(",") };
  if (word.startsWith("#")) return { $ref: `#/$defs/${word.slice(1)}` };
  if (word.endsWith("_")) return { type: "string", pattern: `^${word}[0-9a-z]{24}$` };
  const known = words[word];
  if (known === undefined) throw new Error(`The notation has no ${word}.`);
  return known;
}

function schemaOfFields(fields: Fields): object {
  const names = Object.keys(fields);
  return {
    type: "object",
    required: names.filter((name) => !name.endsWith("?")),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, word]) => [name.replace("?", ""), schemaOfWord(word)]),
    ),
    additionalProperties: false,
  };
}

/** The JSON schema of a named shape in a form. */
export function schemaOf(name: string, form: Form): object {
  const all = { ...shapes, ...perForm[form] };
  if (name !== "SkillCopies" && all[name] === undefined) throw new Error(`There is no shape ${name}.`);
  const $defs = Object.fromEntries(Object.entries(all).map(([known, fields]) => [known, schemaOfFields(fields)]));
  return name === "SkillCopies"
    ? { $defs, type: "array", items: { $ref: "#/$defs/SkillCopy" } }
    : { $defs, $ref: `#/$defs/${name}` };
}
