import { type Contract, cap, type Limit, pageLimit, userId } from "./contract.ts";

const agent = { agentId: ["ag", "404 not_found"] } as const;
const memory = { ...agent, memoryId: ["mem", "404 not_found"] } as const;
const text: Limit = { field: "/text", unit: "bytes", min: 1, max: 10 * 1024 };

/** Memories of an agent: docs/decisions/memories.md. */
export const memories: readonly Contract[] = [
  {
    op: "POST /v1/agents/:agentId/memories",
    stores: true,
    success: [201],
    shape: "Memory",
    ids: agent,
    body: "json",
    required: ["text"],
    key: "response",
    errors: [],
    limits: [text, userId, cap("memories per agent", 500, "201 evicts")],
  },
  {
    op: "GET /v1/agents/:agentId/memories",
    success: [200],
    shape: "MemoryPage",
    ids: { agentId: ["ag", null] },
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(100)],
  },
  { op: "GET /v1/agents/:agentId/memories/:memoryId", success: [200], shape: "Memory", ids: memory, errors: [] },
  {
    op: "PATCH /v1/agents/:agentId/memories/:memoryId",
    stores: true,
    success: [200],
    shape: "Memory",
    ids: memory,
    body: "json",
    required: ["text"],
    errors: [],
    limits: [text],
  },
  { op: "DELETE /v1/agents/:agentId/memories/:memoryId", success: [204], shape: null, ids: memory, errors: [] },
];
