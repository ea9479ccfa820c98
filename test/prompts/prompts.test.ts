import { describe, expect, test } from "bun:test";
import { ApiError } from "../../src/kernel/errors.ts";
import { renderPrompt } from "../../src/prompts/render.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant();

const missingId = `prompt_${"0".repeat(24)}`;
const emoji = "😀";

let made = 0;
/** A body that is valid, with a name of its own. */
function body(fields: Record<string, unknown> = {}): Record<string, unknown> {
  made += 1;
  return { name: `prompt ${made}`, template: "Hello", ...fields };
}

async function create(tenant: TestTenant, fields: Record<string, unknown> = {}) {
  const response = await tenant.call("POST", "/v1/prompts", { body: body(fields) });
  expect(response.status).toBe(201);
  return response.body;
}

function paths({ body: { error } }: ApiResponse): string[] {
  return error.details.issues.map((issue: { path: string }) => issue.path).sort();
}

function templateOf(variables: number): string {
  return Array.from({ length: variables }, (_, index) => `{{v${index}}}`).join(" ");
}

describe("POST /v1/prompts", () => {
  test("201: defaults, the same in both forms", async () => {
    for (const form of ["a", "b"] as const) {
      const response = await t.call("POST", "/v1/prompts", {
        body: { name: `greet ${form}`, template: "Hi {{name}}" },
        form,
      });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        id: expect.stringMatching(/^prompt_[0-9a-z]{24}$/),
        tenantId: t.id,
        name: `greet ${form}`,
        template: "Hi {{name}}",
        variables: ["name"],
        userId: "",
        metadata: {},
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updatedAt: response.body.createdAt,
      });
      const read = await t.call("GET", `/v1/prompts/${response.body.id}`, { form: form === "a" ? "b" : "a" });
      expect(read.body).toEqual(response.body);
    }
  });

  test("201: variables in order of first appearance; what is not exactly a name is plain text", async () => {
    const template =
      "{{b}} {{a}} {{b}} {{_x1}} {{ b }} {{}} {{1a}} {{a-b}} {{é}} {{b} {b}} {{constructor}} {{__proto__}}\r\n";
    const prompt = await create(t, { template });
    expect(prompt.template).toBe(template);
    expect(prompt.variables).toEqual(["b", "a", "_x1", "constructor", "__proto__"]);
  });

  test("201 at each limit and 400 beyond it, counted in characters and not in UTF-16 units", async () => {
    const limits: [string, string, string][] = [
      ["name", emoji.repeat(80), emoji.repeat(81)],
      ["name", "n", ""],
      ["template", emoji.repeat(10_240), emoji.repeat(10_241)],
      ["template", "t", ""],
      ["template", "{{x}}", " "],
      ["template", "\u00a0.", "\u00a0\u3164\n"],
      ["template", templateOf(10) + templateOf(10), templateOf(11)],
      ["userId", emoji.repeat(256), emoji.repeat(257)],
    ];
    for (const [field, good, bad] of limits) {
      const kept = await create(t, { [field]: good });
      expect(kept[field]).toBe(good);
      for (const [form, code] of [
        ["a", "invalid_request"],
        ["b", "validation_failed"],
      ] as const) {
        const refused = await t.call("POST", "/v1/prompts", { body: body({ [field]: bad }), form });
        expect(statusAndCode(refused)).toEqual([400, code]);
        expect(paths(refused)).toEqual([`/${field}`]);
      }
    }
  });

  test("400 validation_failed (A: invalid_request): missing, unknown and mistyped fields, each named", async () => {
    const broken: [Record<string, unknown>, string[]][] = [
      [{}, ["/name", "/template"]],
      [{ ...body(), variables: ["a"] }, ["/variables"]],
      [{ ...body(), id: missingId }, ["/id"]],
      [{ name: 1, template: null, userId: null, metadata: [] }, ["/metadata", "/name", "/template", "/userId"]],
    ];
    for (const [fields, expected] of broken) {
      const inB = await t.call("POST", "/v1/prompts", { body: fields, form: "b" });
      expect([statusAndCode(inB), paths(inB)]).toEqual([[400, "validation_failed"], expected]);
      const inA = await t.call("POST", "/v1/prompts", { body: fields, form: "a" });
      expect([statusAndCode(inA), paths(inA)]).toEqual([[400, "invalid_request"], expected]);
    }
  });

  test("400 invalid_request: both forms, a name in use in this tenant; it is free in another and after deletion", async () => {
    const prompt = await create(t);
    for (const form of ["a", "b"] as const) {
      const again = await t.call("POST", "/v1/prompts", { body: { name: prompt.name, template: "x" }, form });
      expect([statusAndCode(again), paths(again)]).toEqual([[400, "invalid_request"], ["/name"]]);
    }
    const stranger = await h.tenant();
    await create(stranger, { name: prompt.name });
    await t.call("DELETE", `/v1/prompts/${prompt.id}`);
    await create(t, { name: prompt.name });
  });

  test("201 once: the same name ten times at once", async () => {
    const tenant = await h.tenant();
    const send = () => tenant.call("POST", "/v1/prompts", { body: { name: "one", template: "x" } });
    const responses = await Promise.all(Array.from({ length: 10 }, send));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const response of responses)
      if (response.status !== 201) expect(statusAndCode(response)).toEqual([400, "invalid_request"]);
  });

  test("400 invalid_request: both forms, the cap of 100, however many at once; deletion makes room", async () => {
    const tenant = await h.tenant();
    await h.sql`
      insert into prompts (id, tenant_id, name, template)
      select 'prompt_' || lpad(n::text, 24, 'c'), ${tenant.id}, 'kept ' || n, 'x' from generate_series(1, 97) n`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        tenant.call("POST", "/v1/prompts", { body: body(), form: index % 2 === 0 ? "a" : "b" }),
      ),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const response of responses)
      if (response.status !== 201) expect(statusAndCode(response)).toEqual([400, "invalid_request"]);
    expect((await tenant.call("GET", "/v1/prompts")).body.prompts).toHaveLength(100);
    await tenant.call("DELETE", `/v1/prompts/prompt_${"1".padStart(24, "c")}`);
    await create(tenant);
  });

  test("201: an Idempotency-Key makes one prompt", async () => {
    const options = { body: body(), headers: { "idempotency-key": "prompt" } };
    const first = await t.call("POST", "/v1/prompts", options);
    const again = await t.call("POST", "/v1/prompts", options);
    expect([again.status, again.body]).toEqual([201, first.body]);
  });
});

describe("GET /v1/prompts", () => {
  test("200: most recently updated first; `userId` selects, empty means the tenant's own", async () => {
    const tenant = await h.tenant();
    const first = await create(tenant);
    const second = await create(tenant, { userId: "ada" });
    const third = await create(tenant);
    const list = async (query: string) => {
      const response = await tenant.call("GET", `/v1/prompts${query}`);
      expect([response.status, Object.keys(response.body)]).toEqual([200, ["prompts"]]);
      return response.body.prompts.map((prompt: { id: string }) => prompt.id);
    };
    expect(await list("")).toEqual([third.id, second.id, first.id]);
    await tenant.call("PATCH", `/v1/prompts/${first.id}`, { body: { template: "new" } });
    expect(await list("")).toEqual([first.id, third.id, second.id]);
    expect(await list("?userId=")).toEqual([first.id, third.id]);
    expect(await list("?userId=ada")).toEqual([second.id]);
    expect(await list("?userId=nobody")).toEqual([]);
  });

  test("200: empty for a tenant without prompts, whatever others have", async () => {
    const stranger = await h.tenant();
    expect((await stranger.call("GET", "/v1/prompts")).body).toEqual({ prompts: [] });
  });

  test("400 validation_failed (A: invalid_request): unknown and repeated query fields", async () => {
    for (const [query, path] of [
      ["limit=0", "limit"],
      ["__proto__=1", "__proto__"],
      ["userId=a&userId=b", "userId"],
    ]) {
      const inB = await t.call("GET", `/v1/prompts?${query}`, { form: "b" });
      expect([statusAndCode(inB), paths(inB)]).toEqual([[400, "validation_failed"], [path as string]]);
      expect(statusAndCode(await t.call("GET", `/v1/prompts?${query}`, { form: "a" }))).toEqual([
        400,
        "invalid_request",
      ]);
    }
  });
});

describe("PATCH /v1/prompts/:promptId", () => {
  test("200: changes what is given, derives the variables anew, replaces the metadata", async () => {
    const prompt = await create(t, { template: "{{a}}", userId: "ada", metadata: { keep: 1, drop: 2 } });
    const path = `/v1/prompts/${prompt.id}`;
    const changed = await t.call("PATCH", path, { body: { template: "{{b}} {{a}}" } });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...prompt,
      template: "{{b}} {{a}}",
      variables: ["b", "a"],
      updatedAt: expect.any(String),
    });
    expect(changed.body.updatedAt >= prompt.updatedAt).toBe(true);
    const metadata = { keep: 3 };
    expect((await t.call("PATCH", path, { body: { metadata } })).body.metadata).toEqual(metadata);
    const renamed = await t.call("PATCH", path, { body: { name: `renamed ${prompt.name}` }, form: "a" });
    expect(renamed.body).toMatchObject({ name: `renamed ${prompt.name}`, template: "{{b}} {{a}}", metadata });
    // A prompt keeps its own name without a conflict.
    expect((await t.call("PATCH", path, { body: { name: renamed.body.name } })).status).toBe(200);
  });

  test("200 at each limit and 400 beyond it; 400 for no field, and for a field that cannot change", async () => {
    const prompt = await create(t);
    const path = `/v1/prompts/${prompt.id}`;
    for (const good of [{ name: emoji.repeat(79) }, { template: emoji.repeat(10_240) }, { template: templateOf(10) }])
      expect((await t.call("PATCH", path, { body: good })).status).toBe(200);
    const before = (await t.call("GET", path)).body;
    const broken: [unknown, string][] = [
      [{}, ""],
      [undefined, ""],
      [{ userId: "bob" }, "/userId"],
      [{ name: "" }, "/name"],
      [{ name: null }, "/name"],
      [{ name: "n".repeat(81) }, "/name"],
      [{ template: "" }, "/template"],
      [{ template: "t".repeat(10_241) }, "/template"],
      [{ template: templateOf(11) }, "/template"],
      [{ metadata: null }, "/metadata"],
    ];
    for (const [fields, expected] of broken) {
      const inB = await t.call("PATCH", path, { body: fields, form: "b" });
      expect([statusAndCode(inB), paths(inB)]).toEqual([[400, "validation_failed"], [expected]]);
      expect(statusAndCode(await t.call("PATCH", path, { body: fields, form: "a" }))).toEqual([400, "invalid_request"]);
    }
    expect((await t.call("GET", path)).body).toEqual(before);
  });

  test("400 invalid_request: both forms, the name of another prompt", async () => {
    const taken = await create(t);
    const prompt = await create(t);
    for (const form of ["a", "b"] as const) {
      const response = await t.call("PATCH", `/v1/prompts/${prompt.id}`, { body: { name: taken.name }, form });
      expect([statusAndCode(response), paths(response)]).toEqual([[400, "invalid_request"], ["/name"]]);
    }
    expect((await t.call("GET", `/v1/prompts/${prompt.id}`)).body).toEqual(prompt);
  });
});

describe("GET, PATCH, DELETE /v1/prompts/:promptId", () => {
  test("404 not_found: the same for a missing and a foreign prompt; 400 for a malformed id", async () => {
    const prompt = await create(t);
    const stranger = await h.tenant();
    for (const [method, options] of [
      ["GET", {}],
      ["PATCH", { body: { name: "taken over" } }],
      ["DELETE", {}],
    ] as const) {
      for (const form of ["a", "b"] as const) {
        const foreign = await stranger.call(method, `/v1/prompts/${prompt.id}`, { ...options, form });
        const missing = await stranger.call(method, `/v1/prompts/${missingId}`, { ...options, form });
        expectSameError(foreign, missing);
        expect(statusAndCode(missing)).toEqual([404, "not_found"]);
        const malformed = await t.call(method, "/v1/prompts/prompt_x", { ...options, form });
        expect(statusAndCode(malformed)).toEqual([400, form === "a" ? "invalid_request" : "validation_failed"]);
        expect(paths(malformed)).toEqual(["promptId"]);
      }
    }
    expect((await t.call("GET", `/v1/prompts/${prompt.id}`)).body).toEqual(prompt);
  });

  test("DELETE 204, then 404", async () => {
    const prompt = await create(t);
    const gone = await t.call("DELETE", `/v1/prompts/${prompt.id}`);
    expect([gone.status, gone.body]).toEqual([204, null]);
    expect(statusAndCode(await t.call("GET", `/v1/prompts/${prompt.id}`))).toEqual([404, "not_found"]);
    expect(statusAndCode(await t.call("DELETE", `/v1/prompts/${prompt.id}`))).toEqual([404, "not_found"]);
  });
});

describe("Rendering a prompt", () => {
  /** The cause and details that rendering fails with. */
  async function failure(tenantId: string, promptId: string, variables: Record<string, string>) {
    const error = await renderPrompt(h.sql, tenantId, promptId, variables).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    const { reason, details } = error as ApiError;
    return [reason, details?.variables];
  }

  test("one pass: values with tokens or replacement patterns stay as they are, and may be empty", async () => {
    const prompt = await create(t, { template: "{{a}}|{{b}}|{{a}}|{{c}}|{{ a }}|{{{a}}}" });
    const variables = { a: "{{b}}", b: "$& $1 $$ {{a}}", c: "" };
    const text = await renderPrompt(h.sql, t.id, prompt.id, variables);
    expect(text).toBe("{{b}}|$& $1 $$ {{a}}|{{b}}||{{ a }}|{{{b}}}");
  });

  test("variables named like an object's own machinery are ordinary ones", async () => {
    const prompt = await create(t, { template: "{{constructor}} {{__proto__}} {{toString}}" });
    expect(await failure(t.id, prompt.id, {})).toEqual([
      "prompt_variable_missing",
      ["constructor", "__proto__", "toString"],
    ]);
    const variables = JSON.parse('{"constructor":"1","__proto__":"2","toString":"3"}');
    expect(await renderPrompt(h.sql, t.id, prompt.id, variables)).toBe("1 2 3");
  });

  test("prompt_variable_missing, prompt_variable_unknown: they name the variables", async () => {
    const prompt = await create(t, { template: "{{a}} {{b}}" });
    expect(await failure(t.id, prompt.id, { a: "1" })).toEqual(["prompt_variable_missing", ["b"]]);
    expect(await failure(t.id, prompt.id, { a: "1", b: "2", c: "3", toString: "4" })).toEqual([
      "prompt_variable_unknown",
      ["c", "toString"],
    ]);
  });

  test("not_found: a missing and a foreign prompt", async () => {
    const prompt = await create(t);
    const stranger = await h.tenant();
    expect(await failure(stranger.id, prompt.id, {})).toEqual(["not_found", undefined]);
    expect(await failure(t.id, missingId, {})).toEqual(["not_found", undefined]);
  });

  test("validation_failed: a text that would outgrow a message", async () => {
    const prompt = await create(t, { template: "{{a}}".repeat(2_000) });
    expect(await failure(t.id, prompt.id, { a: "x".repeat(5_000) })).toEqual(["validation_failed", undefined]);
    expect(await renderPrompt(h.sql, t.id, prompt.id, { a: "x".repeat(4_000) })).toHaveLength(8_000_000);
  });
});
