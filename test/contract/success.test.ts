import { afterAll, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import type { Caller } from "./caller.ts";
import { callOf, variants } from "./calls.ts";
import { formsOf } from "./contract.ts";
import { dereference } from "./dereference.ts";
import { invalidValues } from "./invalid-values.ts";
import { Scene } from "./scene.ts";
import { schemaOf } from "./shapes.ts";
import { contractOf, operations } from "./table.ts";
import { send, useWorld } from "./world.ts";

interface DescribedResponse {
  readonly headers?: Record<string, object>;
  readonly content?: Record<string, { schema?: object }>;
}
interface Described {
  readonly responses: Record<string, DescribedResponse>;
}

const seen = new Set<string>();
const w = await useWorld();
let s = await Scene.open(w);
const documented: Record<string, Record<string, Described>> = dereference(
  (await s.t.call("GET", "/openapi.json", { token: null })).body,
).paths;
afterAll(() => {
  const all = operations.flatMap((contract) => formsOf(contract).map((form) => `${contract.op} ${form}`));
  process.stdout.write(`contract: ${seen.size} of ${all.length} operations (each form counted) respond as described\n`);
});

/** What the service's own document says of a response. */
function documentedResponse(op: string, status: number): DescribedResponse {
  const [method = "", path = ""] = op.split(" ");
  const operation = documented[path.replace(/:([A-Za-z]+)/g, "{$1}")]?.[method.toLowerCase()];
  return operation?.responses[String(status)] ?? {};
}

/** The headers that only some responses have, and that the document names where they come. */
const ownHeaders = ["Location", "X-Turn-Id", "Retry-After"];

/** Compares a response with the OpenAPI document as well: its headers, its media type, and its body where that is JSON. */
function expectDocumented(op: string, form: Form, { status, headers, body }: ApiResponse): void {
  const { headers: named = {}, content = {} } = documentedResponse(op, status);
  expect([op, ownHeaders.filter((name) => headers.has(name))]).toEqual([op, Object.keys(named)]);
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  expect([op, type === "" ? [] : Object.keys(content)]).toEqual([
    op,
    type === "" ? [] : expect.arrayContaining([type]),
  ]);
  if (type !== "application/json") return;
  const inA = form === "a" ? content["application/json; form=a"] : undefined;
  const { schema } = inA ?? content[type] ?? {};
  expect(schema).toBeDefined();
  expect(invalidValues(`${op} ${status} ${inA === undefined ? "" : "a"}`, () => schema ?? {}, body)).toEqual([]);
}

function expectShape(shape: string | null, form: Form, response: ApiResponse): void {
  const type = response.headers.get("content-type") ?? "";
  if (shape === null) {
    expect([response.status, response.body]).toEqual([204, null]);
  } else if (shape === "stream" || shape === "events") {
    expect(type).toStartWith("text/event-stream");
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe(shape === "stream" ? "v1" : null);
    expect(String(response.body)).toEndWith("data: [DONE]\n\n");
  } else if (shape === "bytes") {
    expect(type).toBe("application/octet-stream");
  } else {
    expect(type).toStartWith("application/json");
    expect(invalidValues(`${shape} ${form}`, () => schemaOf(shape, form), response.body)).toEqual([]);
  }
}

/** Operations on turns, which leave no audit event. */
const ofTurns =
  /\/sessions(\/:sessionId(\/cancel|\/tool-calls\/:toolCallId)?)?$|\/responses(\/:responseId\/cancel)?$|\/generate$|\/v1\/turns\/(cancel|:turnId\/retry)$|\/runs(\/:runId\/cancel)?$/;

/** Expects what the operation left in the audit events under its request: one for each that changes something. */
async function expectAudited(op: string, { headers, body }: ApiResponse): Promise<void> {
  const events = await w.h.sql`
    select action, resource_id from audit_events where request_id = ${headers.get("x-request-id")}`;
  // Of copies to several agents some may fail, and each that is made is an event.
  const copies = op.endsWith("/copies")
    ? body.filter(({ status }: { status: string }) => status === "created").length
    : 1;
  const changes = !op.startsWith("GET ") && !(op.startsWith("POST ") && ofTurns.test(op));
  const action = expect.stringMatching(/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/);
  expect({ op, events: [...events] as object[] }).toEqual({
    op,
    events: changes ? Array(copies).fill({ action, resourceId: expect.any(String) }) : [],
  });
}

async function expectSuccess(
  op: string,
  form: Form,
  { status, shape, call }: { status: number; shape: string | null; call: Caller },
): Promise<void> {
  const response = await send(s.t, op, form, await call(s, form));
  expect([response.status, response.status >= 400 ? response.body : null]).toEqual([status, null]);
  await expectAudited(op, response);
  expectShape(shape, form, response);
  expectDocumented(op, form, response);
  expect([response.headers.get("api-form"), response.headers.get("x-request-id")]).toEqual([form, expect.any(String)]);
}

describe("each operation succeeds", () => {
  for (const contract of operations)
    for (const form of formsOf(contract)) {
      const { op, shape } = contract;
      const [status = 0] = contract.success;
      test(`${op} ${status} in form ${form}`, async () => {
        await expectSuccess(op, form, { status, shape, call: (scene) => callOf(scene, op, form) });
        seen.add(`${op} ${form}`);
      });
    }
});

describe("and in its other ways", () => {
  for (const variant of variants)
    for (const form of formsOf(contractOf(variant.op)))
      test(`${variant.op} ${variant.status} ${variant.shape ?? ""} in form ${form}`, async () => {
        expect(contractOf(variant.op).success).toContain(variant.status);
        if (variant.op === "GET /v1/merchant-connection") s = await Scene.open(w);
        await expectSuccess(variant.op, form, variant);
      });
});
