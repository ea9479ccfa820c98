import { afterAll, afterEach, expect, test } from "bun:test";
import { createContext } from "../../../src/kernel/context.ts";
import type { Relay } from "../../../src/kernel/relay/relay.ts";
import { startWorkerPool } from "../../../workers/main.ts";
import { eventually } from "../../harness/eventually.ts";
import { useService } from "../../harness/fixture.ts";
import { makeAgent } from "../../harness/seed.ts";
import { play, script } from "../../harness/turns.ts";

const encryptionKey = Buffer.alloc(32, 1);
const h = await useService({ env: { ENCRYPTION_KEY: encryptionKey.toString("base64") } });
const t = await h.tenant();

/** Which events the relay takes without an answer, until `answer`. */
let isHeld: (sse: string) => boolean = () => false;
let held: (() => void)[] = [];

function answer(): void {
  isHeld = () => false;
  for (const go of held) go();
  held = [];
}

/** A relay that takes each append at once, and whose answer may come late. */
function lateAnswers(relay: Relay): Relay {
  const append: Relay["append"] = async (key, appending, onSent) => {
    let sse = "";
    const batch = () => {
      const taken = typeof appending === "function" ? appending() : appending;
      sse = taken.sse;
      return taken;
    };
    const result = await relay.append(key, batch, onSent);
    if (isHeld(sse)) await new Promise<void>((resolve) => held.push(resolve));
    return result;
  };
  return new Proxy(relay, {
    get: (target, name: keyof Relay) => {
      if (name === "append") return append;
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const { config, log, relay, publicUrl, sql } = h.ctx;
const ctx = createContext({ config, log, sql, relay: lateAnswers(relay), redis: null, encryptionKey, publicUrl });
const pool = await startWorkerPool(ctx, { databaseUrl: h.databaseUrl });
afterEach(answer);
afterAll(() => pool.drain(0));

const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "full" } });

const isSaved = async (note: string) => (await sql`select 1 from memories where text = ${note}`).length > 0;

/** Returns once the turn's row says what it has to while the relay's answer is held. */
async function heldUntil(note: string, wanted: "areToolsNoted" | "isStepDone"): Promise<void> {
  await eventually(async () => {
    const [row] = await sql<{ areToolsNoted: boolean; isStepDone: boolean }[]>`
      select tool_events is not null as are_tools_noted, steps_done = 1 as is_step_done
      from turns where input::text like ${`%${note}%`}`;
    return held.length > 0 && row?.[wanted] === true;
  });
}

test("the note before a tool does not wait for the relay, and the tool waits for both", async () => {
  isHeld = (sse) => sse.includes("tool-input-available") && sse.includes("second note");
  const calls = ["first note", "second note"].map((text) => `tool=memory_save args={"text":"${text}"};`);
  const playing = play(t, agentId, null, { message: script(`${calls.join(" ")} text="done"`) });
  // Only from the second step on the row tells a note for tools from one for what was shown.
  await heldUntil("second note", "areToolsNoted");
  expect([await isSaved("first note"), await isSaved("second note")]).toEqual([true, false]);
  answer();
  expect((await playing).chunks.at(-1)?.type).toBe("finish");
  expect(await isSaved("second note")).toBe(true);
});

test("the checkpoint of a step does not wait for the relay, and the next model call waits for both", async () => {
  const before = h.model.requests().length;
  isHeld = (sse) => sse.includes("finish-step");
  const message = script('tool=memory_save args={"text":"third note"}; text="done"');
  const playing = play(t, agentId, null, { message });
  await heldUntil("third note", "isStepDone");
  expect(await isSaved("third note")).toBe(true);
  expect(h.model.requests().length - before).toBe(1);
  answer();
  expect((await playing).chunks.at(-1)?.type).toBe("finish");
  expect(h.model.requests().length - before).toBe(2);
});
