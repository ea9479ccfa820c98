import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "./harness.ts";
import {
  aftermathOf,
  type Client,
  callsOf,
  type Installation,
  type JsonAnswer,
  type ServeProcess,
  sharedRedisUrl,
  startInstallation,
  type Turn,
  textOf,
  type WorkProcess,
} from "./processes.ts";

/** A dead worker's turns have ended or run again within this (design section 1, rule 4). */
const limitMs = 10_000;

let house: Installation;
let http: ServeProcess;
let c: Client;

/** A script that shows nothing for a while, then answers. */
const silent = (mark: string) => `${mark} [[sim: firstDelayMs=2500 text="late answer" chunks=2]]`;
/** A script that shows chunks for a long time. */
const talking = (mark: string) => `${mark} [[sim: chunks=2000 delayMs=20]]`;
const quick = '[[sim: text="quick answer"]]';

describe.skipIf(sharedRedisUrl === null)("kill -9 of a worker", () => {
  beforeAll(async () => {
    house = await startInstallation();
    http = await house.serve();
    c = await house.client(http.url);
  });
  afterAll(() => house.stop());

  test("while it claims nothing, waits, streams: another worker takes over, each turn ends once", async () => {
    const doomed = await house.work({ WORKER_CONCURRENCY: "4" });
    const streams = [await c.turn(silent("silent-stream")), await c.turn(talking("shown-stream"))];
    const [silentTurn, shownTurn] = streams as [Turn, Turn];
    const answers = Promise.all([c.json(silent("silent-json")), c.json(talking("shown-json"))]);
    await eventually(async () => (await countClaimed(doomed)) === 4);
    const fetched = [await c.turn("fetched-1"), await c.turn("fetched-2")];
    await eventually(async () => (await countFetched()) > 0);
    await eventually(async () => shownTurn.stream.types.includes("text-delta"));
    const successor = await house.work();

    const killedAt = Date.now();
    await doomed.kill();
    await Promise.all([...streams, ...fetched].map(({ stream }) => stream.closed));
    const [silentJson, shownJson] = await answers;
    const tookMs = Date.now() - killedAt;
    process.stderr.write(`crash: all ended ${tookMs} ms after the kill\n`);
    expect(tookMs).toBeLessThan(limitMs);

    expectWhole(silentTurn, "late answer");
    expect(await aftermathOf(house.sql, silentTurn.turnId)).toEqual({
      status: "succeeded",
      attempt: 2,
      metered: 1,
      messages: 2,
    });
    for (const turn of fetched) expectWhole(turn);
    for (const turn of fetched)
      expect(await aftermathOf(house.sql, turn.turnId)).toEqual({
        status: "succeeded",
        attempt: 1,
        metered: 1,
        messages: 2,
      });
    expect(callsOf(house.model, "fetched-1")).toBe(1);
    expectBroken(shownTurn);
    expect(await aftermathOf(house.sql, shownTurn.turnId)).toEqual({
      status: "failed",
      attempt: 1,
      metered: 1,
      messages: 0,
    });
    expect(silentJson.status).toBe(201);
    expectLost(shownJson);
    for (const { sessionId } of [...streams, ...fetched]) expect((await c.json(quick, sessionId)).status).toBe(200);
    await successor.kill();
  }, 40_000);
});

/** Turns that a worker has claimed. */
async function countClaimed({ workerId }: WorkProcess): Promise<number> {
  const [row] = await house.sql<{ n: number }[]>`
    select count(*)::int as n from turns where status = 'running' and worker_id = ${workerId}`;
  return row?.n ?? 0;
}

/** Turns whose job some worker has fetched, and not claimed. */
async function countFetched(): Promise<number> {
  const [row] = await house.sql<{ n: number }[]>`
    select count(*)::int as n from turns t join graphile_worker._private_jobs j on j.payload ->> 'turnId' = t.id
    where t.status = 'queued' and j.locked_at is not null`;
  return row?.n ?? 0;
}

/** A stream with one sequence, one start and its end. */
function expectWhole({ stream }: Turn, text?: string): void {
  expect(stream.finished).toBe(true);
  expect(stream.types.filter((type) => type === "start")).toHaveLength(1);
  expect(stream.types.at(-1)).toBe("finish");
  expect(stream.ids.map((id) => Number(id.split(":")[1]))).toEqual(stream.ids.map((_, index) => index));
  if (text !== undefined) expect(textOf(stream.chunks)).toBe(text);
}

/** A stream that ended with an error chunk. */
function expectBroken({ stream }: Turn): void {
  expect(stream.finished).toBe(true);
  expect(stream.types.filter((type) => type === "start")).toHaveLength(1);
  expect(stream.types.at(-1)).toBe("error");
  expect(stream.types.filter((type) => type === "error")).toHaveLength(1);
}

/** The JSON answer to a turn whose worker was lost. */
function expectLost({ status, turnId, body }: JsonAnswer): void {
  expect(status).toBe(503);
  expect(body.error.code).toBe("service_unavailable");
  expect(turnId).toMatch(/^turn_/);
}
