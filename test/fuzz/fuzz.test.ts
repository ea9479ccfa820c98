import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { callOf } from "../contract/calls.ts";
import { formsOf } from "../contract/contract.ts";
import { dereference } from "../contract/dereference.ts";
import { Scene } from "../contract/scene.ts";
import { operations } from "../contract/table.ts";
import { useWorld } from "../contract/world.ts";
import type { KnownIds } from "./from-schema.ts";
import { Judge } from "./judge.ts";
import { type Described, type Ids, shotsAt, type Target } from "./requests.ts";

/** `npm run fuzz -- --count n --seed n` says how many; without it a short run of always the same requests. */
const count = Number(process.env.PARLEY_FUZZ_COUNT ?? 1_500);
const seed = Number(process.env.PARLEY_FUZZ_SEED ?? 20_260_101);
const timeoutMs = 60_000 + count * 100;

const w = await useWorld();
const [own, foreign] = [await Scene.open(w), await Scene.open(w)];
const { body } = await own.t.call("GET", "/openapi.json", { token: null });
const targets = await targetsOf(own, dereference(body).paths);
const ids: Ids = { own: await idsOf(own), foreign: await idsOf(foreign) };
// From here on no worker runs, so that a write comes from a request.
await w.workers.drain(0);
const judge = new Judge(w.h.app, w.h.sql, targets);
await judge.begin();

/** Every operation with the document's words for it, and a call that would succeed. */
async function targetsOf(s: Scene, paths: Record<string, Record<string, Described>>): Promise<Target[]> {
  const all: Target[] = [];
  for (const contract of operations) {
    const [method = "", table = ""] = contract.op.split(" ");
    const path = table.replace(/:([A-Za-z]+)/g, "{$1}");
    const described = paths[path]?.[method.toLowerCase()];
    if (described === undefined) throw new Error(`The document lacks ${contract.op}.`);
    const form = formsOf(contract).at(-1) ?? "b";
    const { params = {}, query = {}, headers = {}, body, token } = await callOf(s, contract.op, form);
    const own = { authorization: `Bearer ${token ?? s.t.token}`, "api-form": form, ...headers };
    const usual = { params, query: new URLSearchParams(query).toString(), headers: own, body };
    all.push({ op: `${method} ${path}`, method, path, described, usual });
  }
  return all;
}

/** A tenant's ids by prefix. */
async function idsOf(s: Scene): Promise<KnownIds> {
  const known: Record<string, string[]> = {};
  for (const id of [
    await s.theAgent(),
    await s.theProvider(),
    await s.theMcp(),
    await s.thePrompt(),
    await s.theWorkspace(),
    await s.theSandbox(),
    await s.theTask(),
    ...Object.values(await s.theSession()),
    ...Object.values(await s.theSkill()),
    ...Object.values(await s.theMemory()),
    ...Object.values(await s.theRun()),
  ]) {
    const prefix = id.split("_")[0] ?? "";
    known[prefix] = [...(known[prefix] ?? []), id];
  }
  return known;
}

describe("requests made from the OpenAPI document, most of them wrong", () => {
  test(
    `${count} of seed ${seed}: no 500, no hang, errors in the envelope and as documented, and nothing saved by them`,
    async () => {
      const shots = fc.oneof(...targets.map((target) => shotsAt(target, ids)));
      await fc.assert(
        fc.asyncProperty(shots, (shot) => judge.judge(shot)),
        {
          seed,
          numRuns: count,
          ...(process.env.PARLEY_FUZZ_PATH === undefined ? {} : { path: process.env.PARLEY_FUZZ_PATH }),
        },
      );
      const spread = [...judge.statuses].sort(([one], [other]) => one - other);
      process.stdout.write(
        `fuzz: seed ${seed}, ${count} requests: ${spread.map((pair) => pair.join(" × ")).join(", ")}\n`,
      );
      if (count >= 1_000) expect([...judge.statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 404]));
    },
    timeoutMs,
  );
});
