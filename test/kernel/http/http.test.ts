import { afterAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { createApp } from "../../../src/app.ts";
import { listen } from "../../../src/kernel/runtime.ts";
import { useTenant } from "../../harness/fixture.ts";

const { h, t } = await useTenant();
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: createApp(h.ctx) });
afterAll(() => server.stop(true));

interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly text: string;
}

/** Sends a request as it is written and reads the response up to the end that its length names. */
async function send(lines: readonly string[], body = "", port = server.port): Promise<RawResponse> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  socket.write(`${[...lines, ...length].join("\r\n")}\r\n\r\n${body}`);
  let read = "";
  for await (const piece of socket) {
    read += piece;
    const [head = "", text] = read.split("\r\n\r\n");
    const announced = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.POSITIVE_INFINITY);
    if (text !== undefined && text.length >= announced) break;
  }
  socket.destroy();
  const [head = "", text = ""] = read.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head, text };
}

const credential = () => `Authorization: Bearer ${t.token}`;

describe("the Host header", () => {
  const broken = ["a b", "[", "x:99999", "%zz", "999.999.999.999", "user@x", "a/b?c", "x#y", "a\\b", "[::1", "\u00e9"];
  for (const host of broken)
    test(`400 validation_failed: in the envelope, ${host}`, async () => {
      for (const path of ["/v1/agents", "/v1/nope", "/healthz"]) {
        const response = await send([`GET ${path} HTTP/1.1`, `Host: ${host}`, credential()]);
        expect([path, response.status]).toEqual([path, 400]);
        const { error } = JSON.parse(response.text);
        expect(error).toMatchObject({ code: "validation_failed", message: expect.stringContaining("Host") });
        expect(response.head.toLowerCase()).toContain(`x-request-id: ${error.requestId}`);
      }
    });

  const fine = ["localhost", "LOCALHOST:8080", "parley_http.internal", "127.0.0.1:1", "[::1]:8080", "x:"];
  for (const host of fine)
    test(`taken: ${host}`, async () => {
      const response = await send(["GET /v1/agents?userId=x HTTP/1.1", `Host: ${host}`, credential()]);
      expect([response.status, response.text]).toEqual([200, '{"agents":[]}']);
    });

  test("not needed in HTTP/1.0, nor is anything in it: path, query and body are read all the same", async () => {
    for (const lines of [[], ["Host:"]]) {
      const list = await send(["GET /v1/prompts?userId=nobody HTTP/1.0", credential(), ...lines]);
      expect([list.status, list.text]).toEqual([200, '{"prompts":[]}']);
      const unknown = await send(["GET /v1/nope HTTP/1.0", ...lines]);
      expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, "not_found"]);
      const made = await send(
        ["POST /v1/prompts HTTP/1.0", credential(), "Content-Type: application/json", ...lines],
        JSON.stringify({ name: `p${lines.length}`, template: "Hello" }),
      );
      expect([made.status, JSON.parse(made.text).template]).toEqual([201, "Hello"]);
    }
  });
});

describe("what a handler throws", () => {
  test("is told to nobody, not even by the runtime's own error page", async () => {
    const broken = listen({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Promise.reject(new Error("a secret of the source")),
    });
    const response = await send(["GET / HTTP/1.1", "Host: x"], "", broken.port);
    await broken.stop(true);
    expect(response.status).toBe(500);
    expect(response.head + response.text).not.toMatch(/secret|http\.test|<html/i);
  });
});

describe("a path or method that no operation has", () => {
  const asked = [
    ["GET", "/v1/nope", 404],
    ["DELETE", "/v1/agents", 405],
  ] as const;

  test("is told in the form that the header asks for, else in the tenant's", async () => {
    const inA = await h.tenant({ form: "a" });
    for (const [method, path, status] of asked) {
      const responses = await Promise.all([
        t.call(method, path),
        t.call(method, path, { form: "a" }),
        inA.call(method, path),
        inA.call(method, path, { form: "b" }),
        inA.call(method, path, { token: null }),
        inA.call(method, path, { token: "nobody's", form: "a" }),
      ]);
      expect(responses.map((response) => [response.status, response.headers.get("api-form")])).toEqual(
        ["b", "a", "a", "b", "b", "a"].map((form) => [status, form]),
      );
    }
  });

  test("400 validation_failed: another API-Form", async () => {
    for (const [method, path] of asked) {
      const response = await t.call(method, path, { headers: { "api-form": "zz" } });
      expect([response.status, response.body.error.code]).toEqual([400, "validation_failed"]);
    }
  });

  test("405 method_not_allowed: a word in an id's place is another path, with what that takes in Allow", async () => {
    const agent = `/v1/agents/ag_${"0".repeat(24)}`;
    for (const method of ["GET", "DELETE"]) {
      const response = await t.call(method, `${agent}/skills/upload`);
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
    expect((await t.call("GET", `${agent}/skills/uploads`)).status).toBe(400);
    expect((await t.call("PUT", `${agent}/skills/skill_${"0".repeat(24)}`)).headers.get("allow")).toBe("DELETE, GET");
  });
});
