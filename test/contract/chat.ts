import { type Contract, cap, characters, number, pageLimit } from "./contract.ts";

const connection = { id: ["cc", "404 not_found"] } as const;
const cursor = "400 invalid_cursor | 400 invalid_request";
const move = { success: [200], shape: "ChatConnection", ids: connection, key: "response", errors: [] } as const;

/** Chat connections and their deliveries: docs/decisions/chat.md. */
export const chat: readonly Contract[] = [
  {
    op: "GET /v1/chat-connections",
    success: [200],
    shape: "ChatConnectionList",
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/chat-connections",
    success: [201],
    shape: "ChatConnection",
    body: "json",
    required: ["name", "agentId", "platform", "credentials"],
    key: "response",
    errors: ["400 invalid_request", "404 not_found"],
    limits: [characters("/name", 1, 80), cap("chat connections per tenant", 20, "400 invalid_request")],
  },
  { op: "GET /v1/chat-connections/:id", success: [200], shape: "ChatConnection", ids: connection, errors: [] },
  {
    op: "PATCH /v1/chat-connections/:id",
    success: [200],
    shape: "ChatConnection",
    ids: connection,
    body: "json",
    errors: ["400 invalid_request"],
    limits: [
      characters("/name", 1, 80),
      { field: "/configuration/channelIds", unit: "items", max: 100 },
      { field: "/configuration/approverIds", unit: "items", max: 100 },
    ],
  },
  { op: "DELETE /v1/chat-connections/:id", success: [204], shape: null, ids: connection, errors: [] },
  { op: "POST /v1/chat-connections/:id/enable", ...move },
  { op: "POST /v1/chat-connections/:id/disable", ...move },
  { op: "POST /v1/chat-connections/:id/check", ...move },
  {
    op: "GET /v1/chat-connections/:id/deliveries",
    success: [200],
    shape: "DeliveryPage",
    ids: connection,
    errors: [cursor],
    limits: [pageLimit(100)],
  },
  {
    op: "POST /v1/chat-connections/:id/deliveries/:deliveryId/repair",
    success: [200],
    shape: "DeliveryRepaired",
    ids: { ...connection, deliveryId: ["cd", "404 not_found"] },
    body: "json",
    required: ["expectedAttempt", "previousSenderStopped", "acceptDuplicateRisk"],
    key: "response",
    errors: ["400 invalid_request"],
    limits: [number("/expectedAttempt", 0, 99)],
  },
  {
    op: "GET /v1/chat-deliveries",
    success: [200],
    shape: "AttentionPage",
    errors: [cursor],
    limits: [pageLimit(100)],
  },
];
