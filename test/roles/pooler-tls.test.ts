import { describe, expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { pgbouncerInstalled, startPgbouncer } from "../harness/pgbouncer.ts";
import { aftermathOf, type Installation, sharedRedisUrl, startInstallation, textOf } from "../harness/processes.ts";
import { stopProcess } from "../harness/service-process.ts";
import { appendMessages } from "../harness/transcript.ts";

const succeeded = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

/** An installation whose pooler in transaction mode takes clients with TLS only. */
async function startSecured() {
  const stack = new AsyncDisposableStack();
  const installation = stack.use(await startInstallation());
  const folder = await mkdtemp(join(tmpdir(), "parley-certificate-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const certificate = makeCertificate(folder);
  // The pooler does not run as root.
  await Promise.all([chmod(folder, 0o755), chmod(certificate.keyFile, 0o644)]);
  const pooler = await startPgbouncer(installation.databaseUrl, "transaction", 6, certificate);
  stack.defer(() => pooler.stop());
  const env = (mode: string, host = "127.0.0.1") => ({
    DATABASE_POOL_URL: `${pooler.url.replace("127.0.0.1", host)}?sslmode=${mode}`,
  });
  return { installation, certificate, env, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.skipIf(!pgbouncerInstalled || sharedRedisUrl === null)("a pooler in transaction mode with TLS", () => {
  test("everything goes over TLS, and the certificate is asked for as sslmode says", async () => {
    await using all = await startSecured();
    const { installation, certificate, env } = all;
    const refused = "Cannot use the database that DATABASE_POOL_URL names: ";
    expect(await failureOf(installation.serve(env("disable")))).toContain(`${refused}SSL required`);
    const untrusted = await failureOf(installation.serve(env("verify-full")));
    expect(untrusted).toContain(refused);
    expect(untrusted).toContain("NODE_EXTRA_CA_CERTS");
    const trusting = { NODE_EXTRA_CA_CERTS: certificate.certFile, DENO_CERT: certificate.certFile };
    const http = await installation.serve({ ...env("verify-full", "localhost"), ...trusting });
    await installation.work(env("require"));
    const c = await installation.client(http.url);
    await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const turn = await c.turn(`turn ${n} [[sim: text="over TLS" chunks=4 delayMs=5]]`);
        await turn.stream.closed;
        expect(textOf(turn.stream.chunks)).toBe("over TLS");
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(succeeded);
      }),
    );
    const held = await c.turn("cancel me [[sim: chunks=500 delayMs=50]]");
    const canceled = await c.request("POST", `/v1/agents/${c.agentId}/sessions/${held.sessionId}/cancel`);
    expect(canceled.ok).toBe(true);
    await held.stream.closed;
    expect(held.stream.types.at(-1)).toBe("abort");
  }, 240_000);

  test("a long transcript comes whole to a worker that has not seen it, with TLS and without", async () => {
    await using all = await startSecured();
    const { installation, env } = all;
    const plain = await startPgbouncer(installation.databaseUrl, "transaction", 6);
    try {
      const poolers = { plain: { DATABASE_POOL_URL: plain.url }, secured: env("require") };
      for (const [name, own] of Object.entries(poolers)) await longTranscript(installation, name, own);
    } finally {
      await plain.stop();
    }
  }, 240_000);
});

const messages = 1_000;

async function longTranscript(installation: Installation, name: string, own: Record<string, string>): Promise<void> {
  const c = await installation.client((await installation.serve(own)).url);
  const first = await installation.work(own);
  const { sessionId, stream } = await c.turn('the first [[sim: text="begun"]]');
  await stream.closed;
  const textOfMessage = (n: number) => `${name} ${n} ${"ä long transcript. ".repeat(16)}`;
  await appendMessages(
    installation.sql,
    sessionId,
    Array.from({ length: messages }, (_, n) => ({
      id: `${name}-${n}`,
      role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
      parts: [{ type: "text", text: textOfMessage(n) }],
    })),
  );
  await stopProcess(first, 30);
  const second = await installation.work(own);
  const before = installation.model.requests().length;
  const turn = await c.turn('the last [[sim: text="all read"]]', sessionId);
  await turn.stream.closed;
  expect(textOf(turn.stream.chunks)).toBe("all read");
  const asked = await eventually(() => installation.model.requests().slice(before).at(-1));
  const sent = JSON.stringify(asked.body);
  for (let n = 0; n < messages; n++) if (!sent.includes(textOfMessage(n))) throw new Error(`Message ${n} is missing.`);
  expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(succeeded);
  await stopProcess(second, 30);
}

async function failureOf(starting: Promise<unknown>): Promise<string> {
  return starting.then(
    () => "It started.",
    (error: Error) => error.message,
  );
}
