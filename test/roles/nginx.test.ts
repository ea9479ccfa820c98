import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { holdModel, openEndedMark } from "../harness/held-model.ts";
import { nginxInstalled, startNginx, throughNginx } from "../harness/nginx.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { userMessage } from "../harness/seed.ts";
import { StreamReader } from "../harness/stream-reader.ts";
import { hasShown } from "../harness/turn-checks.ts";

describe.skipIf(sharedRedisUrl === null || !nginxInstalled)("docs/nginx/parley.conf", () => {
  test("hands streams on as they come, packs JSON, closes what is not for strangers, and bounds sign-ins", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const serve = await installation.serve({ CONSOLE: "1", OPERATOR_TOKEN: "operator-token-of-32-characters!" });
    await installation.work();
    const c = await installation.client(serve.url, model.url);
    await using nginx = await startNginx(serve.port);
    const headers = {
      authorization: `Bearer ${c.token}`,
      "content-type": "application/json",
      "accept-encoding": "gzip",
    };
    const ask = (path: string, init: RequestInit = {}) => throughNginx(nginx.url, path, { headers, ...init });

    const body = JSON.stringify({
      message: userMessage(`live ${openEndedMark} [[sim: text="one two three" chunks=3]]`),
    });
    const streamed = await ask(`/v1/agents/${c.agentId}/sessions`, { method: "POST", body });
    expect([streamed.status, streamed.headers.get("content-encoding")]).toEqual([201, null]);
    const turn = { turnId: streamed.headers.get("x-turn-id") ?? "", sessionId: "", stream: new StreamReader(streamed) };
    // The model holds its end back, so what is shown came while the turn ran.
    await hasShown(turn);
    model.release();
    await turn.stream.closed;
    expect(turn.stream.finished).toBe(true);

    const packed = await ask("/openapi.json");
    expect([packed.status, packed.headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect(JSON.parse(gunzipSync(await packed.arrayBuffer()).toString()).openapi).toStartWith("3.");
    for (const path of ["/metrics", "/backlog", "/readyz"])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);

    const signIn = () =>
      ask("/console/api/login", { method: "POST", body: JSON.stringify({ operatorToken: "wrong" }) });
    const statuses: number[] = [];
    while (statuses.length < 40 && !statuses.includes(429)) statuses.push((await signIn()).status);
    expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(10);
    expect((await ask("/v1/agents")).status).toBe(200);
  }, 120_000);
});
