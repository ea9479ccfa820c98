import { describe, expect, test } from "bun:test";
import { sessionPoolOf } from "../../../src/mcp-connections/call/pool.ts";
import { callTool, toolsOfTurn } from "../../harness/mcp-turn.ts";
import { useRawMcp } from "../../harness/raw-mcp-fixture.ts";
import { longestStallMs } from "../../harness/stall.ts";
import { body, type SentMessage } from "../../servers/raw-mcp.ts";

/**
 * The worst that servers can send within their bounds. The client library's schemas held a process for 9 to 58 s with
 * them; what is left is some 10 ms, and both are far from this on any machine.
 */
const stallMsMax = 400;
const mib = 1024 * 1024;

const scene = await useRawMcp();
const { h, t } = scene;

const path = "/v1/mcp-connections";
const create = (fields: object = {}) =>
  t.call("POST", path, { body: { name: "c", url: scene.mcp.url, authType: "none", ...fields } });
const result = (json: string, type?: string) => {
  const whole = ({ id }: SentMessage) => `{"jsonrpc":"2.0","id":${id},"result":${json}}`;
  return (message: SentMessage) =>
    type === undefined ? body(whole(message)) : body(`data: ${whole(message)}\n\n`, type);
};
const many = (item: string, count: number) => `[${`${item},`.repeat(count).slice(0, -1)}]`;
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const longKeys = `{${Array.from({ length: 33_000 }, (_, index) => `"${index}${"k".repeat(200)}":0`).join(",")}}`;

describe("a list of tools", () => {
  const lists: [string, string, number][] = [
    ["900,000 empty rows", `{"tools":${many("{}", 900_000)}}`, 400],
    ["2,700,000 of them, 7.7 MiB", `{"tools":${many("{}", 2_700_000)}}`, 400],
    ["99,000 empty rows", `{"tools":${many("{}", 99_000)}}`, 201],
    ["30,000 rows with nothing but a name", `{"tools":${many('{"name":1}', 30_000)}}`, 201],
    ["a schema of 4,000,000 levels", `{"tools":[{"name":"look","inputSchema":${nested(4_000_000)}}]}`, 400],
    ["a schema of 33,000 long keys", `{"tools":[{"name":"look","inputSchema":{"properties":${longKeys}}}]}`, 201],
    [
      "a description of 7 MiB of escapes",
      `{"tools":[{"name":"look","description":"${"\\u0007".repeat(1.1 * mib)}"}]}`,
      201,
    ],
    ["hints without end", `{"tools":[{"name":"look","_meta":${many("[]", 90_000)}}]}`, 201],
  ];
  for (const type of [undefined, "text/event-stream"])
    for (const [what, json, status] of lists)
      test(`of ${what} holds nobody (${type ?? "JSON"})`, async () => {
        scene.mcp.answers["tools/list"] = result(json, type);
        let response = { status: 0 };
        const stall = await longestStallMs(async () => {
          response = await create();
        });
        expect([response.status, stall < stallMsMax ? "short" : stall]).toEqual([status, "short"]);
      });
});

describe("the result of a call", () => {
  const results: [string, string, boolean][] = [
    ["600,000 unknown blocks, 7.4 MiB", `{"content":${many('{"type":"x"}', 600_000)}}`, true],
    ["33,000 unknown blocks", `{"content":${many('{"type":"x"}', 33_000)}}`, false],
    ["4,000,000 levels", nested(4_000_000), true],
    ["structure of 33,000 long keys", `{"structuredContent":${longKeys}}`, false],
    ["8,000,000 characters in one text", `{"content":[{"type":"text","text":"${"x".repeat(8_000_000)}"}]}`, false],
    [
      "a picture of 8,000,000 characters",
      `{"content":[{"type":"image","mimeType":"image/png","data":"${"A".repeat(8_000_000)}"}]}`,
      false,
    ],
    ["a type of 8,000,000 characters", `{"content":[{"type":"${" x".repeat(4_000_000)}"}]}`, false],
    [
      "a media type of 8,000,000 characters",
      `{"content":[{"type":"image","data":"","mimeType":"${";".repeat(8_000_000)}"}]}`,
      false,
    ],
    ["nothing but empty lists in its hints", `{"content":[],"_meta":${many("[]", 90_000)}}`, false],
  ];
  for (const type of [undefined, "text/event-stream"])
    for (const [what, json, failed] of results)
      test(`of ${what} holds nobody (${type ?? "JSON"})`, async () => {
        const { body: made } = await create();
        const { tools } = await toolsOfTurn(scene.ctx, t.id, [made.id]);
        scene.mcp.answers["tools/call"] = result(json, type);
        let told = { failed: !failed };
        const stall = await longestStallMs(async () => {
          told = await callTool(tools, "c__look");
        });
        expect([told.failed, stall < stallMsMax ? "short" : stall]).toEqual([failed, "short"]);
      });

  const streams: [string, string][] = [
    ["two million empty lines of data", "data:\n".repeat(2_000_000)],
    ["300,000 pings", "event: ping\ndata: {}\n\n".repeat(300_000)],
    [
      "progress without end",
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1}}',
    ],
    ["comments without end", ":\n".repeat(4_000_000)],
    ["one line in which nothing ends", `data: ${"[".repeat(7_000_000)}`],
  ];
  for (const [what, text] of streams)
    test(`in a stream of ${what} holds nobody`, async () => {
      const { body: made } = await create();
      const { tools } = await toolsOfTurn(scene.ctx, t.id, [made.id]);
      scene.mcp.answers["tools/call"] = ({ id }) =>
        body(
          text.includes("ID") ? `data: ${text.replace("ID", String(id))}\n\n`.repeat(20_000) : text,
          "text/event-stream",
        );
      let told = { failed: false };
      const stall = await longestStallMs(async () => {
        told = await callTool(tools, "c__look");
      });
      expect([told.failed, stall < stallMsMax ? "short" : stall]).toEqual([true, "short"]);
    });
});

test("a stream of more events than an hour's progress ends its call, and says so", async () => {
  const { body: made } = await create();
  const { tools } = await toolsOfTurn(scene.ctx, t.id, [made.id]);
  scene.mcp.answers["tools/call"] = () => body("id:1\n\n".repeat(500_001), "text/event-stream");
  expect(JSON.stringify(await callTool(tools, "c__look"))).toContain("more than 500000 events");
});

describe("a refusal", () => {
  test("with a body of 8 MiB of values holds nobody", async () => {
    for (const status of [400, 500]) {
      scene.mcp.answers["server/discover"] = body(many("[]", 2_700_000), undefined, status);
      const stall = await longestStallMs(create);
      expect(stall).toBeLessThan(stallMsMax);
    }
  });
});

describe("a document of an authorization server", () => {
  const full = 256 * 1024 - 1_000;
  const long = many("0", full / 2);
  const within = many("{}", 33_000);

  for (const [what, json] of [
    ["131,000 values", long],
    ["33,000 empty objects each", within],
    ["128,000 levels", nested(full / 2)],
  ] as const)
    test(`with ${what} holds nobody`, async () => {
      scene.mcp.answers.initialize = () =>
        new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
      const odd = (url: string) =>
        `{"scope":${json},"scopes_supported":${json},"issuer":"${url}","token_endpoint":"${url}/token","access_token":${json}}`;
      const served: string[] = [];
      scene.mcp.other = (request) => {
        const { pathname, origin } = new URL(request.url);
        if (pathname === "/mcp") return null;
        served.push(pathname);
        return body(odd(origin), undefined, pathname === "/token" && what.startsWith("131") ? 400 : 200);
      };
      const stall = await longestStallMs(() =>
        create({ authType: "oauth_client_credentials", clientId: "id", clientSecret: "secret" }),
      );
      expect(served.length).toBeGreaterThan(0);
      expect(stall).toBeLessThan(stallMsMax);
    });
});

test("lists of many small values are kept within their bound of memory", async () => {
  const values = many("1", 90_000);
  scene.mcp.answers["tools/list"] = result(`{"tools":[{"name":"look","inputSchema":{"enum":${values}}}]}`);
  const { body: made } = await create();
  await toolsOfTurn(scene.ctx, t.id, [made.id]);
  const [row] = await h.sql`select * from mcp_connections where id = ${made.id}`;
  const bytes = await sessionPoolOf(scene.ctx).use(row as never, async (session) => {
    await session.list();
    return session.listBytes;
  });
  // 180 kB of JSON, some 6 MiB as objects.
  expect(bytes).toBeGreaterThan(4 * mib);
});
