import { describe, expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";
import { inProcess } from "../../harness/runtimes.ts";

const token = "a-token-for-scrapers";
const { t } = await useTenant({ env: { METRICS_TOKEN: token } });

describe.skipIf(!inProcess)("GET /metrics with METRICS_TOKEN", () => {
  test("401 unauthorized: without it, with another, and with a tenant's key", async () => {
    for (const given of [null, "another", t.token, `${token}x`]) {
      const response = await t.call("GET", "/metrics", { token: given });
      expect(response.status).toBe(401);
      expect(response.body.error.code).toBe("unauthorized");
      expect(JSON.stringify(response.body)).not.toContain("parley_turns");
    }
  });

  test("200 with it, and it opens nothing else", async () => {
    expect((await t.call("GET", "/metrics", { token })).status).toBe(200);
    expect((await t.call("GET", "/v1/agents", { token })).status).toBe(401);
  });
});
