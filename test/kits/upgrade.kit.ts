/**
 * An upgrade from 0.2.0 while turns run, with the programs of both: the order of docs/upgrading.md. The earlier release is
 * fetched from the repository's history and the registry. `npm run test:kits` runs this; with `WRITE=1` it writes the rows
 * and answers of 0.2.0 that `test/upgrade/rows.test.ts` begins with.
 */
import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { eventually } from "../harness/eventually.ts";
import { dropDatabase, emptyDatabase } from "../harness/harness.ts";
import { type Client, clientAt, sharedRedisUrl, startInstallation, textOf } from "../harness/processes.ts";
import { inRepository } from "../harness/repository.ts";
import { stopProcess } from "../harness/service-process.ts";
import { fetch020 } from "../upgrade/earlier-release.ts";
import { readRows } from "../upgrade/rows.ts";
import { asker, decideScene, makeScene, readScene } from "../upgrade/scene.ts";

const earlier = fetch020();
const drainSeconds = 20;

/** A caller that asks for one turn after the other, each of a session of its own. */
function callAgain(clients: readonly Client[], name: string, ended: () => boolean) {
  const seen: { readonly turnId: string; readonly text: string; readonly finished: boolean }[] = [];
  const refused: string[] = [];
  const run = async () => {
    for (let n = 0; !ended(); n++) {
      const client = clients[n % clients.length] as Client;
      const text = `${name}-${n} [[sim: text="one two three four" chunks=4 delayMs=50]]`;
      try {
        const { turnId, sessionId, stream } = await client.turn(text);
        await stream.closed;
        // A stream of a process that ends breaks off, and is joined at another one.
        const finished = stream.finished || (await joined(clients, client, sessionId));
        seen.push({ turnId, text: stream.finished ? textOf(stream.chunks) : "one two three four", finished });
      } catch (error) {
        refused.push(String(error));
      }
    }
  };
  return { seen, refused, done: run() };
}

async function joined(clients: readonly Client[], left: Client, sessionId: string): Promise<boolean> {
  for (const other of clients.filter((client) => client !== left)) {
    const response = await other.request("GET", `/v1/agents/${other.agentId}/sessions/${sessionId}/stream`);
    const text = response.status === 204 ? "[DONE]" : await response.text();
    if (text.includes("[DONE]")) return true;
  }
  return false;
}

test.skipIf(earlier === null || sharedRedisUrl === null)(
  "0.2.0 becomes this release while turns run: none is lost, and all that was there is",
  async () => {
    if (earlier === null) return;
    const databaseUrl = await emptyDatabase();
    await using installation = await startInstallation({ databaseUrl });
    const { env, sql, model } = installation;
    earlier.run(["migrate"], { ...env, LOG_LEVEL: "error" });
    const made = earlier.run(["tenant", "create", "--name", "Acme", "--json"], { ...env, LOG_LEVEL: "silent" });
    const { tenantId, token } = JSON.parse(/\{.*"token".*\}/s.exec(made)?.[0] ?? "{}");
    const drain = { DRAIN_SECONDS: String(drainSeconds) };
    const oldServes = [await installation.serve(drain, earlier.code), await installation.serve(drain, earlier.code)];
    const oldWorks = [await installation.work(drain, earlier.code), await installation.work(drain, earlier.code)];
    const oldUrl = oldServes[0]?.url ?? "";
    const scene = await makeScene(asker(oldUrl, token), model.url);
    const before = await readScene(asker(oldUrl, token), scene);
    if (process.env.WRITE === "1") {
      const kept = { token, encryptionKey: env.ENCRYPTION_KEY, modelUrl: model.url, scene, answers: before };
      await writeFile(
        inRepository("test/upgrade/rows-0.2.0.json"),
        `${JSON.stringify({ ...kept, rows: await readRows(sql) }, null, 1)}\n`,
      );
    }

    const at = (url: string) => clientAt(url, { tenantId, token, agentId: scene.agentId });
    const clients = oldServes.map(({ url }) => at(url));
    let isOver = false;
    const callers = [0, 1, 2, 3].map((n) => callAgain(clients, `caller-${n}`, () => isOver));
    const seenSince = (from: number) => () => callers.every(({ seen }) => seen.length > from + 2);
    const moreTurns = () => eventually(seenSince(Math.max(...callers.map(({ seen }) => seen.length))), 60_000);
    await moreTurns();

    await migrate(databaseUrl, createLogger("silent"));
    await moreTurns();
    for (const old of oldWorks) {
      await installation.work(drain);
      await stopProcess(old, drainSeconds);
      await moreTurns();
    }
    let newUrl = "";
    for (const [place, old] of oldServes.entries()) {
      newUrl = (await installation.serve(drain)).url;
      clients[place] = at(newUrl);
      await stopProcess(old, drainSeconds);
      await moreTurns();
    }
    isOver = true;
    await Promise.all(callers.map(({ done }) => done));

    const seen = callers.flatMap((caller) => caller.seen);
    process.stderr.write(`  ${seen.length} turns over the upgrade\n`);
    expect(callers.flatMap(({ refused }) => refused)).toEqual([]);
    expect(seen.filter(({ finished, text }) => !finished || text !== "one two three four")).toEqual([]);
    const [row] = await sql<{ turns: number; metered: number }[]>`
      select count(*)::int as turns, count(u.turn_id)::int as metered from turns t left join usage u on u.turn_id = t.id
      where t.id = any(${seen.map(({ turnId }) => turnId)}) and t.status = 'succeeded'`;
    expect(row).toEqual({ turns: seen.length, metered: seen.length });
    await decideScene(asker(newUrl, token), scene);
    await dropDatabase(databaseUrl);
  },
  600_000,
);
