/** Made from the OpenAPI document by `npm run client`; not to be edited. */

import { type CallOptions, path, type Transport } from "../transport.ts";

import type { TurnStream } from "../turn-stream.ts";

import type {
  Agent,
  AgentCreate,
  AgentDraft,
  AgentList,
  AgentUpdate,
  AgentVersion,
  AgentVersionPage,
  ApiKey,
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyList,
  AuditEvent,
  AuditEventPage,
  AvatarUpload,
  Budget,
  BudgetCreate,
  BudgetPage,
  BudgetSpending,
  BudgetSpendingPage,
  BudgetUpdate,
  ChatConnection,
  ChatConnectionCreate,
  ChatConnectionList,
  ChatConnectionUpdate,
  ChatDelivery,
  ChatDeliveryPage,
  ChatDeliveryRepair,
  ChatDeliveryRepaired,
  ClientTokenCreate,
  ClientTokenCreated,
  ClientToolCallSettled,
  ClientToolCalls,
  ClientToolResult,
  CommandCreate,
  CurrentMerchantConnection,
  Generate,
  LatestSession,
  LatestSessionPage,
  LibrarySkill,
  LibrarySkillCreate,
  LibrarySkillList,
  LibrarySkillUpdate,
  McpAttachment,
  McpAttachmentList,
  McpAttachmentUpdate,
  McpConnection,
  McpConnectionCreate,
  McpConnectionCreated,
  McpConnectionList,
  McpConnectionReconnect,
  McpConnectionTest,
  McpConnectionUpdate,
  McpReconnected,
  McpSignInLink,
  Member,
  MemberCreate,
  MemberPage,
  MemberUpdate,
  Memory,
  MemoryCreate,
  MemoryPage,
  MemoryUpdate,
  MerchantBinding,
  MerchantBindingPage,
  MerchantBindingSet,
  MerchantConnectionCreate,
  MerchantConnectionUpdate,
  MerchantEvent,
  MerchantEventPage,
  MerchantEventSummary,
  MessagePage,
  Model,
  ModelList,
  ModelPrices,
  ModelPricesUpdate,
  Prompt,
  PromptCreate,
  PromptList,
  PromptUpdate,
  Provider,
  ProviderCreate,
  ProviderList,
  ProviderModelList,
  ProviderSummary,
  ProviderUpdate,
  Response,
  ResponseCreate,
  ResponseDeleted,
  SavedMerchantBinding,
  SavedMerchantConnection,
  SavedQuestions,
  SavedQuestionsUpdate,
  Session,
  SessionChange,
  SessionDetails,
  SessionFork,
  SessionPage,
  SessionPause,
  Skill,
  SkillCopyCreate,
  SkillCopyList,
  SkillCreate,
  SkillPage,
  SkillSummary,
  SkillUpload,
  Task,
  TaskCreate,
  TaskCreated,
  TaskPage,
  TaskRun,
  TaskRunMessages,
  TaskRunPage,
  TaskRunStart,
  TaskRunStarted,
  TaskSummary,
  TaskUpdate,
  ThinkingLevels,
  ToolApprovalDecide,
  ToolApprovalDecided,
  ToolApprovals,
  TranscriptMessage,
  Turn,
  TurnCancel,
  TurnCanceled,
  TurnCreate,
  TurnDetails,
  TurnInput,
  TurnPage,
  TurnResume,
  TurnRetry,
  TurnSummary,
  TurnsCancel,
  UIMessage,
  UIMessageChunk,
  UnresolvedChatDelivery,
  UnresolvedChatDeliveryPage,
  Usage,
  UserMessage,
  Webhook,
  WebhookCreate,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookPage,
  WebhookUpdate,
  WebhookWithSecret,
  Workspace,
  WorkspaceCommand,
  WorkspaceCreate,
  WorkspaceDeleting,
  WorkspaceFile,
  WorkspaceFileList,
  WorkspacePage,
  WorkspaceUpdate,
} from "./schemas.ts";

/** Agents, their versions, pictures and MCP attachments, and generation without a session. */
class AgentsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create an agent: `POST /v1/agents`. */
  create(body: AgentCreate, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("POST", "/v1/agents", { body, ...options });
  }

  /** List agents: `GET /v1/agents`. */
  list(
    query: { cursor?: string; limit?: number; userId?: string; workspaceId?: string } = {},
    options: CallOptions = {},
  ): Promise<AgentList> {
    return this.#transport.call("GET", "/v1/agents", { query, ...options });
  }

  /** List agents, row by row over all pages: `GET /v1/agents`. */
  listAll(
    query: { cursor?: string; limit?: number; userId?: string; workspaceId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Agent> {
    return this.#transport.rows("/v1/agents", "agents", { query, ...options });
  }

  /** Read an agent: `GET /v1/agents/{agentId}`. */
  get(agentId: string, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}`, { ...options });
  }

  /** Update an agent, which saves its next version: `PUT /v1/agents/{agentId}`. */
  update(agentId: string, body: AgentUpdate, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("PUT", path`/v1/agents/${agentId}`, { body, ...options });
  }

  /** Delete an agent with its sessions, memories, skills and tasks: `DELETE /v1/agents/{agentId}`. */
  delete(agentId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}`, { ...options });
  }

  /** Disable an agent: no new turns: `POST /v1/agents/{agentId}/disable`. */
  disable(agentId: string, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/disable`, { ...options });
  }

  /** Enable an agent: `POST /v1/agents/{agentId}/enable`. */
  enable(agentId: string, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/enable`, { ...options });
  }

  /** Upload an agent's picture: `POST /v1/agents/{agentId}/avatar`. */
  uploadAvatar(agentId: string, form: AvatarUpload, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/avatar`, { form, ...options });
  }

  /** Remove an agent's picture: `DELETE /v1/agents/{agentId}/avatar`. */
  deleteAvatar(agentId: string, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}/avatar`, { ...options });
  }

  /** List an agent's versions: `GET /v1/agents/{agentId}/versions`. */
  listVersions(
    agentId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<AgentVersionPage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/versions`, { query, ...options });
  }

  /** List an agent's versions, row by row over all pages: `GET /v1/agents/{agentId}/versions`. */
  listVersionsAll(
    agentId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<AgentVersion> {
    return this.#transport.rows(path`/v1/agents/${agentId}/versions`, "data", { query, ...options });
  }

  /** Read a version of an agent: `GET /v1/agents/{agentId}/versions/{version}`. */
  getVersion(agentId: string, version: string, options: CallOptions = {}): Promise<AgentVersion> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/versions/${version}`, { ...options });
  }

  /** Save changes of an agent as a draft, with which a session can be begun: `POST /v1/agents/{agentId}/drafts`. */
  createDraft(agentId: string, body: AgentDraft, options: CallOptions = {}): Promise<AgentVersion> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/drafts`, { body, ...options });
  }

  /** List an agent's MCP attachments: `GET /v1/agents/{agentId}/mcp-attachments`. */
  listMcpAttachments(agentId: string, options: CallOptions = {}): Promise<McpAttachmentList> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/mcp-attachments`, { ...options });
  }

  /** Change what an MCP server is told of a session: `PATCH /v1/agents/{agentId}/mcp-attachments/{mcpConnectionId}`. */
  updateMcpAttachment(
    agentId: string,
    mcpConnectionId: string,
    body: McpAttachmentUpdate,
    options: CallOptions = {},
  ): Promise<McpAttachment> {
    return this.#transport.call("PATCH", path`/v1/agents/${agentId}/mcp-attachments/${mcpConnectionId}`, {
      body,
      ...options,
    });
  }

  /** Read the questions that are kept with an agent: `GET /v1/agents/{agentId}/saved-questions`. */
  getSavedQuestions(agentId: string, options: CallOptions = {}): Promise<SavedQuestions> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/saved-questions`, { ...options });
  }

  /** Replace the questions that are kept with an agent: `PUT /v1/agents/{agentId}/saved-questions`. */
  replaceSavedQuestions(
    agentId: string,
    body: SavedQuestionsUpdate,
    options: CallOptions = {},
  ): Promise<SavedQuestions> {
    return this.#transport.call("PUT", path`/v1/agents/${agentId}/saved-questions`, { body, ...options });
  }

  /** Generate an answer without a session: `POST /v1/agents/{agentId}/generate`. */
  generate(agentId: string, body: Generate & { stream: false }, options?: CallOptions): Promise<Turn>;
  generate(
    agentId: string,
    body: Generate & { stream?: true },
    options?: CallOptions,
  ): Promise<TurnStream<UIMessageChunk>>;
  generate(agentId: string, body: Generate, options?: CallOptions): Promise<Turn | TurnStream<UIMessageChunk>>;
  generate(agentId: string, body: Generate, options: CallOptions = {}): Promise<Turn | TurnStream<UIMessageChunk>> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/generate`, { body, ...options });
  }
}

/** Sessions, their turns and transcripts. */
class SessionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a session with its first turn: `POST /v1/agents/{agentId}/sessions`. */
  create(agentId: string, body: TurnCreate & { stream: false }, options?: CallOptions): Promise<Turn>;
  create(
    agentId: string,
    body: TurnCreate & { stream?: true },
    options?: CallOptions,
  ): Promise<TurnStream<UIMessageChunk>>;
  create(agentId: string, body: TurnCreate, options?: CallOptions): Promise<Turn | TurnStream<UIMessageChunk>>;
  create(
    agentId: string,
    body: TurnCreate = {},
    options: CallOptions = {},
  ): Promise<Turn | TurnStream<UIMessageChunk>> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/sessions`, { body, ...options });
  }

  /** List an agent's sessions: `GET /v1/agents/{agentId}/sessions`. */
  list(
    agentId: string,
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<SessionPage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions`, { query, ...options });
  }

  /** List an agent's sessions, row by row over all pages: `GET /v1/agents/{agentId}/sessions`. */
  listAll(
    agentId: string,
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Session> {
    return this.#transport.rows(path`/v1/agents/${agentId}/sessions`, "data", { query, ...options });
  }

  /** Resume a session with another turn: `POST /v1/agents/{agentId}/sessions/{sessionId}`. */
  resume(
    agentId: string,
    sessionId: string,
    body: TurnResume & { stream: false; message?: UserMessage },
    options?: CallOptions,
  ): Promise<Turn>;
  resume(
    agentId: string,
    sessionId: string,
    body: TurnResume & { stream?: true; message?: UserMessage },
    options?: CallOptions,
  ): Promise<TurnStream<UIMessageChunk>>;
  resume(
    agentId: string,
    sessionId: string,
    body: TurnResume,
    options?: CallOptions,
  ): Promise<Turn | TurnStream<UIMessageChunk> | SessionPause>;
  resume(
    agentId: string,
    sessionId: string,
    body: TurnResume = {},
    options: CallOptions = {},
  ): Promise<Turn | TurnStream<UIMessageChunk> | SessionPause> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/sessions/${sessionId}`, { body, ...options });
  }

  /** Read a session and the turns of it that have not ended: `GET /v1/agents/{agentId}/sessions/{sessionId}`. */
  get(agentId: string, sessionId: string, options: CallOptions = {}): Promise<SessionDetails> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions/${sessionId}`, { ...options });
  }

  /** Replace a session's metadata: `PATCH /v1/agents/{agentId}/sessions/{sessionId}`. */
  update(agentId: string, sessionId: string, body: SessionChange, options: CallOptions = {}): Promise<SessionDetails> {
    return this.#transport.call("PATCH", path`/v1/agents/${agentId}/sessions/${sessionId}`, { body, ...options });
  }

  /** Delete a session: `DELETE /v1/agents/{agentId}/sessions/{sessionId}`. */
  delete(
    agentId: string,
    sessionId: string,
    query: { deleteArtifacts: boolean },
    options: CallOptions = {},
  ): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}/sessions/${sessionId}`, { query, ...options });
  }

  /** Join the session's running turn: `GET /v1/agents/{agentId}/sessions/{sessionId}/stream`. */
  join(agentId: string, sessionId: string, options: CallOptions = {}): Promise<TurnStream<UIMessageChunk> | null> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions/${sessionId}/stream`, { ...options });
  }

  /** Cancel the session's running turn, and its line: `POST /v1/agents/{agentId}/sessions/{sessionId}/cancel`. */
  cancel(agentId: string, sessionId: string, body: TurnCancel = {}, options: CallOptions = {}): Promise<TurnCanceled> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/sessions/${sessionId}/cancel`, { body, ...options });
  }

  /** List the latest sessions of all agents: `GET /v1/sessions/latest`. */
  listLatest(
    query: { cursor?: string; limit?: number; userId?: string; byAgent?: boolean } = {},
    options: CallOptions = {},
  ): Promise<LatestSessionPage> {
    return this.#transport.call("GET", "/v1/sessions/latest", { query, ...options });
  }

  /** List the latest sessions of all agents, row by row over all pages: `GET /v1/sessions/latest`. */
  listLatestAll(
    query: { cursor?: string; limit?: number; userId?: string; byAgent?: boolean } = {},
    options: CallOptions = {},
  ): AsyncGenerator<LatestSession> {
    return this.#transport.rows("/v1/sessions/latest", "data", { query, ...options });
  }

  /** Read a session's messages: `GET /v1/agents/{agentId}/sessions/{sessionId}/messages`. */
  listMessages(
    agentId: string,
    sessionId: string,
    query: { cursor?: string; limit?: number; after?: string; pending?: boolean } = {},
    options: CallOptions = {},
  ): Promise<MessagePage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions/${sessionId}/messages`, {
      query,
      ...options,
    });
  }

  /** Read a session's messages, row by row over all pages: `GET /v1/agents/{agentId}/sessions/{sessionId}/messages`. */
  listMessagesAll(
    agentId: string,
    sessionId: string,
    query: { cursor?: string; limit?: number; after?: string; pending?: boolean } = {},
    options: CallOptions = {},
  ): AsyncGenerator<TranscriptMessage> {
    return this.#transport.rows(path`/v1/agents/${agentId}/sessions/${sessionId}/messages`, "data", {
      query,
      ...options,
    });
  }

  /** Make a session that begins with another one's transcript: `POST /v1/agents/{agentId}/sessions/{sessionId}/fork`. */
  fork(agentId: string, sessionId: string, body: SessionFork = {}, options: CallOptions = {}): Promise<Session> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/sessions/${sessionId}/fork`, { body, ...options });
  }
}

/** Turns of all agents, wherever they came from, and the steps of each. */
class TurnsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Run a failed or canceled turn of a session again: `POST /v1/turns/{turnId}/retry`. */
  retry(turnId: string, body: TurnRetry & { stream: false }, options?: CallOptions): Promise<Turn>;
  retry(
    turnId: string,
    body: TurnRetry & { stream?: true },
    options?: CallOptions,
  ): Promise<TurnStream<UIMessageChunk>>;
  retry(turnId: string, body: TurnRetry, options?: CallOptions): Promise<Turn | TurnStream<UIMessageChunk>>;
  retry(turnId: string, body: TurnRetry = {}, options: CallOptions = {}): Promise<Turn | TurnStream<UIMessageChunk>> {
    return this.#transport.call("POST", path`/v1/turns/${turnId}/retry`, { body, ...options });
  }

  /** List turns, newest first or longest first: `GET /v1/turns`. */
  list(
    query: {
      agentId?: string;
      sessionId?: string;
      userId?: string;
      status?: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
      kind?: "session" | "generate" | "task" | "chat";
      error?: string;
      sort?: "newest" | "longest";
      from?: string;
      to?: string;
      cursor?: string;
      limit?: number;
    } = {},
    options: CallOptions = {},
  ): Promise<TurnPage> {
    return this.#transport.call("GET", "/v1/turns", { query, ...options });
  }

  /** List turns, newest first or longest first, row by row over all pages: `GET /v1/turns`. */
  listAll(
    query: {
      agentId?: string;
      sessionId?: string;
      userId?: string;
      status?: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
      kind?: "session" | "generate" | "task" | "chat";
      error?: string;
      sort?: "newest" | "longest";
      from?: string;
      to?: string;
      cursor?: string;
      limit?: number;
    } = {},
    options: CallOptions = {},
  ): AsyncGenerator<TurnSummary> {
    return this.#transport.rows("/v1/turns", "data", { query, ...options });
  }

  /** Cancel all turns that match: `POST /v1/turns/cancel`. */
  cancel(body: TurnsCancel, options: CallOptions = {}): Promise<TurnCanceled> {
    return this.#transport.call("POST", "/v1/turns/cancel", { body, ...options });
  }

  /** Read a turn with its steps: `GET /v1/turns/{turnId}`. */
  get(turnId: string, options: CallOptions = {}): Promise<TurnDetails> {
    return this.#transport.call("GET", path`/v1/turns/${turnId}`, { ...options });
  }

  /** Read what a turn was asked: `GET /v1/turns/{turnId}/input`. */
  getInput(turnId: string, options: CallOptions = {}): Promise<TurnInput> {
    return this.#transport.call("GET", path`/v1/turns/${turnId}/input`, { ...options });
  }
}

/** Tool calls that wait for a person, and the continuations of their turns. */
class ToolApprovalsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List a session's tool approvals: `GET /v1/agents/{agentId}/sessions/{sessionId}/tool-approvals`. */
  list(agentId: string, sessionId: string, options: CallOptions = {}): Promise<ToolApprovals> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions/${sessionId}/tool-approvals`, {
      ...options,
    });
  }

  /** Approve or deny a tool call: `POST /v1/agents/{agentId}/sessions/{sessionId}/tool-approvals/{approvalId}`. */
  decide(
    agentId: string,
    sessionId: string,
    approvalId: string,
    body: ToolApprovalDecide,
    options: CallOptions = {},
  ): Promise<ToolApprovalDecided> {
    return this.#transport.call(
      "POST",
      path`/v1/agents/${agentId}/sessions/${sessionId}/tool-approvals/${approvalId}`,
      { body, ...options },
    );
  }

  /** Join the continuation of a turn that stopped to ask: `GET /v1/agents/{agentId}/sessions/{sessionId}/tool-approval-continuations/{continuationId}`. */
  joinContinuation(
    agentId: string,
    sessionId: string,
    continuationId: string,
    options: CallOptions = {},
  ): Promise<TurnStream<UIMessageChunk>> {
    return this.#transport.call(
      "GET",
      path`/v1/agents/${agentId}/sessions/${sessionId}/tool-approval-continuations/${continuationId}`,
      { ...options },
    );
  }
}

/** Calls of client tools, which the caller runs. */
class ToolCallsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List a session's calls of client tools: `GET /v1/agents/{agentId}/sessions/{sessionId}/tool-calls`. */
  list(agentId: string, sessionId: string, options: CallOptions = {}): Promise<ClientToolCalls> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/sessions/${sessionId}/tool-calls`, { ...options });
  }

  /** Give the result of a call of a client tool: `POST /v1/agents/{agentId}/sessions/{sessionId}/tool-calls/{toolCallId}`. */
  settle(
    agentId: string,
    sessionId: string,
    toolCallId: string,
    body: ClientToolResult = {},
    options: CallOptions = {},
  ): Promise<ClientToolCallSettled> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/sessions/${sessionId}/tool-calls/${toolCallId}`, {
      body,
      ...options,
    });
  }
}

/** Turns by the Open Responses protocol, which OpenAI's clients speak. */
class ResponsesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a response of an agent: `POST /v1/responses`. */
  create(body: ResponseCreate & { stream: false }, options?: CallOptions): Promise<Response>;
  create(body: ResponseCreate & { stream?: true }, options?: CallOptions): Promise<TurnStream<UIMessageChunk>>;
  create(body: ResponseCreate, options?: CallOptions): Promise<Response | TurnStream<UIMessageChunk>>;
  create(body: ResponseCreate, options: CallOptions = {}): Promise<Response | TurnStream<UIMessageChunk>> {
    return this.#transport.call("POST", "/v1/responses", { body, ...options });
  }

  /** Read a response: `GET /v1/responses/{responseId}`. */
  get(responseId: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.call("GET", path`/v1/responses/${responseId}`, { ...options });
  }

  /** Delete a response: `DELETE /v1/responses/{responseId}`. */
  delete(responseId: string, options: CallOptions = {}): Promise<ResponseDeleted> {
    return this.#transport.call("DELETE", path`/v1/responses/${responseId}`, { ...options });
  }

  /** Cancel a response: `POST /v1/responses/{responseId}/cancel`. */
  cancel(responseId: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.call("POST", path`/v1/responses/${responseId}/cancel`, { ...options });
  }
}

/** Agents as OpenAI's clients list models. */
class ModelsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List the agents as models: `GET /v1/models`. */
  list(options: CallOptions = {}): Promise<ModelList> {
    return this.#transport.call("GET", "/v1/models", { ...options });
  }

  /** Read an agent as a model: `GET /v1/models/{model}`. */
  get(model: string, options: CallOptions = {}): Promise<Model> {
    return this.#transport.call("GET", path`/v1/models/${model}`, { ...options });
  }
}

/** What an agent keeps from one session to the next. */
class MemoriesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a memory: `POST /v1/agents/{agentId}/memories`. */
  create(agentId: string, body: MemoryCreate, options: CallOptions = {}): Promise<Memory> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/memories`, { body, ...options });
  }

  /** List an agent's memories: `GET /v1/agents/{agentId}/memories`. */
  list(
    agentId: string,
    query: { cursor?: string; limit?: number; userId?: string; search?: string } = {},
    options: CallOptions = {},
  ): Promise<MemoryPage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/memories`, { query, ...options });
  }

  /** List an agent's memories, row by row over all pages: `GET /v1/agents/{agentId}/memories`. */
  listAll(
    agentId: string,
    query: { cursor?: string; limit?: number; userId?: string; search?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Memory> {
    return this.#transport.rows(path`/v1/agents/${agentId}/memories`, "data", { query, ...options });
  }

  /** Get a memory: `GET /v1/agents/{agentId}/memories/{memoryId}`. */
  get(agentId: string, memoryId: string, options: CallOptions = {}): Promise<Memory> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/memories/${memoryId}`, { ...options });
  }

  /** Update a memory's text: `PATCH /v1/agents/{agentId}/memories/{memoryId}`. */
  update(agentId: string, memoryId: string, body: MemoryUpdate, options: CallOptions = {}): Promise<Memory> {
    return this.#transport.call("PATCH", path`/v1/agents/${agentId}/memories/${memoryId}`, { body, ...options });
  }

  /** Delete a memory: `DELETE /v1/agents/{agentId}/memories/{memoryId}`. */
  delete(agentId: string, memoryId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}/memories/${memoryId}`, { ...options });
  }
}

/** Skills of one agent. */
class SkillsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List an agent's skills: `GET /v1/agents/{agentId}/skills`. */
  list(
    agentId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<SkillPage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/skills`, { query, ...options });
  }

  /** List an agent's skills, row by row over all pages: `GET /v1/agents/{agentId}/skills`. */
  listAll(
    agentId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<SkillSummary> {
    return this.#transport.rows(path`/v1/agents/${agentId}/skills`, "data", { query, ...options });
  }

  /** Create a skill from its SKILL.md: `POST /v1/agents/{agentId}/skills`. */
  create(agentId: string, body: SkillCreate, options: CallOptions = {}): Promise<Skill> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/skills`, { body, ...options });
  }

  /** Create a skill from an archive: `POST /v1/agents/{agentId}/skills/upload`. */
  upload(agentId: string, form: SkillUpload, options: CallOptions = {}): Promise<Skill> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/skills/upload`, { form, ...options });
  }

  /** Get a skill: `GET /v1/agents/{agentId}/skills/{skillId}`. */
  get(agentId: string, skillId: string, options: CallOptions = {}): Promise<Skill> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/skills/${skillId}`, { ...options });
  }

  /** Delete a skill: `DELETE /v1/agents/{agentId}/skills/{skillId}`. */
  delete(agentId: string, skillId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}/skills/${skillId}`, { ...options });
  }

  /** Read a file of a skill: `GET /v1/agents/{agentId}/skills/{skillId}/files`. */
  readFile(agentId: string, skillId: string, query: { path: string }, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/skills/${skillId}/files`, { query, ...options });
  }

  /** Create or replace a file of a skill: `PUT /v1/agents/{agentId}/skills/{skillId}/files`. */
  writeFile(
    agentId: string,
    skillId: string,
    content: Blob | Uint8Array<ArrayBuffer> | string,
    query: { path: string },
    options: CallOptions = {},
  ): Promise<Skill> {
    return this.#transport.call("PUT", path`/v1/agents/${agentId}/skills/${skillId}/files`, {
      content,
      query,
      ...options,
    });
  }

  /** Delete a file of a skill: `DELETE /v1/agents/{agentId}/skills/{skillId}/files`. */
  deleteFile(agentId: string, skillId: string, query: { path: string }, options: CallOptions = {}): Promise<Skill> {
    return this.#transport.call("DELETE", path`/v1/agents/${agentId}/skills/${skillId}/files`, { query, ...options });
  }

  /** Copy a skill to other agents: `POST /v1/agents/{agentId}/skills/{skillId}/copies`. */
  copy(agentId: string, skillId: string, body: SkillCopyCreate, options: CallOptions = {}): Promise<SkillCopyList> {
    return this.#transport.call("POST", path`/v1/agents/${agentId}/skills/${skillId}/copies`, { body, ...options });
  }
}

/** Skills of the tenant and of the platform. */
class SkillLibraryClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Add a skill to the library: `POST /v1/skills`. */
  create(form: LibrarySkillCreate, options: CallOptions = {}): Promise<LibrarySkill> {
    return this.#transport.call("POST", "/v1/skills", { form, ...options });
  }

  /** List the library: `GET /v1/skills`. */
  list(
    query: { filter?: "all" | "built-in" | "my"; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<LibrarySkillList> {
    return this.#transport.call("GET", "/v1/skills", { query, ...options });
  }

  /** Get a skill of the library: `GET /v1/skills/{skillId}`. */
  get(skillId: string, options: CallOptions = {}): Promise<LibrarySkill> {
    return this.#transport.call("GET", path`/v1/skills/${skillId}`, { ...options });
  }

  /** Replace a skill of the library, which stores its next version: `PUT /v1/skills/{skillId}`. */
  update(skillId: string, form: LibrarySkillUpdate, options: CallOptions = {}): Promise<LibrarySkill> {
    return this.#transport.call("PUT", path`/v1/skills/${skillId}`, { form, ...options });
  }

  /** Delete a skill of the library: `DELETE /v1/skills/{skillId}`. */
  delete(skillId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/skills/${skillId}`, { ...options });
  }
}

/** Places of files that agents work in. Form B only. */
class WorkspacesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a workspace: `POST /v1/workspaces`. */
  create(body: WorkspaceCreate = {}, options: CallOptions = {}): Promise<Workspace> {
    return this.#transport.call("POST", "/v1/workspaces", { body, ...options });
  }

  /** List workspaces: `GET /v1/workspaces`. */
  list(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<WorkspacePage> {
    return this.#transport.call("GET", "/v1/workspaces", { query, ...options });
  }

  /** List workspaces, row by row over all pages: `GET /v1/workspaces`. */
  listAll(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Workspace> {
    return this.#transport.rows("/v1/workspaces", "data", { query, ...options });
  }

  /** Get a workspace: `GET /v1/workspaces/{workspaceId}`. */
  get(workspaceId: string, options: CallOptions = {}): Promise<Workspace> {
    return this.#transport.call("GET", path`/v1/workspaces/${workspaceId}`, { ...options });
  }

  /** Update a workspace: `PATCH /v1/workspaces/{workspaceId}`. */
  update(workspaceId: string, body: WorkspaceUpdate, options: CallOptions = {}): Promise<Workspace> {
    return this.#transport.call("PATCH", path`/v1/workspaces/${workspaceId}`, { body, ...options });
  }

  /** Delete a workspace: `DELETE /v1/workspaces/{workspaceId}`. */
  delete(workspaceId: string, options: CallOptions = {}): Promise<WorkspaceDeleting | null> {
    return this.#transport.call("DELETE", path`/v1/workspaces/${workspaceId}`, { ...options });
  }

  /** List a workspace's files, or read one: `GET /v1/workspaces/{workspaceId}/files`. */
  getFiles(workspaceId: string, query: { path: string }, options?: CallOptions): Promise<Uint8Array>;
  getFiles(workspaceId: string, query?: Record<string, never>, options?: CallOptions): Promise<WorkspaceFileList>;
  getFiles(
    workspaceId: string,
    query: { path?: string } = {},
    options: CallOptions = {},
  ): Promise<WorkspaceFileList | Uint8Array> {
    return this.#transport.call("GET", path`/v1/workspaces/${workspaceId}/files`, { query, ...options });
  }

  /** Create or replace a workspace's file: `PUT /v1/workspaces/{workspaceId}/files`. */
  writeFile(
    workspaceId: string,
    content: Blob | Uint8Array<ArrayBuffer> | string,
    query: { path: string },
    options: CallOptions = {},
  ): Promise<WorkspaceFile> {
    return this.#transport.call("PUT", path`/v1/workspaces/${workspaceId}/files`, { content, query, ...options });
  }

  /** Delete a workspace's file: `DELETE /v1/workspaces/{workspaceId}/files`. */
  deleteFile(workspaceId: string, query: { path: string }, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/workspaces/${workspaceId}/files`, { query, ...options });
  }

  /** Run a command in a workspace: `POST /v1/workspaces/{workspaceId}/commands`. */
  runCommand(workspaceId: string, body: CommandCreate, options: CallOptions = {}): Promise<WorkspaceCommand> {
    return this.#transport.call("POST", path`/v1/workspaces/${workspaceId}/commands`, { body, ...options });
  }
}

/** Templates with variables, for the first message of a turn. */
class PromptsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a prompt: `POST /v1/prompts`. */
  create(body: PromptCreate, options: CallOptions = {}): Promise<Prompt> {
    return this.#transport.call("POST", "/v1/prompts", { body, ...options });
  }

  /** List prompts: `GET /v1/prompts`. */
  list(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<PromptList> {
    return this.#transport.call("GET", "/v1/prompts", { query, ...options });
  }

  /** List prompts, row by row over all pages: `GET /v1/prompts`. */
  listAll(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Prompt> {
    return this.#transport.rows("/v1/prompts", "prompts", { query, ...options });
  }

  /** Get a prompt: `GET /v1/prompts/{promptId}`. */
  get(promptId: string, options: CallOptions = {}): Promise<Prompt> {
    return this.#transport.call("GET", path`/v1/prompts/${promptId}`, { ...options });
  }

  /** Update a prompt: `PATCH /v1/prompts/{promptId}`. */
  update(promptId: string, body: PromptUpdate, options: CallOptions = {}): Promise<Prompt> {
    return this.#transport.call("PATCH", path`/v1/prompts/${promptId}`, { body, ...options });
  }

  /** Delete a prompt: `DELETE /v1/prompts/{promptId}`. */
  delete(promptId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/prompts/${promptId}`, { ...options });
  }
}

/** Model vendors, with the tenant's own credentials. */
class ProvidersClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List providers: `GET /v1/providers`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<ProviderList> {
    return this.#transport.call("GET", "/v1/providers", { query, ...options });
  }

  /** List providers, row by row over all pages: `GET /v1/providers`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<ProviderSummary> {
    return this.#transport.rows("/v1/providers", "providers", { query, ...options });
  }

  /** Create a provider: `POST /v1/providers`. */
  create(body: ProviderCreate, options: CallOptions = {}): Promise<Provider> {
    return this.#transport.call("POST", "/v1/providers", { body, ...options });
  }

  /** Read a provider: `GET /v1/providers/{id}`. */
  get(id: string, options: CallOptions = {}): Promise<Provider> {
    return this.#transport.call("GET", path`/v1/providers/${id}`, { ...options });
  }

  /** Rename a provider: `PATCH /v1/providers/{id}`. */
  update(id: string, body: ProviderUpdate, options: CallOptions = {}): Promise<Provider> {
    return this.#transport.call("PATCH", path`/v1/providers/${id}`, { body, ...options });
  }

  /** Delete a provider: `DELETE /v1/providers/{id}`. */
  delete(id: string, query: { confirmVersionInvalidation?: boolean } = {}, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/providers/${id}`, { query, ...options });
  }

  /** List a provider's models: `GET /v1/providers/{id}/models`. */
  listModels(id: string, options: CallOptions = {}): Promise<ProviderModelList> {
    return this.#transport.call("GET", path`/v1/providers/${id}/models`, { ...options });
  }

  /** List a model's thinking levels: `GET /v1/providers/{id}/thinking-levels`. */
  listThinkingLevels(id: string, query: { model: string }, options: CallOptions = {}): Promise<ThinkingLevels> {
    return this.#transport.call("GET", path`/v1/providers/${id}/thinking-levels`, { query, ...options });
  }
}

/** MCP servers whose tools agents may call. */
class McpConnectionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List MCP connections: `GET /v1/mcp-connections`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<McpConnectionList> {
    return this.#transport.call("GET", "/v1/mcp-connections", { query, ...options });
  }

  /** List MCP connections, row by row over all pages: `GET /v1/mcp-connections`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<McpConnection> {
    return this.#transport.rows("/v1/mcp-connections", "mcpConnections", { query, ...options });
  }

  /** Create an MCP connection: `POST /v1/mcp-connections`. */
  create(body: McpConnectionCreate, options: CallOptions = {}): Promise<McpConnectionCreated> {
    return this.#transport.call("POST", "/v1/mcp-connections", { body, ...options });
  }

  /** Read an MCP connection: `GET /v1/mcp-connections/{id}`. */
  get(id: string, options: CallOptions = {}): Promise<McpConnection> {
    return this.#transport.call("GET", path`/v1/mcp-connections/${id}`, { ...options });
  }

  /** Rename an MCP connection: `PATCH /v1/mcp-connections/{id}`. */
  update(id: string, body: McpConnectionUpdate, options: CallOptions = {}): Promise<McpConnection> {
    return this.#transport.call("PATCH", path`/v1/mcp-connections/${id}`, { body, ...options });
  }

  /** Delete an MCP connection: `DELETE /v1/mcp-connections/{id}`. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/mcp-connections/${id}`, { ...options });
  }

  /** Test an MCP connection: `POST /v1/mcp-connections/{id}/test`. */
  test(id: string, options: CallOptions = {}): Promise<McpConnectionTest> {
    return this.#transport.call("POST", path`/v1/mcp-connections/${id}/test`, { ...options });
  }

  /** Replace an MCP connection's URL and credentials: `POST /v1/mcp-connections/{id}/reconnect`. */
  reconnect(id: string, body: McpConnectionReconnect, options: CallOptions = {}): Promise<McpReconnected> {
    return this.#transport.call("POST", path`/v1/mcp-connections/${id}/reconnect`, { body, ...options });
  }

  /** Get a link to sign in to an MCP connection's server: `POST /v1/mcp-connections/{id}/connect`. */
  createSignInLink(id: string, options: CallOptions = {}): Promise<McpSignInLink> {
    return this.#transport.call("POST", path`/v1/mcp-connections/${id}/connect`, { ...options });
  }
}

/** Prompts that run by hand or on a schedule. */
class TasksClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List tasks: `GET /v1/tasks`. */
  list(
    query: { cursor?: string; limit?: number; agentId?: string; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<TaskPage> {
    return this.#transport.call("GET", "/v1/tasks", { query, ...options });
  }

  /** List tasks, row by row over all pages: `GET /v1/tasks`. */
  listAll(
    query: { cursor?: string; limit?: number; agentId?: string; userId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<TaskSummary> {
    return this.#transport.rows("/v1/tasks", "data", { query, ...options });
  }

  /** Create a task, and with `submit` start a run of it: `POST /v1/tasks`. */
  create(body: TaskCreate, options: CallOptions = {}): Promise<TaskCreated> {
    return this.#transport.call("POST", "/v1/tasks", { body, ...options });
  }

  /** Read a task: `GET /v1/tasks/{taskId}`. */
  get(taskId: string, options: CallOptions = {}): Promise<Task> {
    return this.#transport.call("GET", path`/v1/tasks/${taskId}`, { ...options });
  }

  /** Change a task: `PATCH /v1/tasks/{taskId}`. */
  update(taskId: string, body: TaskUpdate, options: CallOptions = {}): Promise<Task> {
    return this.#transport.call("PATCH", path`/v1/tasks/${taskId}`, { body, ...options });
  }

  /** Delete a task; its runs and their sessions stay: `DELETE /v1/tasks/{taskId}`. */
  delete(taskId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/tasks/${taskId}`, { ...options });
  }
}

/** Runs of a task, each a turn in a session of its own. */
class TaskRunsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List a task's runs: `GET /v1/tasks/{taskId}/runs`. */
  list(
    taskId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<TaskRunPage> {
    return this.#transport.call("GET", path`/v1/tasks/${taskId}/runs`, { query, ...options });
  }

  /** List a task's runs, row by row over all pages: `GET /v1/tasks/{taskId}/runs`. */
  listAll(
    taskId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<TaskRun> {
    return this.#transport.rows(path`/v1/tasks/${taskId}/runs`, "data", { query, ...options });
  }

  /** Start a run: `POST /v1/tasks/{taskId}/runs`. */
  start(taskId: string, body: TaskRunStart = {}, options: CallOptions = {}): Promise<TaskRunStarted> {
    return this.#transport.call("POST", path`/v1/tasks/${taskId}/runs`, { body, ...options });
  }

  /** Read a run: `GET /v1/tasks/{taskId}/runs/{runId}`. */
  get(taskId: string, runId: string, options: CallOptions = {}): Promise<TaskRun> {
    return this.#transport.call("GET", path`/v1/tasks/${taskId}/runs/${runId}`, { ...options });
  }

  /** Read a run's transcript and how far the run is: `GET /v1/tasks/{taskId}/runs/{runId}/messages`. */
  listMessages(
    taskId: string,
    runId: string,
    query: { cursor?: string; limit?: number; after?: string } = {},
    options: CallOptions = {},
  ): Promise<TaskRunMessages> {
    return this.#transport.call("GET", path`/v1/tasks/${taskId}/runs/${runId}/messages`, { query, ...options });
  }

  /** Read a run's transcript and how far the run is, row by row over all pages: `GET /v1/tasks/{taskId}/runs/{runId}/messages`. */
  listMessagesAll(
    taskId: string,
    runId: string,
    query: { cursor?: string; limit?: number; after?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<UIMessage> {
    return this.#transport.rows(path`/v1/tasks/${taskId}/runs/${runId}/messages`, "data", { query, ...options });
  }

  /** Cancel a run: `POST /v1/tasks/{taskId}/runs/{runId}/cancel`. */
  cancel(taskId: string, runId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("POST", path`/v1/tasks/${taskId}/runs/${runId}/cancel`, { ...options });
  }
}

/** Agents that are reached through a chat app. */
class ChatConnectionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List chat connections: `GET /v1/chat-connections`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<ChatConnectionList> {
    return this.#transport.call("GET", "/v1/chat-connections", { query, ...options });
  }

  /** List chat connections, row by row over all pages: `GET /v1/chat-connections`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<ChatConnection> {
    return this.#transport.rows("/v1/chat-connections", "chatConnections", { query, ...options });
  }

  /** Connect an agent to a chat app: `POST /v1/chat-connections`. */
  create(body: ChatConnectionCreate, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("POST", "/v1/chat-connections", { body, ...options });
  }

  /** Read a chat connection: `GET /v1/chat-connections/{id}`. */
  get(id: string, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("GET", path`/v1/chat-connections/${id}`, { ...options });
  }

  /** Change a chat connection's name or configuration: `PATCH /v1/chat-connections/{id}`. */
  update(id: string, body: ChatConnectionUpdate, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("PATCH", path`/v1/chat-connections/${id}`, { body, ...options });
  }

  /** Delete a chat connection: `DELETE /v1/chat-connections/{id}`. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/chat-connections/${id}`, { ...options });
  }

  /** Enable a chat connection: `POST /v1/chat-connections/{id}/enable`. */
  enable(id: string, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("POST", path`/v1/chat-connections/${id}/enable`, { ...options });
  }

  /** Disable a chat connection: `POST /v1/chat-connections/{id}/disable`. */
  disable(id: string, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("POST", path`/v1/chat-connections/${id}/disable`, { ...options });
  }

  /** Check a chat connection's health: `POST /v1/chat-connections/{id}/check`. */
  check(id: string, options: CallOptions = {}): Promise<ChatConnection> {
    return this.#transport.call("POST", path`/v1/chat-connections/${id}/check`, { ...options });
  }
}

/** Messages on their way to a chat app. */
class ChatDeliveriesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List a chat connection's deliveries: `GET /v1/chat-connections/{id}/deliveries`. */
  list(
    id: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<ChatDeliveryPage> {
    return this.#transport.call("GET", path`/v1/chat-connections/${id}/deliveries`, { query, ...options });
  }

  /** List a chat connection's deliveries, row by row over all pages: `GET /v1/chat-connections/{id}/deliveries`. */
  listAll(
    id: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<ChatDelivery> {
    return this.#transport.rows(path`/v1/chat-connections/${id}/deliveries`, "data", { query, ...options });
  }

  /** Post a failed or ambiguous delivery again: `POST /v1/chat-connections/{id}/deliveries/{deliveryId}/repair`. */
  repair(
    id: string,
    deliveryId: string,
    body: ChatDeliveryRepair,
    options: CallOptions = {},
  ): Promise<ChatDeliveryRepaired> {
    return this.#transport.call("POST", path`/v1/chat-connections/${id}/deliveries/${deliveryId}/repair`, {
      body,
      ...options,
    });
  }

  /** List the tenant's failed and ambiguous deliveries: `GET /v1/chat-deliveries`. */
  listUnresolved(
    query: { cursor?: string; limit?: number; status?: string; since?: string } = {},
    options: CallOptions = {},
  ): Promise<UnresolvedChatDeliveryPage> {
    return this.#transport.call("GET", "/v1/chat-deliveries", { query, ...options });
  }

  /** List the tenant's failed and ambiguous deliveries, row by row over all pages: `GET /v1/chat-deliveries`. */
  listUnresolvedAll(
    query: { cursor?: string; limit?: number; status?: string; since?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<UnresolvedChatDelivery> {
    return this.#transport.rows("/v1/chat-deliveries", "data", { query, ...options });
  }
}

/** Tokens, requests and time, summed by day, agent, model, session or user. */
class UsageClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Read the tenant's usage: `GET /v1/usage`. */
  get(
    query: {
      from?: string;
      to?: string;
      sessionId?: string;
      userId?: string;
      groupBy?: "day" | "agent" | "model" | "session" | "user";
      limit?: number;
      agentId?: string;
    } = {},
    options: CallOptions = {},
  ): Promise<Usage> {
    return this.#transport.call("GET", "/v1/usage", { query, ...options });
  }

  /** Read an agent's usage: `GET /v1/agents/{agentId}/usage`. */
  getByAgent(
    agentId: string,
    query: {
      from?: string;
      to?: string;
      sessionId?: string;
      userId?: string;
      groupBy?: "day" | "agent" | "model" | "session" | "user";
      limit?: number;
      agentId?: string;
    } = {},
    options: CallOptions = {},
  ): Promise<Usage> {
    return this.#transport.call("GET", path`/v1/agents/${agentId}/usage`, { query, ...options });
  }
}

/** How much a tenant, its users or its agents may use in a period. */
class BudgetsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List budgets, newest first: `GET /v1/budgets`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<BudgetPage> {
    return this.#transport.call("GET", "/v1/budgets", { query, ...options });
  }

  /** List budgets, newest first, row by row over all pages: `GET /v1/budgets`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<Budget> {
    return this.#transport.rows("/v1/budgets", "data", { query, ...options });
  }

  /** Create a budget: `POST /v1/budgets`. */
  create(body: BudgetCreate, options: CallOptions = {}): Promise<Budget> {
    return this.#transport.call("POST", "/v1/budgets", { body, ...options });
  }

  /** Read a budget: `GET /v1/budgets/{budgetId}`. */
  get(budgetId: string, options: CallOptions = {}): Promise<Budget> {
    return this.#transport.call("GET", path`/v1/budgets/${budgetId}`, { ...options });
  }

  /** Change a budget: `PATCH /v1/budgets/{budgetId}`. */
  update(budgetId: string, body: BudgetUpdate, options: CallOptions = {}): Promise<Budget> {
    return this.#transport.call("PATCH", path`/v1/budgets/${budgetId}`, { body, ...options });
  }

  /** Delete a budget: `DELETE /v1/budgets/{budgetId}`. */
  delete(budgetId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/budgets/${budgetId}`, { ...options });
  }

  /** Read what was used of a budget in the period that is now, largest first: `GET /v1/budgets/{budgetId}/spending`. */
  getSpending(
    budgetId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<BudgetSpendingPage> {
    return this.#transport.call("GET", path`/v1/budgets/${budgetId}/spending`, { query, ...options });
  }

  /** Read what was used of a budget in the period that is now, largest first, row by row over all pages: `GET /v1/budgets/{budgetId}/spending`. */
  getSpendingAll(
    budgetId: string,
    query: { cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<BudgetSpending> {
    return this.#transport.rows(path`/v1/budgets/${budgetId}/spending`, "data", { query, ...options });
  }
}

/** What model calls cost, where it is not as the catalogue says. */
class ModelPricesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Read your own prices of models: `GET /v1/model-prices`. */
  get(options: CallOptions = {}): Promise<ModelPrices> {
    return this.#transport.call("GET", "/v1/model-prices", { ...options });
  }

  /** Replace your own prices of models: `PUT /v1/model-prices`. */
  replace(body: ModelPricesUpdate, options: CallOptions = {}): Promise<ModelPrices> {
    return this.#transport.call("PUT", "/v1/model-prices", { body, ...options });
  }
}

/** The tenant's own billing provider. */
class MerchantConnectionClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Read the merchant connection: `GET /v1/merchant-connection`. */
  get(options: CallOptions = {}): Promise<CurrentMerchantConnection> {
    return this.#transport.call("GET", "/v1/merchant-connection", { ...options });
  }

  /** Connect a billing provider, in the place of the current connection: `POST /v1/merchant-connection`. */
  create(body: MerchantConnectionCreate, options: CallOptions = {}): Promise<SavedMerchantConnection> {
    return this.#transport.call("POST", "/v1/merchant-connection", { body, ...options });
  }

  /** Change the merchant connection's credential, status or guard: `PATCH /v1/merchant-connection`. */
  update(body: MerchantConnectionUpdate = {}, options: CallOptions = {}): Promise<SavedMerchantConnection> {
    return this.#transport.call("PATCH", "/v1/merchant-connection", { body, ...options });
  }

  /** Delete the merchant connection: `DELETE /v1/merchant-connection`. */
  delete(options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", "/v1/merchant-connection", { ...options });
  }
}

/** Which end user is which customer of the billing provider. */
class MerchantBindingsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List the bindings of end users to customers: `GET /v1/merchant-connection/bindings`. */
  list(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): Promise<MerchantBindingPage> {
    return this.#transport.call("GET", "/v1/merchant-connection/bindings", { query, ...options });
  }

  /** List the bindings of end users to customers, row by row over all pages: `GET /v1/merchant-connection/bindings`. */
  listAll(
    query: { cursor?: string; limit?: number; userId?: string } = {},
    options: CallOptions = {},
  ): AsyncGenerator<MerchantBinding> {
    return this.#transport.rows("/v1/merchant-connection/bindings", "bindings", { query, ...options });
  }

  /** Bind an end user to a customer: `PUT /v1/merchant-connection/bindings/{userId}`. */
  set(userId: string, body: MerchantBindingSet, options: CallOptions = {}): Promise<SavedMerchantBinding> {
    return this.#transport.call("PUT", path`/v1/merchant-connection/bindings/${userId}`, { body, ...options });
  }

  /** Delete a binding: `DELETE /v1/merchant-connection/bindings/{userId}`. */
  delete(userId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/merchant-connection/bindings/${userId}`, { ...options });
  }
}

/** Usage on its way to the billing provider. */
class MerchantEventsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List usage events, newest first: `GET /v1/merchant-usage-events`. */
  list(
    query: {
      cursor?: string;
      limit?: number;
      status?: "pending" | "accepted" | "failed" | "uncertain" | "unmapped" | "incomplete" | "discarded" | "expired";
    } = {},
    options: CallOptions = {},
  ): Promise<MerchantEventPage> {
    return this.#transport.call("GET", "/v1/merchant-usage-events", { query, ...options });
  }

  /** List usage events, newest first, row by row over all pages: `GET /v1/merchant-usage-events`. */
  listAll(
    query: {
      cursor?: string;
      limit?: number;
      status?: "pending" | "accepted" | "failed" | "uncertain" | "unmapped" | "incomplete" | "discarded" | "expired";
    } = {},
    options: CallOptions = {},
  ): AsyncGenerator<MerchantEvent> {
    return this.#transport.rows("/v1/merchant-usage-events", "events", { query, ...options });
  }

  /** Summarize the delivery of usage events: `GET /v1/merchant-usage-events/summary`. */
  summarize(query: { days?: number } = {}, options: CallOptions = {}): Promise<MerchantEventSummary> {
    return this.#transport.call("GET", "/v1/merchant-usage-events/summary", { query, ...options });
  }

  /** Send a failed or uncertain usage event again: `POST /v1/merchant-usage-events/{id}/retry`. */
  retry(id: string, options: CallOptions = {}): Promise<MerchantEvent> {
    return this.#transport.call("POST", path`/v1/merchant-usage-events/${id}/retry`, { ...options });
  }

  /** Send an unmapped usage event whose end user is bound by now: `POST /v1/merchant-usage-events/{id}/release`. */
  release(id: string, options: CallOptions = {}): Promise<MerchantEvent> {
    return this.#transport.call("POST", path`/v1/merchant-usage-events/${id}/release`, { ...options });
  }

  /** Discard a usage event: `POST /v1/merchant-usage-events/{id}/discard`. */
  discard(id: string, options: CallOptions = {}): Promise<MerchantEvent> {
    return this.#transport.call("POST", path`/v1/merchant-usage-events/${id}/discard`, { ...options });
  }
}

/** Addresses of the tenant that are told what happened. */
class WebhooksClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List webhooks, newest first: `GET /v1/webhooks`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<WebhookPage> {
    return this.#transport.call("GET", "/v1/webhooks", { query, ...options });
  }

  /** List webhooks, newest first, row by row over all pages: `GET /v1/webhooks`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<Webhook> {
    return this.#transport.rows("/v1/webhooks", "data", { query, ...options });
  }

  /** Create a webhook: `POST /v1/webhooks`. */
  create(body: WebhookCreate, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.call("POST", "/v1/webhooks", { body, ...options });
  }

  /** Read a webhook: `GET /v1/webhooks/{id}`. */
  get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call("GET", path`/v1/webhooks/${id}`, { ...options });
  }

  /** Change a webhook: `PATCH /v1/webhooks/{id}`. */
  update(id: string, body: WebhookUpdate, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call("PATCH", path`/v1/webhooks/${id}`, { body, ...options });
  }

  /** Delete a webhook with its deliveries: `DELETE /v1/webhooks/{id}`. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/webhooks/${id}`, { ...options });
  }

  /** Replace a webhook's secret: `POST /v1/webhooks/{id}/rotate-secret`. */
  rotateSecret(id: string, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.call("POST", path`/v1/webhooks/${id}/rotate-secret`, { ...options });
  }

  /** Send a test event to a webhook: `POST /v1/webhooks/{id}/test`. */
  test(id: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    return this.#transport.call("POST", path`/v1/webhooks/${id}/test`, { ...options });
  }
}

/** Events on their way to a webhook. */
class WebhookDeliveriesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List a webhook's deliveries, newest first: `GET /v1/webhooks/{id}/deliveries`. */
  list(
    id: string,
    query: { status?: "pending" | "succeeded" | "failed"; cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<WebhookDeliveryPage> {
    return this.#transport.call("GET", path`/v1/webhooks/${id}/deliveries`, { query, ...options });
  }

  /** List a webhook's deliveries, newest first, row by row over all pages: `GET /v1/webhooks/{id}/deliveries`. */
  listAll(
    id: string,
    query: { status?: "pending" | "succeeded" | "failed"; cursor?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<WebhookDelivery> {
    return this.#transport.rows(path`/v1/webhooks/${id}/deliveries`, "data", { query, ...options });
  }

  /** Send a delivery again: `POST /v1/webhooks/{id}/deliveries/{deliveryId}/retry`. */
  retry(id: string, deliveryId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    return this.#transport.call("POST", path`/v1/webhooks/${id}/deliveries/${deliveryId}/retry`, { ...options });
  }
}

/** Who did what. */
class AuditEventsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List who did what, newest first: `GET /v1/audit-events`. */
  list(
    query: {
      action?: string;
      actorId?: string;
      resourceId?: string;
      from?: string;
      to?: string;
      cursor?: string;
      limit?: number;
    } = {},
    options: CallOptions = {},
  ): Promise<AuditEventPage> {
    return this.#transport.call("GET", "/v1/audit-events", { query, ...options });
  }

  /** List who did what, newest first, row by row over all pages: `GET /v1/audit-events`. */
  listAll(
    query: {
      action?: string;
      actorId?: string;
      resourceId?: string;
      from?: string;
      to?: string;
      cursor?: string;
      limit?: number;
    } = {},
    options: CallOptions = {},
  ): AsyncGenerator<AuditEvent> {
    return this.#transport.rows("/v1/audit-events", "data", { query, ...options });
  }
}

/** Credentials of the tenant. */
class ApiKeysClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create an API key: `POST /v1/apikeys`. */
  create(body: ApiKeyCreate, options: CallOptions = {}): Promise<ApiKeyCreated> {
    return this.#transport.call("POST", "/v1/apikeys", { body, ...options });
  }

  /** List API keys: `GET /v1/apikeys`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<ApiKeyList> {
    return this.#transport.call("GET", "/v1/apikeys", { query, ...options });
  }

  /** List API keys, row by row over all pages: `GET /v1/apikeys`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<ApiKey> {
    return this.#transport.rows("/v1/apikeys", "apiKeys", { query, ...options });
  }

  /** Delete an API key: `DELETE /v1/apikeys/{id}`. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/apikeys/${id}`, { ...options });
  }
}

/** People who sign in to the console, and what each may do. */
class MembersClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** List members, newest first: `GET /v1/members`. */
  list(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): Promise<MemberPage> {
    return this.#transport.call("GET", "/v1/members", { query, ...options });
  }

  /** List members, newest first, row by row over all pages: `GET /v1/members`. */
  listAll(query: { cursor?: string; limit?: number } = {}, options: CallOptions = {}): AsyncGenerator<Member> {
    return this.#transport.rows("/v1/members", "data", { query, ...options });
  }

  /** Invite a member: `POST /v1/members`. */
  create(body: MemberCreate, options: CallOptions = {}): Promise<Member> {
    return this.#transport.call("POST", "/v1/members", { body, ...options });
  }

  /** Read a member: `GET /v1/members/{memberId}`. */
  get(memberId: string, options: CallOptions = {}): Promise<Member> {
    return this.#transport.call("GET", path`/v1/members/${memberId}`, { ...options });
  }

  /** Change a member's role: `PATCH /v1/members/{memberId}`. */
  update(memberId: string, body: MemberUpdate, options: CallOptions = {}): Promise<Member> {
    return this.#transport.call("PATCH", path`/v1/members/${memberId}`, { body, ...options });
  }

  /** Remove a member: `DELETE /v1/members/{memberId}`. */
  delete(memberId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/members/${memberId}`, { ...options });
  }
}

/** Credentials of pages without a back end, each for one end user of an agent. */
class ClientTokensClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a token for a page of one end user: `POST /v1/client-tokens`. */
  create(body: ClientTokenCreate, options: CallOptions = {}): Promise<ClientTokenCreated> {
    return this.#transport.call("POST", "/v1/client-tokens", { body, ...options });
  }

  /** Delete a client token: `DELETE /v1/client-tokens/{id}`. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call("DELETE", path`/v1/client-tokens/${id}`, { ...options });
  }
}

/** All operations of the interface, by noun. */
export class Nouns {
  readonly agents: AgentsClient;
  readonly sessions: SessionsClient;
  readonly turns: TurnsClient;
  readonly toolApprovals: ToolApprovalsClient;
  readonly toolCalls: ToolCallsClient;
  readonly responses: ResponsesClient;
  readonly models: ModelsClient;
  readonly memories: MemoriesClient;
  readonly skills: SkillsClient;
  readonly skillLibrary: SkillLibraryClient;
  readonly workspaces: WorkspacesClient;
  readonly prompts: PromptsClient;
  readonly providers: ProvidersClient;
  readonly mcpConnections: McpConnectionsClient;
  readonly tasks: TasksClient;
  readonly taskRuns: TaskRunsClient;
  readonly chatConnections: ChatConnectionsClient;
  readonly chatDeliveries: ChatDeliveriesClient;
  readonly usage: UsageClient;
  readonly budgets: BudgetsClient;
  readonly modelPrices: ModelPricesClient;
  readonly merchantConnection: MerchantConnectionClient;
  readonly merchantBindings: MerchantBindingsClient;
  readonly merchantEvents: MerchantEventsClient;
  readonly webhooks: WebhooksClient;
  readonly webhookDeliveries: WebhookDeliveriesClient;
  readonly auditEvents: AuditEventsClient;
  readonly apiKeys: ApiKeysClient;
  readonly members: MembersClient;
  readonly clientTokens: ClientTokensClient;

  constructor(transport: Transport) {
    this.agents = new AgentsClient(transport);
    this.sessions = new SessionsClient(transport);
    this.turns = new TurnsClient(transport);
    this.toolApprovals = new ToolApprovalsClient(transport);
    this.toolCalls = new ToolCallsClient(transport);
    this.responses = new ResponsesClient(transport);
    this.models = new ModelsClient(transport);
    this.memories = new MemoriesClient(transport);
    this.skills = new SkillsClient(transport);
    this.skillLibrary = new SkillLibraryClient(transport);
    this.workspaces = new WorkspacesClient(transport);
    this.prompts = new PromptsClient(transport);
    this.providers = new ProvidersClient(transport);
    this.mcpConnections = new McpConnectionsClient(transport);
    this.tasks = new TasksClient(transport);
    this.taskRuns = new TaskRunsClient(transport);
    this.chatConnections = new ChatConnectionsClient(transport);
    this.chatDeliveries = new ChatDeliveriesClient(transport);
    this.usage = new UsageClient(transport);
    this.budgets = new BudgetsClient(transport);
    this.modelPrices = new ModelPricesClient(transport);
    this.merchantConnection = new MerchantConnectionClient(transport);
    this.merchantBindings = new MerchantBindingsClient(transport);
    this.merchantEvents = new MerchantEventsClient(transport);
    this.webhooks = new WebhooksClient(transport);
    this.webhookDeliveries = new WebhookDeliveriesClient(transport);
    this.auditEvents = new AuditEventsClient(transport);
    this.apiKeys = new ApiKeysClient(transport);
    this.members = new MembersClient(transport);
    this.clientTokens = new ClientTokensClient(transport);
  }
}
