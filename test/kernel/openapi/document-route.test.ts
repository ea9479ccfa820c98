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

  test("is sent compressed, and not at all to who has it already", async () => {
    const get = (headers: Record<string, string>) => t.call("GET", "/openapi.json", { token: null, headers });
    const plain = await get({});
    expect(plain.headers.get("content-encoding")).toBeNull();
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip;q=0.5, br;q=0", "gzip"],
    ] as const) {
      const { headers } = await get({ "accept-encoding": accepted });
      expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([encoding, "Accept-Encoding"]);
      const tag = headers.get("etag") as string;
      expect(tag).not.toBe(plain.headers.get("etag") as string);
      for (const known of [tag, `"other", W/${tag}`]) {
        const again = await get({ "accept-encoding": accepted, "if-none-match": known });
        expect([again.status, again.body]).toEqual([304, null]);
      }
    }
    expect((await get({ "if-none-match": '"other"' })).status).toBe(200);
  });
});
