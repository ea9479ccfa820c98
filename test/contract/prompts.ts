import { type Contract, cap, characters, metadata, pageLimit, userId } from "./contract.ts";

const prompt = { promptId: ["prompt", "404 not_found"] } as const;
const invalid = "400 validation_failed | 400 invalid_request";
const fields = [
  characters("/name", 1, 80),
  characters("/template", 1, 10_240),
  cap("variables per prompt", 10, invalid),
  metadata,
];

/** Prompts: docs/decisions/prompts.md. */
export const prompts: readonly Contract[] = [
  {
    op: "POST /v1/prompts",
    stores: true,
    success: [201],
    shape: "Prompt",
    body: "json",
    required: ["name", "template"],
    key: "response",
    errors: ["400 invalid_request"],
    limits: [
      ...fields,
      userId,
      cap("prompts per tenant", 100, "400 invalid_request"),
      cap("levels of JSON", 64, invalid),
    ],
  },
  {
    op: "GET /v1/prompts",
    success: [200],
    shape: "PromptList",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  { op: "GET /v1/prompts/:promptId", success: [200], shape: "Prompt", ids: prompt, errors: [] },
  {
    op: "PATCH /v1/prompts/:promptId",
    stores: true,
    success: [200],
    shape: "Prompt",
    ids: prompt,
    body: "json",
    errors: ["400 invalid_request"],
    limits: fields,
  },
  { op: "DELETE /v1/prompts/:promptId", success: [204], shape: null, ids: prompt, errors: [] },
];
