/** Made from the OpenAPI document by `npm run client`; not to be edited. */

export interface Actor {
  type: "api_key" | "member" | "dashboard_user" | "operator" | "chat_user" | "system";
  id: string | null;
}

export interface Agent {
  id: string;
  tenantId: string;
  name: string;
  model: string | null;
  providerId: string | null;
  memoryInjectionEnabled: boolean;
  instructions: string;
  metadata: Record<string, unknown>;
  mcpConnectionIds: Array<string>;
  thinkingLevel: string | null;
  autoCompaction: boolean;
  compactionReserveTokens: number;
  tools: Array<"workspace" | "write_todos" | "memory">;
  clientTools: Array<ClientTool>;
  approvalInChat: ApprovalPolicy;
  approvalInTasks: ApprovalPolicy;
  fallbackModels: Array<{ providerId: string; model: string }>;
  turnLimits: TurnLimits;
  modelSettings: ModelSettings;
  promptCaching: "auto" | "off";
  workspaceId: string | null;
  userId: string;
  avatarUrl: string | null;
  version: number;
  status: "active" | "disabled";
  createdAt: string;
  updatedAt: string;
}

export interface AgentCreate {
  providerId?: string | null;
  tools?: Array<"workspace" | "write_todos" | "memory">;
  memoryInjectionEnabled?: boolean;
  instructions?: string;
  metadata?: Record<string, unknown>;
  mcpConnectionIds?: Array<string>;
  model?: string | null;
  workspaceId?: string;
  thinkingLevel?: string | null;
  autoCompaction?: boolean;
  compactionReserveTokens?: number;
  fallbackModels?: Array<{ providerId: string; model: string }>;
  turnLimits?: TurnLimits;
  modelSettings?: ModelSettingsUpdate | null;
  promptCaching?: "auto" | "off";
  clientTools?: Array<ClientTool>;
  name: string;
  userId?: string;
  approvalInChat?: ApprovalPolicyCreate;
  approvalInTasks?: ApprovalPolicyCreate;
}

export interface AgentDraft {
  providerId?: string | null;
  tools?: Array<"workspace" | "write_todos" | "memory">;
  memoryInjectionEnabled?: boolean;
  instructions?: string;
  metadata?: Record<string, unknown>;
  mcpConnectionIds?: Array<string>;
  model?: string | null;
  thinkingLevel?: string | null;
  autoCompaction?: boolean;
  compactionReserveTokens?: number;
  fallbackModels?: Array<{ providerId: string; model: string }>;
  turnLimits?: TurnLimits;
  modelSettings?: ModelSettingsUpdate | null;
  promptCaching?: "auto" | "off";
  clientTools?: Array<ClientTool>;
  name?: string;
  approvalInChat?: ApprovalPolicyUpdate;
  approvalInTasks?: ApprovalPolicyUpdate;
  changeNote?: string;
}

export interface AgentList {
  agents: Array<Agent>;
  nextCursor?: string | null;
}

export interface AgentUpdate {
  providerId?: string | null;
  tools?: Array<"workspace" | "write_todos" | "memory">;
  memoryInjectionEnabled?: boolean;
  instructions?: string;
  metadata?: Record<string, unknown>;
  mcpConnectionIds?: Array<string>;
  model?: string | null;
  workspaceId?: string;
  thinkingLevel?: string | null;
  autoCompaction?: boolean;
  compactionReserveTokens?: number;
  fallbackModels?: Array<{ providerId: string; model: string }>;
  turnLimits?: TurnLimits;
  modelSettings?: ModelSettingsUpdate | null;
  promptCaching?: "auto" | "off";
  clientTools?: Array<ClientTool>;
  name?: string;
  approvalInChat?: ApprovalPolicyUpdate;
  approvalInTasks?: ApprovalPolicyUpdate;
  changeNote?: string;
}

export interface AgentVersion {
  agentId: string;
  tenantId: string;
  version: number;
  name: string;
  model: string | null;
  providerId: string | null;
  memoryInjectionEnabled: boolean;
  instructions: string;
  metadata: Record<string, unknown>;
  mcpConnectionIds: Array<string>;
  thinkingLevel: string | null;
  autoCompaction: boolean;
  compactionReserveTokens: number;
  tools: Array<"workspace" | "write_todos" | "memory">;
  clientTools: Array<ClientTool>;
  approvalInChat: ApprovalPolicy;
  approvalInTasks: ApprovalPolicy;
  fallbackModels: Array<{ providerId: string; model: string }>;
  turnLimits: TurnLimits;
  modelSettings: ModelSettings;
  promptCaching: "auto" | "off";
  changeNote?: string;
  createdAt: string;
}

export interface AgentVersionPage {
  data: Array<AgentVersion>;
  nextCursor: string | null;
}

export interface ApiKey {
  id: string;
  name: string;
  keyFragment: string;
  createdAt: string;
  expiresAt: string | null;
  role: "reader" | "approver" | "runner" | "editor" | "admin";
  agentIds: Array<string> | null;
  lastUsedAt: string | null;
}

export interface ApiKeyCreate {
  name: string;
  expiresAt?: string | null;
  role?: "reader" | "approver" | "runner" | "editor" | "admin";
  agentIds?: Array<string> | null;
}

export interface ApiKeyCreated {
  apiKey: ApiKey;
  token: string;
}

export interface ApiKeyList {
  apiKeys: Array<ApiKey>;
  nextCursor?: string | null;
}

export interface ApprovalPolicy {
  default: "full" | "auto" | "manual";
  overrides: Array<{ tool: string; mcpConnectionId: string | null; mode: "full" | "auto" | "manual" | "deny" }>;
}

export interface ApprovalPolicyCreate {
  default?: "full" | "auto" | "manual";
  overrides?: Array<{ tool: string; mcpConnectionId?: string | null; mode: "full" | "auto" | "manual" | "deny" }>;
}

export interface ApprovalPolicyUpdate {
  default: "full" | "auto" | "manual";
  overrides?: Array<{ tool: string; mcpConnectionId?: string | null; mode: "full" | "auto" | "manual" | "deny" }>;
}

export interface AuditEvent {
  id: string;
  at: string;
  actor: Actor;
  actorName: string | null;
  action: string;
  resourceType: string;
  resourceId: string | null;
  requestId: string | null;
  changes: Array<string>;
  values: Array<ChangedValue>;
}

export interface AuditEventPage {
  data: Array<AuditEvent>;
  nextCursor: string | null;
}

export interface AvatarUpload {
  file: Blob;
}

export interface Budget {
  id: string;
  name: string;
  agentId: string | null;
  userId: string | null;
  each: "tenant" | "user" | "agent";
  period: "hour" | "day" | "month" | "ever";
  limit: BudgetLimit;
  warnAtPercent: number | null;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

export interface BudgetCreate {
  name: string;
  agentId?: string | null;
  userId?: string | null;
  each?: "tenant" | "user" | "agent";
  period: "hour" | "day" | "month" | "ever";
  limit: BudgetLimitChoice;
  warnAtPercent?: number | null;
  enabled?: boolean;
}

export interface BudgetLimit {
  turns?: number;
  tokens?: number;
  usd?: string;
}

export interface BudgetLimitChoice {
  turns?: number;
  tokens?: number;
  usd?: string | number;
}

export interface BudgetPage {
  data: Array<Budget>;
  nextCursor: string | null;
}

export interface BudgetSpending {
  userId: string | null;
  agentId: string | null;
  used: number | string;
  limit: number | string;
  resetsAt: string | null;
}

export interface BudgetSpendingPage {
  data: Array<BudgetSpending>;
  nextCursor: string | null;
}

export interface BudgetUpdate {
  name?: string;
  agentId?: string | null;
  userId?: string | null;
  each?: "tenant" | "user" | "agent";
  period?: "hour" | "day" | "month" | "ever";
  limit?: BudgetLimitChoice;
  warnAtPercent?: number | null;
  enabled?: boolean;
}

export interface ChangedValue {
  field: string;
  before: string | null;
  after: string;
}

export interface ChatConnection {
  id: string;
  tenantId: string;
  agentId: string;
  name: string;
  platform: "chat_a" | "chat_b";
  enabled: boolean;
  configuration: {
    platform: "chat_a" | "chat_b";
    channelIds?: Array<string>;
    chatIds?: Array<string>;
    businessMode?: boolean;
    approverIds?: Array<string>;
  };
  webhookUrl: string;
  identity: { botId: string | null; botUserId: string | null; teamId: string | null; appId: string | null };
  health: {
    checkedAt: string | null;
    tokenValid: boolean;
    identityVerified: boolean;
    checks: Array<{
      code: "bot_identity" | "channel_membership" | "webhook_url";
      status: "pass" | "fail" | "unknown";
      subject?: string;
    }>;
  };
  credentialFragment: string;
  credentialVersion: number;
  createdAt: string;
  updatedAt: string;
}

export interface ChatConnectionCreate {
  name: string;
  agentId: string;
  platform: "chat_a" | "chat_b" | "slack" | "telegram";
  credentials: { botToken: string; signingSecret?: string };
}

export interface ChatConnectionList {
  chatConnections: Array<ChatConnection>;
  nextCursor?: string | null;
}

export interface ChatConnectionUpdate {
  name?: string;
  configuration?: {
    platform?: "chat_a" | "chat_b" | "slack" | "telegram";
    channelIds?: Array<string>;
    chatIds?: Array<string>;
    businessMode?: boolean;
    approverIds?: Array<string>;
  };
}

export interface ChatDelivery {
  id: string;
  kind: "reply" | "approval_card";
  status: "pending" | "confirmed" | "failed" | "ambiguous";
  attempt: number;
  sessionId: string | null;
  threadId: string;
  credentialVersion: number;
  representation: "native" | "text";
  diagnostic: string | null;
  receipts: Array<{ attempt: number; messageId: string }>;
  messageId: string | null;
  approvalId: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface ChatDeliveryPage {
  data: Array<ChatDelivery>;
  nextCursor: string | null;
}

export interface ChatDeliveryRepair {
  expectedAttempt: number;
  previousSenderStopped: true;
  acceptDuplicateRisk: true;
}

export interface ChatDeliveryRepaired {
  id: string;
  kind: "reply" | "approval_card";
  status: "pending" | "confirmed" | "failed" | "ambiguous";
  attempt: number;
  sessionId: string | null;
  threadId: string;
  connectionId: string;
}

export interface ClientTokenCreate {
  agentId: string;
  userId: string;
  sessionId?: string;
  expiresInSeconds?: number;
  can?: Array<"approvals" | "clientTools" | "forks">;
  origins?: Array<string>;
}

export interface ClientTokenCreated {
  id: string;
  token: string;
  can: Array<"approvals" | "clientTools" | "forks">;
  expiresAt: string;
}

export interface ClientTool {
  name: string;
  description: string;
  inputSchema: { type: "object"; [field: string]: unknown };
}

export interface ClientToolCall {
  toolCallId: string;
  tool: string;
  input: unknown;
  turnId: string;
  assistantMessageId: string;
  status: "pending" | "done" | "failed";
  createdAt: string;
}

export interface ClientToolCallSettled {
  toolCall: ClientToolCall;
  continuation: Continuation;
}

export interface ClientToolCalls {
  toolCalls: Array<ClientToolCall>;
  continuation: Continuation | null;
}

export interface ClientToolResult {
  output?: unknown;
  errorText?: string;
}

export interface CommandCreate {
  command: string;
  timeoutSeconds?: number;
  stdin?: string;
}

export interface Continuation {
  id: string;
  status: "waiting" | "queued" | "running" | "succeeded" | "failed";
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

export interface CurrentMerchantConnection {
  connection: MerchantConnection | null;
}

export interface DataPart {
  type: `data-${string}`;
  id?: string;
  data: unknown;
}

export interface DynamicToolPart {
  type: "dynamic-tool";
  toolName: string;
  toolCallId: string;
  state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "approval-responded"
    | "output-available"
    | "output-error"
    | "output-denied";
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string; isAutomatic?: boolean };
  providerExecuted?: boolean;
  callProviderMetadata?: Record<string, Record<string, unknown>>;
  resultProviderMetadata?: Record<string, Record<string, unknown>>;
}

export interface ErrorResponse {
  error: {
    code: string;
    message: string;
    type?: string;
    param?: string | null;
    details?: { role?: string; needs?: string; issues?: Array<{ path: string; message: string }> };
    requestId: string;
  };
}

export interface Failure {
  code: string;
  message: string;
}

export interface FilePart {
  type: "file";
  mediaType: string;
  url: string;
  filename?: string;
  providerMetadata?: Record<string, Record<string, unknown>>;
}

export interface Generate {
  messages: Array<GenerateMessage>;
  stream?: boolean;
  version?: number;
  userId?: string;
  metadata?: Record<string, unknown>;
  responseFormat?: ResponseFormat;
}

export interface GenerateMessage {
  id?: string;
  role: "user" | "assistant";
  parts: Array<MessagePart>;
  metadata?: unknown;
}

export interface LatestSession {
  id: string;
  agentVersion: number | null;
  messageCount: number;
  firstMessagePreview: string;
  lastMessagePreview: string;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  agentId: string;
  model: string | null;
  thinkingLevel: string | null;
  status: "active" | "disabled";
}

export interface LatestSessionPage {
  data: Array<LatestSession>;
  nextCursor: string | null;
}

export interface LatestTaskRun {
  id: string;
  status: TaskRunStatus;
  finishedAt: string | null;
}

export interface LibrarySkill {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  ownerKind: "platform" | "tenant";
  tenantId: string | null;
  userId: string;
  meta: Record<string, unknown>;
  files: Array<SkillFile>;
}

export interface LibrarySkillCreate {
  file: Blob;
  filename?: string;
  userId?: string;
  metadata?: string;
}

export interface LibrarySkillList {
  skills: Array<LibrarySkillSummary>;
}

export interface LibrarySkillSummary {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  ownerKind: "platform" | "tenant";
  tenantId: string | null;
  userId: string;
}

export interface LibrarySkillUpdate {
  file: Blob;
  filename?: string;
  metadata?: string;
}

export interface McpAttachment {
  mcpConnectionId: string;
  forwardUserId: boolean;
  forwardedMetadataKeys: Array<string>;
  createdAt: string;
  updatedAt: string;
}

export interface McpAttachmentList {
  mcpAttachments: Array<McpAttachment>;
}

export interface McpAttachmentUpdate {
  forwardUserId?: boolean;
  forwardedMetadataKeys?: Array<string>;
}

export interface McpConnection {
  id: string;
  name: string;
  url: string;
  authType: "none" | "bearer" | "oauth_client_credentials" | "oauth_authorization_code";
  status: "connected" | "needs_auth" | "error";
  credentialFragment: string;
  lastAuthErrorCode: string | null;
  oauthIssuer: string | null;
  oauthResource: string | null;
  tokenExpiresAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface McpConnectionCreate {
  name: string;
  url: string;
  authType: "none" | "bearer" | "oauth_client_credentials" | "oauth_authorization_code";
  bearerToken?: string;
  clientId?: string;
  clientSecret?: string;
  scope?: string;
}

export interface McpConnectionCreated {
  id: string;
  name: string;
  url: string;
  authType: "none" | "bearer" | "oauth_client_credentials" | "oauth_authorization_code";
  status: "connected" | "needs_auth" | "error";
  credentialFragment: string;
  lastAuthErrorCode: string | null;
  oauthIssuer: string | null;
  oauthResource: string | null;
  tokenExpiresAt: string | null;
  createdAt: string;
  updatedAt: string;
  leftOut: Array<McpToolLeftOut>;
}

export interface McpConnectionList {
  mcpConnections: Array<McpConnection>;
  nextCursor?: string | null;
}

export interface McpConnectionReconnect {
  url: string;
  authType: "none" | "bearer" | "oauth_client_credentials" | "oauth_authorization_code";
  bearerToken?: string;
  clientId?: string;
  clientSecret?: string;
  scope?: string;
}

export type McpConnectionTest =
  | {
      ok: true;
      latencyMs: number;
      server: { name: string; version: string };
      toolCount: number;
      toolNames: Array<string>;
      leftOut: Array<McpToolLeftOut>;
    }
  | { ok: false; error: Failure };

export interface McpConnectionUpdate {
  name: string;
}

export interface McpReconnected {
  status: "connected" | "needs_auth";
  connection: McpConnection;
  leftOut: Array<McpToolLeftOut>;
}

export interface McpSignInLink {
  url: string;
}

export interface McpToolLeftOut {
  name: string;
  reason: string;
}

export interface Member {
  id: string;
  email: string;
  name: string | null;
  role: "reader" | "approver" | "runner" | "editor" | "admin" | null;
  groupRole: "reader" | "approver" | "runner" | "editor" | "admin" | null;
  invitedUntil: string | null;
  lastSignInAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface MemberCreate {
  email: string;
  role: "reader" | "approver" | "runner" | "editor" | "admin";
}

export interface MemberPage {
  data: Array<Member>;
  nextCursor: string | null;
}

export interface MemberUpdate {
  role: "reader" | "approver" | "runner" | "editor" | "admin";
}

export interface Memory {
  id: string;
  tenantId: string;
  agentId: string;
  userId: string;
  text: string;
  lastAccessedAt: string;
  createdAt: string;
  updatedAt: string;
}

export interface MemoryCreate {
  text: string;
  userId?: string;
}

export interface MemoryPage {
  data: Array<Memory>;
  nextCursor: string | null;
}

export interface MemoryUpdate {
  text: string;
}

export interface MerchantBinding {
  userId: string;
  customerId: string;
  createdAt: string;
  updatedAt: string;
}

export interface MerchantBindingPage {
  bindings: Array<MerchantBinding>;
  nextCursor: string | null;
}

export interface MerchantBindingSet {
  customerId: string;
}

export interface MerchantConnection {
  id: string;
  provider: "billing_a" | "billing_b";
  environment: "sandbox" | "live";
  status: "active" | "disconnected";
  merchantAccountId: string;
  keyFragment: string;
  guard: { enabled: boolean; productIds: Array<string>; meterId: string | null };
  configVersion: number;
  createdAt: string;
  updatedAt: string;
}

export interface MerchantConnectionCreate {
  provider: "billing_a" | "billing_b" | "polar" | "stripe";
  environment: "sandbox" | "live";
  credential: string;
  guard?: MerchantGuard;
}

export interface MerchantConnectionUpdate {
  credential?: string;
  status?: "active" | "disconnected";
  guard?: MerchantGuard;
}

export interface MerchantEvent {
  id: string;
  turnId: string;
  connectionId: string;
  provider: "billing_a" | "billing_b";
  userId: string;
  customerId: string | null;
  agentId: string;
  sessionId: string;
  model: string | null;
  modelProvider: string | null;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  turnStatus: string;
  startedAt: string;
  occurredAt: string;
  status: "pending" | "accepted" | "failed" | "uncertain" | "unmapped" | "incomplete" | "discarded" | "expired";
  payload: Record<string, unknown> | null;
  attemptCount: number;
  attemptGeneration: number;
  lastAttemptAt: string | null;
  lastErrorCode: string | null;
  acceptedAt: string | null;
  workflowIssue: string | null;
  nextAction: "wait" | "retry" | "bind_and_release" | "investigate" | "discard" | "none";
}

export interface MerchantEventPage {
  events: Array<MerchantEvent>;
  nextCursor: string | null;
}

export interface MerchantEventSummary {
  counts: Record<string, number>;
  lastAcceptedAt: string | null;
  oldestPendingAt: string | null;
  series: Array<{ day: string; acceptedEvents: number; acceptedTokens: number; pendingEvents: number }>;
}

export interface MerchantGuard {
  enabled: boolean;
  productIds?: Array<string>;
  meterId?: string | null;
}

export interface MessagePage {
  data: Array<TranscriptMessage>;
  nextCursor: string | null;
  latestCursor: string | null;
}

export type MessagePart =
  | TextPart
  | ReasoningPart
  | FilePart
  | ToolPart
  | DynamicToolPart
  | SourceUrlPart
  | SourceDocumentPart
  | DataPart
  | StepStartPart;

export interface Model {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
  name: string;
}

export interface ModelList {
  object: "list";
  data: Array<Model>;
}

export interface ModelPrice {
  providerId?: string;
  model: string;
  inputUsd: string;
  outputUsd: string;
  cachedInputUsd?: string;
  cacheWriteUsd?: string;
}

export interface ModelPriceUpdate {
  providerId?: string;
  model: string;
  inputUsd: string | number;
  outputUsd: string | number;
  cachedInputUsd?: string | number;
  cacheWriteUsd?: string | number;
}

export interface ModelPrices {
  prices: Array<ModelPrice>;
}

export interface ModelPricesUpdate {
  prices: Array<ModelPriceUpdate>;
}

export interface ModelSettings {
  temperature?: number;
  topP?: number;
  maxOutputTokens?: number;
  stopSequences?: Array<string>;
  seed?: number;
}

export interface ModelSettingsUpdate {
  temperature?: number | null;
  topP?: number | null;
  maxOutputTokens?: number | null;
  stopSequences?: Array<string> | null;
  seed?: number | null;
}

export interface PendingMessage {
  turnId: string;
  status: "queued" | "running" | "waiting";
  message: UIMessage;
}

export interface Prompt {
  id: string;
  tenantId: string;
  name: string;
  template: string;
  variables: Array<string>;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
}

export interface PromptCreate {
  name: string;
  template: string;
  userId?: string;
  metadata?: Record<string, unknown>;
}

export interface PromptList {
  prompts: Array<Prompt>;
  nextCursor?: string | null;
}

export interface PromptUpdate {
  name?: string;
  template?: string;
  metadata?: Record<string, unknown>;
}

export interface Provider {
  id: string;
  name: string;
  providerType: "llm_vendor_a" | "llm_vendor_b" | "llm_vendor_c" | "router_vendor" | "gateway" | "custom";
  createdAt: string;
  updatedAt: string;
  baseUrl: string | null;
  keyFragment: string;
}

export interface ProviderCreate {
  name: string;
  providerType:
    | "llm_vendor_a"
    | "llm_vendor_b"
    | "llm_vendor_c"
    | "router_vendor"
    | "gateway"
    | "custom"
    | "openai"
    | "anthropic"
    | "google"
    | "openrouter";
  baseUrl?: string | null;
  apiKey: string;
}

export interface ProviderList {
  providers: Array<ProviderSummary>;
  nextCursor?: string | null;
}

export interface ProviderModel {
  id: string;
}

export interface ProviderModelList {
  models: Array<ProviderModel>;
}

export interface ProviderSummary {
  id: string;
  name: string;
  providerType: "llm_vendor_a" | "llm_vendor_b" | "llm_vendor_c" | "router_vendor" | "gateway" | "custom";
  createdAt: string;
  updatedAt: string;
}

export interface ProviderUpdate {
  name: string;
}

export interface ReasoningPart {
  type: "reasoning";
  id?: string;
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: Record<string, Record<string, unknown>>;
}

export interface Response {
  id: string;
  object: "response";
  created_at: number;
  completed_at: number | null;
  status: "queued" | "in_progress" | "completed" | "failed" | "incomplete" | "cancelled";
  background: boolean;
  error: ResponseError | null;
  incomplete_details: ResponseIncompleteDetails | null;
  instructions: string | null;
  metadata: Record<string, unknown>;
  model: string;
  output: Array<ResponseOutputItem>;
  previous_response_id: string | null;
  store: boolean;
  text: Record<string, unknown>;
  tool_choice: "auto" | "none" | "required" | { type: "function"; name: string };
  tools: Array<ResponseTool>;
  usage: ResponseUsage | null;
  user: string | null;
  truncation: string;
  parallel_tool_calls: boolean;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  temperature: number;
  reasoning: ResponseReasoning | null;
  max_output_tokens: number | null;
  max_tool_calls: null;
  service_tier: string;
  safety_identifier: null;
  prompt_cache_key: null;
}

export interface ResponseCreate {
  model: string;
  input: string | Array<ResponseInputItem>;
  instructions?: string | null;
  previous_response_id?: string | null;
  stream?: boolean | null;
  store?: boolean | null;
  background?: boolean | null;
  tools?: Array<ResponseFunctionTool> | null;
  tool_choice?: "auto" | "none" | "required" | { type: "function"; name: string } | null;
  text?: {
    format?:
      | { type: "text" }
      | {
          type: "json_schema";
          name?: string | null;
          schema: Record<string, unknown>;
          description?: string | null;
          strict?: boolean | null;
        }
      | null;
    verbosity?: null | "medium";
  } | null;
  metadata?: Record<string, unknown> | null;
  user?: string | null;
  include?: Array<string> | null;
  stream_options?: { include_obfuscation?: boolean | null } | null;
  safety_identifier?: string | null;
  prompt_cache_key?: string | null;
  prompt_cache_options?: Record<string, unknown> | null;
  prompt_cache_retention?: string | null;
  client_metadata?: Record<string, unknown> | null;
  parallel_tool_calls?: null | true;
  truncation?: null | "auto" | "disabled";
  service_tier?: null | "auto" | "default";
  temperature?: number | null;
  top_p?: number | null;
  max_output_tokens?: number | null;
  presence_penalty?: null | 0;
  frequency_penalty?: null | 0;
  top_logprobs?: null | 0;
  max_tool_calls?: null;
  reasoning?: { effort?: string | null; summary?: null | "auto" } | null;
  conversation?: null;
  prompt?: null;
  access_programs?: null;
  context_management?: null;
  image?: null;
  moderation?: null;
}

export interface ResponseDeleted {
  id: string;
  object: "response";
  deleted: true;
}

export interface ResponseError {
  code: string;
  message: string;
  type: "model_error" | "server_error";
  param: null;
}

export interface ResponseFormat {
  type: "json_schema";
  name?: string;
  schema: Record<string, unknown>;
}

export interface ResponseFunctionCallItem {
  id: string;
  type: "function_call";
  status: "in_progress" | "completed" | "incomplete";
  call_id: string;
  name: string;
  arguments: string;
}

export interface ResponseFunctionTool {
  type: "function";
  name: string;
  description?: string | null;
  parameters?: Record<string, unknown> | null;
  strict?: boolean | null;
  allowed_callers?: null;
  async?: null | false;
  defer_loading?: null | false;
  output_schema?: null;
}

export interface ResponseIncompleteDetails {
  reason: "approval_required" | "max_output_tokens" | "content_filter";
  next_response_id?: string;
}

export interface ResponseInputItem {
  type?: string;
  [field: string]: unknown;
}

export interface ResponseMcpApprovalRequestItem {
  id: string;
  type: "mcp_approval_request";
  status: "completed";
  name: string;
  arguments: string;
  server_label: string;
}

export interface ResponseMcpCallItem {
  id: string;
  type: "mcp_call";
  status: "in_progress" | "completed" | "failed";
  name: string;
  arguments: string;
  server_label: string;
  output: string | null;
  error: string | null;
  approval_request_id: string | null;
}

export interface ResponseMessageItem {
  id: string;
  type: "message";
  status: "in_progress" | "completed" | "incomplete";
  role: "assistant";
  content: Array<{
    type: "output_text";
    text: string;
    annotations: Array<Record<string, unknown>>;
    logprobs: Array<Record<string, unknown>>;
  }>;
}

export type ResponseOutputItem =
  | ResponseMessageItem
  | ResponseReasoningItem
  | ResponseFunctionCallItem
  | ResponseMcpCallItem
  | ResponseMcpApprovalRequestItem;

export interface ResponseReasoning {
  effort: string;
  summary: null;
}

export interface ResponseReasoningItem {
  id: string;
  type: "reasoning";
  status: "in_progress" | "completed" | "incomplete";
  summary: Array<ResponseSummaryText>;
}

export interface ResponseSummaryText {
  type: "summary_text";
  text: string;
}

export interface ResponseTool {
  type: "function";
  name: string;
  description: string | null;
  parameters: Record<string, unknown> | null;
  strict: boolean | null;
}

export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

export interface SavedMerchantBinding {
  binding: MerchantBinding;
}

export interface SavedMerchantConnection {
  connection: MerchantConnection;
}

export interface SavedQuestions {
  questions: Array<string>;
}

export interface SavedQuestionsUpdate {
  questions: Array<string>;
}

export interface Session {
  id: string;
  agentVersion: number | null;
  messageCount: number;
  firstMessagePreview: string;
  lastMessagePreview: string;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
}

export interface SessionChange {
  metadata: Record<string, unknown>;
}

export interface SessionDetails {
  id: string;
  agentVersion: number | null;
  messageCount: number;
  firstMessagePreview: string;
  lastMessagePreview: string;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  busy: boolean;
  activeTurnId: string | null;
  queuedTurns: number;
  pending: Array<PendingMessage>;
}

export interface SessionFork {
  throughMessageId?: string;
  userId?: string;
  metadata?: Record<string, unknown>;
}

export interface SessionMessage {
  id: string;
  role: "user" | "assistant";
  parts: Array<MessagePart>;
  metadata?: unknown;
  pending?: true;
}

export interface SessionPage {
  data: Array<Session>;
  nextCursor: string | null;
}

export interface SessionPause {
  continuation: Continuation;
}

export interface Skill {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  tenantId: string;
  agentId: string;
  files: Array<SkillFile>;
}

export type SkillCopy =
  | { agentId: string; status: "created"; skill: Skill }
  | { agentId: string; status: "failed"; error: Failure };

export interface SkillCopyCreate {
  agentIds: Array<string>;
}

export type SkillCopyList = Array<SkillCopy>;

export interface SkillCreate {
  path: "SKILL.md";
  content: string;
}

export interface SkillFile {
  path: string;
  sizeBytes: number;
}

export interface SkillPage {
  data: Array<SkillSummary>;
  nextCursor: string | null;
}

export interface SkillSummary {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  tenantId: string;
  agentId: string;
}

export interface SkillUpload {
  file: Blob;
  type: "zip" | "tar" | "tar.gz";
}

export interface SourceDocumentPart {
  type: "source-document";
  sourceId: string;
  mediaType: string;
  title: string;
  filename?: string;
  providerMetadata?: Record<string, Record<string, unknown>>;
}

export interface SourceUrlPart {
  type: "source-url";
  sourceId: string;
  url: string;
  title?: string;
  providerMetadata?: Record<string, Record<string, unknown>>;
}

export interface StepStartPart {
  type: "step-start";
}

export interface Task {
  id: string;
  tenantId: string;
  agentId: string;
  agentVersion: number | null;
  name: string;
  prompt: string;
  schedule:
    | { kind: "once"; config: { at: string } }
    | { kind: "interval"; config: { everyMs: number } }
    | { kind: "cron"; config: { expression: string; timezone: string } }
    | null;
  enabled: boolean;
  activeRunId: string | null;
  latestRunId: string | null;
  userId: string;
  metadata: Record<string, unknown>;
  responseFormat: ResponseFormat | null;
  deletedAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface TaskCreate {
  agentId: string;
  agentVersion?: number | null;
  name: string;
  prompt: string;
  schedule?:
    | { kind: "once"; config: { at: string } }
    | { kind: "interval"; config: { everyMs: number } }
    | { kind: "cron"; config: { expression: string; timezone: string } }
    | null;
  enabled?: boolean;
  submit?: boolean;
  responseFormat?: ResponseFormat | null;
  userId?: string;
  metadata?: Record<string, unknown>;
}

export interface TaskCreated {
  task: Task;
  runId: string | null;
}

export interface TaskPage {
  data: Array<TaskSummary>;
  nextCursor: string | null;
}

export interface TaskRun {
  id: string;
  taskId: string;
  tenantId: string;
  agentId: string;
  agentVersion: number;
  sessionId: string | null;
  turnId: string | null;
  status: TaskRunStatus;
  error: Failure | null;
  userId: string;
  metadata: Record<string, unknown>;
  startedAt: string | null;
  finishedAt: string | null;
  cancelRequestedAt: string | null;
  canceledAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface TaskRunMessages {
  data: Array<UIMessage>;
  nextCursor: string | null;
  latestCursor: string | null;
  status: TaskRunStatus;
  error: Failure | null;
  finishedAt: string | null;
}

export interface TaskRunPage {
  data: Array<TaskRun>;
  nextCursor: string | null;
}

export interface TaskRunStart {
  idempotencyKey?: string;
}

export interface TaskRunStarted {
  runId: string;
}

export type TaskRunStatus = "queued" | "running" | "blocked" | "succeeded" | "failed" | "canceled";

export interface TaskSummary {
  id: string;
  tenantId: string;
  agentId: string;
  agentVersion: number | null;
  name: string;
  prompt: string;
  schedule:
    | { kind: "once"; config: { at: string } }
    | { kind: "interval"; config: { everyMs: number } }
    | { kind: "cron"; config: { expression: string; timezone: string } }
    | null;
  enabled: boolean;
  activeRunId: string | null;
  latestRunId: string | null;
  userId: string;
  metadata: Record<string, unknown>;
  responseFormat: ResponseFormat | null;
  deletedAt: string | null;
  createdAt: string;
  updatedAt: string;
  latestRun: LatestTaskRun | null;
}

export interface TaskUpdate {
  agentVersion?: number | null;
  name?: string;
  prompt?: string;
  schedule?:
    | { kind: "once"; config: { at: string } }
    | { kind: "interval"; config: { everyMs: number } }
    | { kind: "cron"; config: { expression: string; timezone: string } }
    | null;
  enabled?: boolean;
  metadata?: Record<string, unknown>;
  responseFormat?: ResponseFormat | null;
}

export interface TextPart {
  type: "text";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: Record<string, Record<string, unknown>>;
}

export interface ThinkingLevels {
  known: boolean;
  levels: Array<string>;
}

export interface ToolApproval {
  id: string;
  sessionId: string;
  turnId: string;
  tool: string;
  toolCallId: string;
  input: unknown;
  assistantMessageId: string;
  status: "pending" | "approved" | "denied";
  reason: string | null;
  createdAt: string;
  decidedAt: string | null;
  decidedBy: Actor | null;
}

export interface ToolApprovalDecide {
  approved: boolean;
  reason?: string;
}

export interface ToolApprovalDecided {
  approval: ToolApproval;
  continuation: Continuation;
}

export interface ToolApprovals {
  approvals: Array<ToolApproval>;
  continuation: Continuation | null;
}

export interface ToolLeftOut {
  tool: string;
  reason: string;
}

export interface ToolPart {
  type: `tool-${string}`;
  toolCallId: string;
  state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "approval-responded"
    | "output-available"
    | "output-error"
    | "output-denied";
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string; isAutomatic?: boolean };
  providerExecuted?: boolean;
  callProviderMetadata?: Record<string, Record<string, unknown>>;
  resultProviderMetadata?: Record<string, Record<string, unknown>>;
}

export interface TranscriptMessage {
  id: string;
  role: "user" | "assistant";
  parts: Array<MessagePart>;
  metadata?: unknown;
  pending?: true;
}

export interface Turn {
  message: UIMessage;
  finishReason?: string;
  output?: unknown;
}

export interface TurnCancel {
  keep?: "nothing" | "partial";
  queued?: boolean;
}

export interface TurnCanceled {
  canceled: number;
}

export interface TurnCreate {
  message?: UserMessage;
  promptId?: string;
  variables?: Record<string, string>;
  trigger?: "submit-message" | "regenerate-message";
  messageId?: string;
  stream?: boolean;
  userId?: string;
  metadata?: Record<string, unknown>;
  responseFormat?: ResponseFormat;
  version?: number;
}

export interface TurnDetails {
  id: string;
  agentId: string;
  agentVersion: number;
  sessionId: string | null;
  kind: "session" | "generate" | "task" | "chat";
  status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
  error: TurnFailure | null;
  userId: string;
  attempts: number;
  requestId: string | null;
  acceptedAt: string;
  startedAt: string | null;
  firstTextAt: string | null;
  finishedAt: string | null;
  waitedMs: number;
  runMs: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costUsd: string | null;
  costIsComplete: boolean;
  usageEstimated: boolean;
  modelCalls: number;
  steps: Array<TurnStep>;
  toolsLeftOut: Array<ToolLeftOut>;
}

export interface TurnFailure {
  code: string;
  message: string;
  details?: TurnFailureDetails;
}

export interface TurnFailureDetails {
  vendor?: VendorFailure;
  budgetId?: string;
}

export interface TurnInput {
  message?: UIMessage;
  messages?: Array<UIMessage>;
}

export interface TurnLimits {
  maxModelCalls?: number;
  maxTokens?: number;
  maxSeconds?: number;
}

export interface TurnPage {
  data: Array<TurnSummary>;
  nextCursor: string | null;
}

export interface TurnResume {
  message?: SessionMessage;
  promptId?: string;
  variables?: Record<string, string>;
  trigger?: "submit-message" | "regenerate-message";
  messageId?: string;
  stream?: boolean;
  userId?: string;
  metadata?: Record<string, unknown>;
  responseFormat?: ResponseFormat;
  onBusy?: "reject" | "enqueue" | "interrupt";
}

export interface TurnRetry {
  stream?: boolean;
}

export interface TurnStep {
  index: number;
  startedAt: string;
  finishedAt: string | null;
  provider: string | null;
  model: string;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  toolCalls: Array<TurnStepToolCall>;
  failures: Array<TurnStepFailure>;
}

export interface TurnStepFailure {
  providerId: string;
  model: string;
  status: number | null;
  code?: string | null;
  message?: string;
  requestId?: string | null;
  at: string;
}

export interface TurnStepToolCall {
  toolCallId: string;
  tool: string;
  status: "running" | "waiting" | "succeeded" | "failed" | "denied" | "canceled";
  startedAt: string;
  finishedAt: string | null;
}

export interface TurnSummary {
  id: string;
  agentId: string;
  agentVersion: number;
  sessionId: string | null;
  kind: "session" | "generate" | "task" | "chat";
  status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
  error: Failure | null;
  userId: string;
  attempts: number;
  requestId: string | null;
  acceptedAt: string;
  startedAt: string | null;
  firstTextAt: string | null;
  finishedAt: string | null;
  waitedMs: number;
  runMs: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costUsd: string | null;
  costIsComplete: boolean;
  usageEstimated: boolean;
  modelCalls: number;
}

export interface TurnsCancel {
  agentId?: string;
  sessionId?: string;
  userId?: string;
  status?: "queued" | "running" | "waiting";
}

export interface UIMessage {
  id: string;
  role: "user" | "assistant";
  parts: Array<MessagePart>;
  metadata?: unknown;
}

export type UIMessageChunk =
  | { type: "text-delta"; id: string; delta: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | { type: "text-start"; id: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | { type: "text-end"; id: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | { type: "reasoning-start"; id: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | { type: "reasoning-delta"; id: string; delta: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | { type: "reasoning-end"; id: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | {
      type: "tool-input-start";
      toolCallId: string;
      dynamic?: boolean;
      providerExecuted?: boolean;
      providerMetadata?: Record<string, Record<string, unknown>>;
      toolName: string;
    }
  | { type: "tool-input-delta"; toolCallId: string; inputTextDelta: string }
  | {
      type: "tool-input-available";
      toolCallId: string;
      dynamic?: boolean;
      providerExecuted?: boolean;
      providerMetadata?: Record<string, Record<string, unknown>>;
      toolName: string;
      input: unknown;
    }
  | {
      type: "tool-input-error";
      toolCallId: string;
      dynamic?: boolean;
      providerExecuted?: boolean;
      providerMetadata?: Record<string, Record<string, unknown>>;
      toolName: string;
      input: unknown;
      errorText: string;
    }
  | { type: "tool-approval-request"; toolCallId: string; approvalId: string; isAutomatic?: boolean }
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  | {
      type: "tool-output-available";
      toolCallId: string;
      dynamic?: boolean;
      providerExecuted?: boolean;
      providerMetadata?: Record<string, Record<string, unknown>>;
      output: unknown;
      preliminary?: boolean;
    }
  | {
      type: "tool-output-error";
      toolCallId: string;
      dynamic?: boolean;
      providerExecuted?: boolean;
      providerMetadata?: Record<string, Record<string, unknown>>;
      errorText: string;
    }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "file"; url: string; mediaType: string; providerMetadata?: Record<string, Record<string, unknown>> }
  | {
      type: "source-url";
      sourceId: string;
      url: string;
      title?: string;
      providerMetadata?: Record<string, Record<string, unknown>>;
    }
  | {
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
      providerMetadata?: Record<string, Record<string, unknown>>;
    }
  | { type: `data-${string}`; data: unknown; transient?: boolean }
  | { type: "start"; messageId?: string; messageMetadata?: unknown }
  | { type: "start-step" }
  | { type: "finish-step" }
  | { type: "message-metadata"; messageMetadata: unknown }
  | { type: "finish"; finishReason?: string; messageMetadata?: unknown }
  | { type: "abort"; reason?: string }
  | { type: "error"; errorText: string };

export interface UnresolvedChatDelivery {
  id: string;
  kind: "reply" | "approval_card";
  status: "pending" | "confirmed" | "failed" | "ambiguous";
  attempt: number;
  sessionId: string | null;
  threadId: string;
  credentialVersion: number;
  representation: "native" | "text";
  diagnostic: string | null;
  receipts: Array<{ attempt: number; messageId: string }>;
  messageId: string | null;
  approvalId: string | null;
  createdAt: string;
  updatedAt: string;
  connectionId: string;
  agentId: string;
  platform: "chat_a" | "chat_b";
}

export interface UnresolvedChatDeliveryPage {
  data: Array<UnresolvedChatDelivery>;
  nextCursor: string | null;
}

export interface Usage {
  buckets: Array<UsageBucket>;
  totals: UsageTotals;
}

export interface UsageBucket {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costUsd: string | null;
  costIsComplete: boolean;
  requestCount: number;
  durationMs: number;
  day: string | null;
  agentId: string | null;
  sessionId: string | null;
  userId: string | null;
  provider: string | null;
  model: string | null;
}

export interface UsageTotals {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costUsd: string | null;
  costIsComplete: boolean;
  requestCount: number;
  durationMs: number;
}

export interface UserMessage {
  id: string;
  role: "user";
  parts: Array<UserMessagePart>;
  metadata?: unknown;
  pending?: true;
}

export type UserMessagePart = TextPart | FilePart;

export interface VendorFailure {
  providerId: string;
  model: string;
  status: number | null;
  code: string | null;
  message: string;
  requestId: string | null;
}

export interface Webhook {
  id: string;
  url: string;
  events: Array<
    | "turn.ended"
    | "approval.requested"
    | "tool_call.requested"
    | "run.ended"
    | "delivery.failed"
    | "mcp_connection.changed"
    | "budget.warned"
    | "budget.reached"
    | "audit.recorded"
  >;
  description: string;
  enabled: boolean;
  agentIds: Array<string> | null;
  disabledReason: Failure | null;
  failingSince: string | null;
  previousSecretExpiresAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface WebhookAttempt {
  at: string;
  statusCode: number | null;
  ms: number;
  error: string | null;
}

export interface WebhookCreate {
  url: string;
  events: Array<
    | "turn.ended"
    | "approval.requested"
    | "tool_call.requested"
    | "run.ended"
    | "delivery.failed"
    | "mcp_connection.changed"
    | "budget.warned"
    | "budget.reached"
    | "audit.recorded"
  >;
  description?: string;
  enabled?: boolean;
}

export interface WebhookDelivery {
  id: string;
  webhookId: string;
  type: string;
  timestamp: string;
  data: WebhookEventData;
  status: "pending" | "succeeded" | "failed";
  attemptCount: number;
  attempts: Array<WebhookAttempt>;
  nextAttemptAt: string | null;
  finishedAt: string | null;
}

export interface WebhookDeliveryPage {
  data: Array<WebhookDelivery>;
  nextCursor: string | null;
}

export interface WebhookEventData {
  ids: Record<string, string | null>;
  status: string;
}

export interface WebhookPage {
  data: Array<Webhook>;
  nextCursor: string | null;
}

export interface WebhookUpdate {
  url?: string;
  events?: Array<
    | "turn.ended"
    | "approval.requested"
    | "tool_call.requested"
    | "run.ended"
    | "delivery.failed"
    | "mcp_connection.changed"
    | "budget.warned"
    | "budget.reached"
    | "audit.recorded"
  >;
  description?: string;
  enabled?: boolean;
}

export interface WebhookWithSecret {
  id: string;
  url: string;
  events: Array<
    | "turn.ended"
    | "approval.requested"
    | "tool_call.requested"
    | "run.ended"
    | "delivery.failed"
    | "mcp_connection.changed"
    | "budget.warned"
    | "budget.reached"
    | "audit.recorded"
  >;
  description: string;
  enabled: boolean;
  agentIds: Array<string> | null;
  disabledReason: Failure | null;
  failingSince: string | null;
  previousSecretExpiresAt: string | null;
  createdAt: string;
  updatedAt: string;
  secret: string;
}

export interface Workspace {
  id: string;
  tenantId: string;
  name: string;
  userId: string;
  metadata: Record<string, unknown>;
  status: "ready" | "deleting";
  runtime: "simulated" | "bubblewrap" | "remote";
  createdAt: string;
  updatedAt: string;
}

export interface WorkspaceCommand {
  exitCode: number;
  stdout: string;
  stderr: string;
  truncated: boolean;
  durationMs: number;
}

export interface WorkspaceCreate {
  name?: string;
  userId?: string;
  metadata?: Record<string, unknown>;
}

export interface WorkspaceDeleting {
  status: "deleting";
}

export interface WorkspaceFile {
  path: string;
  sizeBytes: number;
}

export interface WorkspaceFileList {
  files: Array<WorkspaceFile>;
}

export interface WorkspacePage {
  data: Array<Workspace>;
  nextCursor: string | null;
}

export interface WorkspaceUpdate {
  name?: string;
  metadata?: Record<string, unknown>;
}
