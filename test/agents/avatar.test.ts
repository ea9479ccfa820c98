import { describe, expect, test } from "bun:test";
import { sniff } from "../../src/agents/upload.ts";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse } from "../harness/harness.ts";

const { h, t } = await useTenant();

const bytesMax = 512 * 1024;
const png = (size = 64, fill = 0) => {
  const bytes = new Uint8Array(size).fill(fill);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return bytes;
};
const jpeg = new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 1, 2]);
const webp = new TextEncoder().encode("RIFF\x04\0\0\0WEBPVP8 ");

let named = 0;
async function made() {
  const response = await t.call("POST", "/v1/agents", { body: { name: `agent ${++named}` } });
  expect(response.status).toBe(201);
  return response.body;
}

function form(bytes: Uint8Array<ArrayBuffer>, type = "image/png", field = "file"): FormData {
  const data = new FormData();
  data.append(field, new Blob([bytes], { type }), "picture");
  return data;
}

const upload = (id: string, body: unknown, headers: Record<string, string> = {}, formName: "a" | "b" = "b") =>
  t.call("POST", `/v1/agents/${id}/avatar`, { body, headers, form: formName });
const refusal = ({ status, body }: ApiResponse) => [status, body.error?.code];
const fetchPicture = (url: string) => h.app(new Request(url));

describe("POST /v1/agents/:agentId/avatar", () => {
  test("200: the picture is served as sent, without a credential, under the type its bytes tell", async () => {
    const agent = await made();
    for (const [bytes, declared, type] of [
      [png(), "text/html", "image/png"],
      [jpeg, "image/png", "image/jpeg"],
      [webp, "", "image/webp"],
      [png(bytesMax), "image/png", "image/png"],
    ] as const) {
      const response = await upload(agent.id, form(bytes, declared));
      expect([response.status, response.body.version]).toEqual([200, 1]);
      expect(response.body.avatarUrl).toStartWith(`${h.ctx.publicUrl}/v1/avatars/`);
      const picture = await fetchPicture(response.body.avatarUrl);
      expect([picture.status, picture.headers.get("content-type")]).toEqual([200, type]);
      expect(picture.headers.get("x-content-type-options")).toBe("nosniff");
      expect(picture.headers.get("cache-control")).toMatch(/^private, max-age=\d+$/);
      expect(new Uint8Array(await picture.arrayBuffer())).toEqual(bytes as Uint8Array<ArrayBuffer>);
    }
    const listed = await t.call("GET", "/v1/agents");
    expect(JSON.stringify(listed.body).length).toBeLessThan(10_000);
    const read = await t.call("GET", `/v1/agents/${agent.id}`, { form: "a" });
    expect((await fetchPicture(read.body.avatarUrl)).status).toBe(200);
    expect((await t.call("GET", `/v1/agents/${agent.id}/versions`)).body.data).toHaveLength(1);
  });

  test("400 invalid_request: no file, a text field, another field, two files, no multipart, broken multipart", async () => {
    const { id } = await made();
    const text = new FormData();
    text.append("file", "text");
    const extra = form(png());
    extra.append("x", "1");
    const two = form(png());
    two.append("file", new Blob([png()]), "second");
    const bodies: [unknown, Record<string, string>?][] = [
      [new FormData()],
      [form(png(), "image/png", "picture")],
      [text],
      [extra],
      [two],
      [{ file: "x" }],
      [png(), { "content-type": "image/png" }],
      ["garbage", { "content-type": "multipart/form-data; boundary=x" }],
      ["garbage", { "content-type": "multipart/form-data" }],
      ["", { "content-type": "multipart/form-data; boundary=x" }],
    ];
    for (const [body, headers] of bodies)
      for (const formName of ["a", "b"] as const)
        expect(refusal(await upload(id, body, headers, formName))).toEqual([400, "invalid_request"]);
    expect(refusal(await t.call("POST", `/v1/agents/${id}/avatar`))).toEqual([400, "invalid_request"]);
  });

  test("413 invalid_request: above 512 KiB, also far above and without Content-Length", async () => {
    const { id } = await made();
    for (const size of [bytesMax + 1, bytesMax + 100_000, 4 * bytesMax])
      expect(refusal(await upload(id, form(png(size))))).toEqual([413, "invalid_request"]);
    const encoded = new Response(form(png(4 * bytesMax)));
    const request = new Request(`${h.ctx.publicUrl}/v1/agents/${id}/avatar`, {
      method: "POST",
      headers: { authorization: `Bearer ${t.token}`, "content-type": encoded.headers.get("content-type") ?? "" },
      body: encoded.body,
    });
    expect(request.headers.get("content-length")).toBeNull();
    expect((await h.app(request)).status).toBe(413);
  });

  test("415 invalid_request: content that is no PNG, JPEG or WebP, whatever it is declared as", async () => {
    const { id } = await made();
    const encode = (content: string) => new TextEncoder().encode(content);
    for (const bytes of [encode("<svg/>"), encode("GIF89a"), encode("RIFF\0\0\0\0WAVE"), encode(""), png().slice(0, 7)])
      expect(refusal(await upload(id, form(bytes)))).toEqual([415, "invalid_request"]);
    expect((await t.call("GET", `/v1/agents/${id}`)).body.avatarUrl).toBeNull();
  });

  test("sniff knows the three types by their first bytes", () => {
    expect([png(), jpeg, webp, new Uint8Array()].map(sniff)).toEqual(["image/png", "image/jpeg", "image/webp", null]);
  });
});

describe("DELETE /v1/agents/:agentId/avatar", () => {
  test("200: avatarUrl null, repeated as well", async () => {
    const agent = await made();
    await upload(agent.id, form(png()));
    for (let n = 0; n < 2; n++) {
      const response = await t.call("DELETE", `/v1/agents/${agent.id}/avatar`);
      expect([response.status, response.body.avatarUrl, response.body.version]).toEqual([200, null, 1]);
    }
  });
});

describe("GET /v1/avatars/:agentId", () => {
  test("404 not_found: any altered character of the address, a field more or less, another agent's", async () => {
    const agent = await made();
    const other = (await upload((await made()).id, form(png()))).body;
    const url: string = (await upload(agent.id, form(png()))).body.avatarUrl;
    expect((await fetchPicture(url)).status).toBe(200);
    const start = url.indexOf("/v1/avatars/") + "/v1/avatars/".length;
    for (let at = start; at < url.length; at++) {
      const altered = url.slice(0, at) + (url[at] === "a" ? "b" : "a") + url.slice(at + 1);
      expect([at, (await fetchPicture(altered)).status]).toEqual([at, 404]);
    }
    const { search } = new URL(url);
    for (const altered of [
      `${url}&x=1`,
      url.slice(0, -1),
      url.replace(search, ""),
      url.replace("expires=", "expires=0"),
      other.avatarUrl.replace(/\?.*/, search),
    ])
      expect((await fetchPicture(altered)).status).toBe(404);
    const refused = await fetchPicture(url.replace(search, ""));
    expect((await refused.json()).error.code).toBe("not_found");
  });

  test("404 not_found: once expired, after 15 minutes", async () => {
    const agent = await made();
    const url: string = (await upload(agent.id, form(png()))).body.avatarUrl;
    const expires = Number(new URL(url).searchParams.get("expires"));
    const secondsLeft = expires - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(15 * 60 - 10);
    expect(secondsLeft).toBeLessThanOrEqual(15 * 60);
    const [row] = await h.sql`select avatar_id from agents where id = ${agent.id}`;
    const past = String(Math.floor(Date.now() / 1000) - 1);
    const signature = h.ctx.sealer.sign(`avatar:${agent.id}:${row?.avatarId}:${past}`);
    const expired = `${h.ctx.publicUrl}/v1/avatars/${agent.id}?expires=${past}&signature=${signature}`;
    expect((await fetchPicture(expired)).status).toBe(404);
  });

  test("404 not_found: once the picture is replaced or removed, or its agent deleted", async () => {
    const agent = await made();
    const url = async () => (await upload(agent.id, form(png()))).body.avatarUrl as string;
    const first = await url();
    const second = await url();
    expect((await fetchPicture(first)).status).toBe(404);
    expect((await fetchPicture(second)).status).toBe(200);
    await t.call("DELETE", `/v1/agents/${agent.id}/avatar`);
    expect((await fetchPicture(second)).status).toBe(404);
    const third = await url();
    expect((await t.call("DELETE", `/v1/agents/${agent.id}`)).status).toBe(204);
    expect((await fetchPicture(third)).status).toBe(404);
  });
});

describe("a tenant's end", () => {
  test("404 not_found: its pictures from that moment on, however long their URLs are good", async () => {
    const tenant = await h.tenant();
    const { body: agent } = await tenant.call("POST", "/v1/agents", { body: { name: "seen" } });
    const response = await tenant.call("POST", `/v1/agents/${agent.id}/avatar`, { body: form(png()) });
    expect((await fetchPicture(response.body.avatarUrl)).status).toBe(200);
    expect(await deleteTenant(h.sql, tenant.id)).toBe("ended");
    expect((await fetchPicture(response.body.avatarUrl)).status).toBe(404);
  });
});
