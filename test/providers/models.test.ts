import { describe, expect, test } from "bun:test";
import type { ApiError } from "../../src/kernel/errors.ts";
import { fetchModelIds } from "../../src/providers/discovery.ts";
import { checkModel } from "../../src/providers/models.ts";
import { findProvider, type ProviderRow } from "../../src/providers/store.ts";
import { useService } from "../harness/fixture.ts";
import { createProvider, providerKey, useVendors } from "../harness/provider-fixture.ts";

const h = await useService();
const vendor = useVendors();
let t = await h.tenant();

describe("GET /v1/providers/:id/models", () => {
  async function models(providerType: string, baseUrl: string) {
    return t.call("GET", `/v1/providers/${await createProvider(t, { providerType, baseUrl })}/models`);
  }
  const ids = (...list: string[]) => ({ models: list.map((id) => ({ id })) });

  test("a redirect to another origin is followed without the key, whatever header it travels in", async () => {
    t = await h.tenant();
    const elsewhere = vendor(() => Response.json({ data: [], models: [] }));
    const server = vendor(({ path }) => Response.redirect(`${elsewhere.url}${path}`));
    for (const providerType of ["llm_vendor_a", "llm_vendor_b", "llm_vendor_c", "router_vendor"])
      expect([providerType, (await models(providerType, server.url)).status]).toEqual([providerType, 200]);
    expect(server.requests.map(({ headers }) => JSON.stringify([...headers]).includes(providerKey))).toEqual(
      Array(4).fill(true),
    );
    expect(elsewhere.requests.length).toBe(4);
    expect(JSON.stringify(elsewhere.requests.map(({ headers }) => [...headers]))).not.toContain(providerKey);
  });

  test.each([404, 405])(
    "422 model_discovery_unsupported: a server that answers %d has no list, and an agent takes any model",
    async (status) => {
      t = await h.tenant();
      const server = vendor(() => new Response("no", { status }));
      for (const providerType of ["llm_vendor_a", "llm_vendor_b", "llm_vendor_c", "router_vendor"]) {
        const asked = await models(providerType, server.url);
        expect([providerType, asked.status, asked.body.error.code]).toEqual([
          providerType,
          422,
          "model_discovery_unsupported",
        ]);
        const providerId = await createProvider(t, { providerType, baseUrl: server.url });
        const body = { name: `n-${providerId}`, model: "what-it-likes", providerId };
        expect([providerType, (await t.call("POST", "/v1/agents", { body })).status]).toEqual([providerType, 201]);
      }
    },
  );

  test("200: OpenAI's list, trimmed, deduplicated, sorted, with the vendor's prefix", async () => {
    t = await h.tenant();
    const server = vendor(() =>
      Response.json({
        data: [{ id: "gpt-4o-mini" }, { id: " gpt-4.1 " }, { id: "gpt-4o-mini" }, { id: "" }, {}, null],
      }),
    );
    for (const base of ["/v1", "/v1/", "/proxy/v1"]) {
      const response = await models("openai", server.url + base);
      expect([response.status, response.body]).toEqual([200, ids("openai/gpt-4.1", "openai/gpt-4o-mini")]);
    }
    expect(server.requests.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/models"],
      ["GET", "/v1/models"],
      ["GET", "/proxy/v1/models"],
    ]);
    expect(server.requests[0]?.headers.get("authorization")).toBe(`Bearer ${providerKey}`);
  });

  test("200: Anthropic's list, page by page", async () => {
    const server = vendor(({ path }) =>
      path.includes("after_id=claude-a")
        ? Response.json({ data: [{ id: "claude-b" }], has_more: false, last_id: "claude-b" })
        : Response.json({ data: [{ id: "claude-a" }], has_more: true, last_id: "claude-a" }),
    );
    const response = await models("llm_vendor_b", `${server.url}/v1`);
    expect([response.status, response.body]).toEqual([200, ids("anthropic/claude-a", "anthropic/claude-b")]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v1/models?limit=1000",
      "/v1/models?limit=1000&after_id=claude-a",
    ]);
    expect(server.requests[0]?.headers.get("x-api-key")).toBe(providerKey);
    expect(server.requests[0]?.headers.get("anthropic-version")).toBe("2023-06-01");
  });

  test("200: Google's list, page by page, without models/", async () => {
    const server = vendor(({ path }) =>
      path.includes("pageToken=p2")
        ? Response.json({ models: [{ name: "models/gemini-2.5-pro" }] })
        : Response.json({ models: [{ name: "models/gemini-3-flash" }], nextPageToken: "p2" }),
    );
    const response = await models("llm_vendor_c", `${server.url}/v1beta`);
    expect([response.status, response.body]).toEqual([200, ids("google/gemini-2.5-pro", "google/gemini-3-flash")]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v1beta/models?pageSize=1000",
      "/v1beta/models?pageSize=1000&pageToken=p2",
    ]);
    expect(server.requests[0]?.headers.get("x-goog-api-key")).toBe(providerKey);
  });

  test("200: OpenRouter's list, ids as they are", async () => {
    const server = vendor(() => Response.json({ data: [{ id: "openai/gpt-5" }, { id: "anthropic/claude-opus-4.5" }] }));
    const response = await models("openrouter", `${server.url}/api/v1`);
    expect([response.status, response.body]).toEqual([200, ids("anthropic/claude-opus-4.5", "openai/gpt-5")]);
    expect(server.requests[0]?.path).toBe("/api/v1/models");
  });

  test("the gateway's public catalogue is asked for without the key", async () => {
    let asked: [string, string | null] | null = null;
    const found = await fetchModelIds(
      async (input, init) => {
        asked = [String(input), new Headers(init?.headers).get("authorization")];
        return Response.json({ data: [{ id: "openai/gpt-5" }] });
      },
      { providerType: "gateway", baseUrl: null, apiKey: providerKey },
    );
    expect(found).toEqual(["openai/gpt-5"]);
    expect(asked as unknown).toEqual(["https://ai-gateway.vercel.sh/v1/models", null]);
  });

  test("422 model_discovery_unsupported: custom", async () => {
    const response = await models("custom", h.model.url);
    expect([response.status, response.body.error.code]).toEqual([422, "model_discovery_unsupported"]);
  });

  test("503 model_validation_unavailable: key refused, failing, not a list, too large, closed; the key stays out", async () => {
    const responses: Record<string, () => Response> = {
      refused: () => Response.json({ error: { message: `Incorrect API key: ${providerKey}` } }, { status: 401 }),
      failing: () => new Response("oops", { status: 500 }),
      text: () => new Response("<html>"),
      shape: () => Response.json({ models: "none" }),
      null: () => Response.json(null),
      large: () => new Response(`{"data":[{"id":"${"x".repeat(9 * 1024 * 1024)}"}]}`),
    };
    const server = vendor(({ path }) => (responses[path.split("/")[1] as string] as () => Response)());
    const urls = [...Object.keys(responses).map((name) => `${server.url}/${name}`), "http://127.0.0.1:1"];
    for (const url of urls) {
      const response = await models("openai", url);
      expect([url, response.status, response.body.error?.code]).toEqual([url, 503, "model_validation_unavailable"]);
      expect(JSON.stringify(response.body)).not.toContain(providerKey);
    }
  });

  test("requests that come while a list is under way share it", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = vendor(async () => {
      await held;
      return Response.json({ data: [{ id: "gpt-5" }] });
    });
    const id = await createProvider(t, { baseUrl: server.url });
    const row = (await findProvider(h.sql, t.id, id)) as ProviderRow;
    const checks = Array.from({ length: 20 }, () => checkModel(h.ctx, row, "openai/gpt-5"));
    release();
    await Promise.all(checks);
    expect(server.requests.length).toBe(1);
    await checkModel(h.ctx, row, "openai/gpt-5");
    expect(server.requests.length).toBe(2);
  });

  test("model_not_found, model_validation_unavailable: checkModel; no question for custom and gateway", async () => {
    const server = vendor(() => Response.json({ data: [{ id: "gpt-5" }] }));
    const reasonOf = async (providerType: string, baseUrl: string | null, model: string) => {
      const row = (await findProvider(h.sql, t.id, await createProvider(t, { providerType, baseUrl }))) as ProviderRow;
      return checkModel(h.ctx, row, model).then(
        () => null,
        (error: ApiError) => error.reason,
      );
    };
    t = await h.tenant();
    expect(await reasonOf("openai", server.url, "openai/gpt-5")).toBeNull();
    expect(await reasonOf("openai", server.url, "openai/gpt-6")).toBe("model_not_found");
    expect(await reasonOf("openai", server.url, "anthropic/gpt-5")).toBe("model_not_found");
    expect(await reasonOf("openrouter", server.url, "openai/gpt-5")).toBe("model_not_found");
    expect(await reasonOf("openai", "http://127.0.0.1:1", "openai/gpt-5")).toBe("model_validation_unavailable");
    expect(await reasonOf("custom", "http://127.0.0.1:1", "any/model")).toBeNull();
    expect(await reasonOf("gateway", null, "any/model")).toBeNull();
  });
});

describe("GET /v1/providers/:id/thinking-levels", () => {
  const none = { known: true, levels: [] };
  const unknown = { known: false, levels: [] };
  const levels = (text: string) => ({ known: true, levels: text.split(" ") });

  test("200: from the bundled catalogue, with no network", async () => {
    t = await h.tenant();
    const cases: [string, Record<string, unknown>][] = [
      ["llm_vendor_a openai/gpt-5", levels("minimal low medium high")],
      ["llm_vendor_a gpt-5", levels("minimal low medium high")],
      ["llm_vendor_a openai/gpt-5-2025-08-07", levels("minimal low medium high")],
      ["llm_vendor_a openai/gpt-5.1", levels("none low medium high")],
      ["llm_vendor_a openai/gpt-4o-mini", none],
      ["llm_vendor_a openai/gpt-4o-mini-2024-07-18", none],
      ["llm_vendor_a openai/never-heard-of", unknown],
      ["llm_vendor_a openai/toString", unknown],
      ["llm_vendor_b anthropic/claude-opus-5-5", levels("low medium high xhigh max")],
      ["llm_vendor_b anthropic/claude-sonnet-4-6", levels("none low medium high max")],
      ["llm_vendor_b anthropic/claude-haiku-4-5-20251001", levels("none minimal low medium high xhigh max")],
      ["llm_vendor_b anthropic/claude-3-haiku-20240307", none],
      ["llm_vendor_b anthropic/never-heard-of", unknown],
      ["llm_vendor_c google/gemini-3-flash-preview", levels("minimal low medium high")],
      ["llm_vendor_c google/gemini-3-pro-preview", levels("low medium high")],
      ["llm_vendor_c google/gemini-2.5-flash", levels("none minimal low medium high xhigh max")],
      ["llm_vendor_c google/gemini-2.5-pro", levels("minimal low medium high xhigh max")],
      ["llm_vendor_c google/gemini-2.0-flash", none],
      ["llm_vendor_c google/gemini-2.5-flash-image", unknown],
      ["llm_vendor_c google/never-heard-of", unknown],
      ["router_vendor openai/gpt-5", levels("minimal low medium high")],
      ["router_vendor openai/gpt-4o:free", none],
      ["router_vendor anthropic/claude-sonnet-4.6", levels("none low medium high")],
      ["router_vendor deepseek/deepseek-r1", unknown],
      ["gateway anthropic/claude-sonnet-4.6", levels("none low medium high max")],
      ["gateway gpt-5", unknown],
      ["custom openai/gpt-5", unknown],
    ];
    const idOf: Record<string, string> = {};
    for (const [asked, expected] of cases) {
      const [type, model] = asked.split(" ") as [string, string];
      idOf[type] ??= await createProvider(t, {
        providerType: type,
        ...(type === "custom" ? { baseUrl: "http://127.0.0.1:1" } : {}),
      });
      const response = await t.call(
        "GET",
        `/v1/providers/${idOf[type]}/thinking-levels?model=${encodeURIComponent(model)}`,
      );
      expect([asked, response.status, response.body]).toEqual([asked, 200, expected]);
    }
  });

  test("400 validation_failed: without a model, or with an empty one", async () => {
    const id = await createProvider(t);
    for (const query of ["", "?model=", "?model=a/b&x=1"]) {
      const response = await t.call("GET", `/v1/providers/${id}/thinking-levels${query}`);
      expect([query, response.status, response.body.error.code]).toEqual([query, 400, "validation_failed"]);
    }
  });
});
