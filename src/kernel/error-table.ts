/**
 * The one table of what can go wrong, keyed by *cause*: the two forms of the
 * interface spell causes differently, and the mapping is not one to one
 * (docs/forms.md, "Errors").
 */

/** Status and code of a cause in one form. */
type Spelling = readonly [status: number, code: string];

/** How both forms spell a cause. */
export interface ErrorRow {
  /** Form B's spelling. */
  readonly b: Spelling;
  /** Form A's spelling; the same as B's where it is left out. */
  readonly a?: Spelling;
  readonly message: string;
  /** What form A says instead, where the message names a thing that form A calls by another name. */
  readonly messageInA?: string;
}

const invalidInA: Spelling = [400, "invalid_request"];
const internalInA: Spelling = [500, "internal"];

/** The rows, by cause. */
export const errorTable = {
  // 400: the request itself
  validation_failed: { b: [400, "validation_failed"], a: invalidInA, message: "The request is not valid." },
  invalid_request: { b: [400, "invalid_request"], message: "The request is not valid." },
  invalid_cursor: {
    b: [400, "invalid_cursor"],
    a: invalidInA,
    message: "The cursor is not one that this list gave out.",
  },
  usage_query_invalid: { b: [400, "invalid_request"], message: "The usage query is not valid." },
  provider_required: {
    b: [400, "provider_required"],
    a: [502, "provider_error"],
    message: "The agent has no provider and model to run on.",
  },
  prompt_variable_missing: {
    b: [400, "prompt_variable_missing"],
    a: invalidInA,
    message: "A variable of the prompt is missing.",
  },
  prompt_variable_unknown: {
    b: [400, "prompt_variable_unknown"],
    a: invalidInA,
    message: "The prompt has no such variable.",
  },
  model_not_found: { b: [400, "model_not_found"], a: invalidInA, message: "The provider does not offer this model." },
  agent_mcp_connection_not_found: {
    b: [400, "agent_mcp_connection_not_found"],
    a: invalidInA,
    message: "There is no such MCP connection.",
  },
  agent_mcp_connections_invalid: {
    b: [400, "agent_mcp_connections_invalid"],
    a: invalidInA,
    message: "The MCP connections are not valid.",
  },
  mcp_connection_discovery_failed: {
    b: [400, "mcp_connection_discovery_failed"],
    a: invalidInA,
    message: "The MCP server's tools could not be listed.",
  },
  mcp_connection_invalid: {
    b: [400, "mcp_connection_invalid"],
    a: invalidInA,
    message: "The MCP connection is not valid.",
  },
  sign_in_not_awaited: {
    b: [400, "mcp_connection_invalid"],
    a: internalInA,
    message: "The MCP connection does not wait for a sign-in.",
  },
  mcp_connection_authentication_failed: {
    b: [400, "mcp_connection_authentication_failed"],
    a: invalidInA,
    message: "The MCP server refused the credentials.",
  },
  mcp_connection_unreachable: {
    b: [400, "mcp_connection_unreachable"],
    a: invalidInA,
    message: "The MCP server cannot be reached.",
  },
  mcp_connection_limit_reached: {
    b: [400, "mcp_connection_limit_reached"],
    a: invalidInA,
    message: "The tenant has as many MCP connections as it may have.",
  },
  webhook_limit_reached: {
    b: [400, "webhook_limit_reached"],
    a: invalidInA,
    message: "The tenant has as many webhooks as it may have.",
  },
  member_limit_reached: {
    b: [400, "member_limit_reached"],
    a: invalidInA,
    message: "The tenant has as many members as it may have.",
  },
  budget_limit_reached: {
    b: [400, "budget_limit_reached"],
    a: invalidInA,
    message: "The tenant has as many budgets as it may have.",
  },
  provider_limit_reached: {
    b: [400, "provider_limit_reached"],
    a: invalidInA,
    message: "The tenant has as many providers as it may have.",
  },
  skill_invalid_markdown: { b: [400, "skill_invalid_markdown"], a: invalidInA, message: "SKILL.md is not valid." },
  skill_invalid_archive: { b: [400, "skill_invalid_archive"], a: invalidInA, message: "The archive is not valid." },
  skill_too_many_files: {
    b: [400, "skill_too_many_files"],
    a: invalidInA,
    message: "The skill would have too many files.",
  },
  skill_limit_reached: {
    b: [400, "skill_limit_reached"],
    a: invalidInA,
    message: "The agent has as many skills as it may have.",
  },
  // 401 to 403: who asks
  unauthorized: {
    b: [401, "unauthorized"],
    message: "The credential is missing or not valid. Send an API key as `Authorization: Bearer …`.",
  },
  subscription_required: { b: [402, "subscription_required"], message: "The tenant's subscription is not active." },
  usage_credit_required: { b: [402, "usage_credit_required"], message: "The tenant's usage credit is spent." },
  turn_limit_reached: { b: [409, "turn_limit_reached"], message: "The turn reached a limit of its agent." },
  merchant_subscription_required: {
    b: [402, "merchant_subscription_required"],
    message: "The end user has no active subscription.",
  },
  merchant_balance_required: { b: [402, "merchant_balance_required"], message: "The end user's balance is spent." },
  merchant_customer_unmapped: {
    b: [403, "merchant_customer_unmapped"],
    message: "The end user is not bound to a customer.",
  },
  forbidden: { b: [403, "forbidden"], message: "The credential may not do this." },
  dashboard_required: { b: [403, "invalid_request"], message: "This operation takes a dashboard sign-in only." },
  client_token_refused: {
    b: [403, "invalid_request"],
    message: "A client token is not good for this operation; it takes an API key or a dashboard sign-in.",
  },
  sign_in_refused: { b: [403, "sign_in_refused"], message: "The identity provider's account has no access here." },
  platform_skill_read_only: { b: [403, "invalid_request"], message: "Platform skills are read-only." },
  foreign_request: {
    b: [403, "foreign_request"],
    message: "The request does not come from a page of this console, or lacks its X-CSRF-Token.",
  },
  // 404: what is asked for (another tenant's resource gets the same errors)
  not_found: { b: [404, "not_found"], message: "There is no such resource." },
  sign_in_missing: { b: [404, "not_found"], a: internalInA, message: "There is no such MCP connection." },
  provider_not_found: { b: [404, "provider_not_found"], message: "There is no such provider." },
  provider_missing_for_agent: { b: [404, "provider_not_found"], a: invalidInA, message: "There is no such provider." },
  provider_missing_for_turn: {
    b: [404, "provider_not_found"],
    a: [404, "not_found"],
    message: "The agent's provider does not exist any more.",
  },
  workspace_not_found: {
    b: [404, "workspace_not_found"],
    a: [404, "SANDBOX_NOT_FOUND"],
    message: "There is no such workspace.",
    messageInA: "There is no such sandbox.",
  },
  workspace_missing_for_agent: {
    b: [404, "workspace_not_found"],
    a: invalidInA,
    message: "There is no such workspace.",
    messageInA: "There is no such sandbox.",
  },
  version_missing: {
    b: [404, "not_found"],
    a: [404, "AGENT_VERSION_NOT_FOUND"],
    message: "The agent has no such version.",
  },
  version_missing_for_run: {
    b: [404, "agent_version_not_found"],
    a: [404, "AGENT_VERSION_NOT_FOUND"],
    message: "The agent has no such version.",
  },
  message_not_found: {
    b: [404, "message_not_found"],
    a: [404, "not_found"],
    message: "The session has no such message.",
  },
  fork_message_not_found: { b: [404, "message_not_found"], message: "The session has no such message." },
  skill_not_found: { b: [404, "skill_not_found"], a: [404, "not_found"], message: "There is no such skill." },
  merchant_connection_not_found: {
    b: [404, "merchant_connection_not_found"],
    message: "The tenant has no merchant connection.",
  },
  merchant_binding_not_found: { b: [404, "merchant_binding_not_found"], message: "There is no such binding." },
  method_not_allowed: { b: [405, "method_not_allowed"], message: "This path does not take this method." },
  // 409: the state of things
  agent_disabled: { b: [409, "agent_disabled"], a: [409, "AGENT_DISABLED"], message: "The agent is disabled." },
  session_busy: {
    b: [409, "session_busy"],
    a: [409, "SESSION_BUSY"],
    message: "A turn of this session is running or waits for an approval or for the result of a tool.",
  },
  session_idle: { b: [409, "session_idle"], message: "No turn of this session is running." },
  turn_not_failed: {
    b: [409, "turn_not_failed"],
    message: "Only a turn of a session that failed or was canceled is run again.",
  },
  turn_canceled: { b: [409, "turn_canceled"], message: "The turn was canceled." },
  tenant_deleting: { b: [409, "tenant_deleting"], message: "The tenant is being deleted." },
  agent_name_conflict: { b: [409, "agent_name_conflict"], a: invalidInA, message: "Another agent has this name." },
  admin_agent_managed: {
    b: [409, "admin_agent_managed"],
    a: [409, "ADMIN_AGENT_MANAGED"],
    message: "The platform manages this agent; only its thinking level, provider and model may be changed.",
  },
  sandbox_required: {
    b: [400, "validation_failed"],
    a: [409, "SANDBOX_REQUIRED"],
    message: "The tool group needs a workspace.",
    messageInA: "The tool group needs a sandbox.",
  },
  sandbox_required_for_turn: {
    b: [404, "workspace_not_found"],
    a: [409, "SANDBOX_REQUIRED"],
    message: "The agent's tools need a workspace and it has none.",
    messageInA: "The agent's tools need a sandbox and it has none.",
  },
  workspace_in_use: {
    b: [409, "workspace_in_use"],
    a: [409, "SANDBOX_IN_USE"],
    message: "The workspace is attached to an agent.",
    messageInA: "The sandbox is attached to an agent.",
  },
  workspace_delete_conflict: {
    b: [409, "workspace_delete_conflict"],
    a: [409, "SANDBOX_DELETE_CONFLICT"],
    message: "The workspace is being deleted.",
    messageInA: "The sandbox is being deleted.",
  },
  skill_name_conflict: {
    b: [409, "skill_name_conflict"],
    a: invalidInA,
    message: "Another skill of this agent has this name.",
  },
  approval_decided: {
    b: [409, "approval_decided"],
    a: [409, "invalid_request"],
    message: "The approval is decided already.",
  },
  tool_call_settled: {
    b: [409, "tool_call_settled"],
    message: "The tool call has its result already, or nobody waits for one any more.",
  },
  provider_name_conflict: { b: [409, "provider_name_conflict"], message: "Another provider has this name." },
  provider_in_use: { b: [409, "provider_in_use"], message: "Agents use this provider." },
  provider_historical_use: {
    b: [409, "provider_historical_use"],
    message: "Older versions, pinned sessions or tasks use this provider.",
  },
  mcp_connection_name_conflict: {
    b: [409, "mcp_connection_name_conflict"],
    a: [409, "invalid_request"],
    message: "Another MCP connection has this name.",
  },
  mcp_connection_in_use: {
    b: [409, "mcp_connection_in_use"],
    a: [409, "invalid_request"],
    message: "The MCP connection is attached to an agent.",
  },
  mcp_connection_stale_credential_version: {
    b: [409, "mcp_connection_stale_credential_version"],
    message: "The connection was changed meanwhile.",
  },
  task_active_run_exists: { b: [409, "task_active_run_exists"], message: "A run of this task is queued or running." },
  merchant_account_mismatch: {
    b: [409, "merchant_account_mismatch"],
    message: "The credential belongs to another merchant account.",
  },
  member_exists: { b: [409, "member_exists"], message: "The tenant has a member of this address already." },
  last_admin: {
    b: [409, "last_admin"],
    message: "The tenant would have no admin among its members. Make another member an admin first.",
  },
  webhook_disabled: {
    b: [409, "webhook_disabled"],
    message: "The webhook is disabled. Enable it first.",
  },
  merchant_event_state: { b: [409, "merchant_event_state"], message: "The event's status does not allow this." },
  job_state: { b: [409, "job_state"], message: "The job's state does not allow this." },
  idempotency_in_progress: {
    b: [409, "idempotency_in_progress"],
    message: "A request with this Idempotency-Key is under way.",
  },
  // 413 to 429: size, meaning and pace
  payload_too_large: { b: [413, "payload_too_large"], message: "The body is too large." },
  content_encoding_unsupported: {
    b: [415, "unsupported_media_type"],
    a: [415, "invalid_request"],
    message: "The body must be sent as it is, without Content-Encoding.",
  },
  skill_uncompressed_too_large: {
    b: [413, "skill_uncompressed_too_large"],
    a: [413, "invalid_request"],
    message: "The skill is too large.",
  },
  avatar_missing: { b: [400, "invalid_request"], message: "The form has no file named `file`." },
  avatar_too_large: { b: [413, "invalid_request"], message: "The picture is larger than 512 KiB." },
  avatar_media_type: { b: [415, "invalid_request"], message: "The picture must be PNG, JPEG or WebP." },
  idempotency_key_reused: {
    b: [422, "idempotency_key_reused"],
    message: "This Idempotency-Key was used for another request.",
  },
  model_discovery_unsupported: {
    b: [422, "model_discovery_unsupported"],
    message: "This provider type cannot list its models.",
  },
  merchant_credential_invalid: {
    b: [422, "merchant_credential_invalid"],
    message: "The billing provider refused the credential.",
  },
  merchant_customer_not_found: {
    b: [422, "merchant_customer_not_found"],
    message: "The billing provider knows no such customer.",
  },
  budget_exceeded: { b: [429, "budget_exceeded"], message: "A budget is used up." },
  quota_exceeded: {
    b: [429, "quota_exceeded"],
    message: "The tenant's turns of this day are used up, or it stores as much as it may.",
  },
  too_many_turns: { b: [429, "too_many_turns"], message: "Too many turns of the tenant wait to run." },
  rate_limited: { b: [429, "rate_limited"], message: "Too many requests." },
  // 5xx: others and us
  internal: { b: [500, "internal"], message: "Something went wrong on our side." },
  provider_error: { b: [502, "provider_error"], message: "The model provider failed." },
  service_unavailable: { b: [503, "service_unavailable"], message: "The service cannot answer right now." },
  model_validation_unavailable: {
    b: [503, "model_validation_unavailable"],
    message: "The provider's models cannot be listed right now.",
  },
  merchant_eligibility_unavailable: {
    b: [503, "merchant_eligibility_unavailable"],
    message: "The end user's plan cannot be checked right now.",
  },
  merchant_provider_unavailable: {
    b: [503, "merchant_provider_unavailable"],
    message: "The billing provider cannot be reached.",
  },
} as const satisfies Record<string, ErrorRow>;
