import { describe, expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";

const { t } = await useTenant();

describe("GET /openapi.json", () => {
  test("200 without a credential; describes each operation with its errors in both forms", async () => {
    const { status, body } = await t.call("GET", "/openapi.json", { token: null });
    expect(status).toBe(200);
    expect(body.openapi).toBe("3.1.0");
    const create = body.paths["/v1/agents/{agentId}/sessions"].post;
    expect(create.parameters.map((field: { name: string }) => field.name)).toEqual([
      "agentId",
      "API-Form",
      "Idempotency-Key",
    ]);
    expect(create.responses["409"].description).toContain("`agent_disabled`");
    expect(create.responses["409"].description).toContain("`AGENT_DISABLED` (form A)");
    expect(create.requestBody.content["application/json"].schema.$ref).toBe("#/components/schemas/TurnCreate");
    expect(body.components.schemas.TurnCreate.properties.message.$ref).toBe("#/components/schemas/UserMessage");
    expect(Object.keys(body.paths).every((path) => path.startsWith("/v1/"))).toBe(true);
  });
});

describe("GET /docs", () => {
  test("200: a page whose files all come from this service", async () => {
    const page = await t.call("GET", "/docs", { token: null });
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self';");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    // The policy lets no script of the page's own run.
    expect(String(page.body)).not.toMatch(/<script>/);
    const files = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    for (const file of files.filter((name) => !name.startsWith("data:"))) {
      expect(file).toStartWith("/docs/");
      expect((await t.call("GET", file, { token: null })).status).toBe(200);
    }
    expect((await t.call("GET", "/docs/package.json", { token: null })).status).toBe(404);
  });
});

describe("GET /", () => {
  test("307 to the documentation", async () => {
    const { status, headers } = await t.call("GET", "/", { token: null });
    expect([status, headers.get("location")]).toEqual([307, "/docs"]);
  });
});
