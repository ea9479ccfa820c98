import { expect, test } from "bun:test";
import { eventually, sharedRedisUrl } from "../harness/harness.ts";
import { countStep, lostCall, onStepsScene } from "../harness/steps-scene.ts";
import { eventsOf } from "./protocol.ts";

test.skipIf(sharedRedisUrl === null)(
  "a stream goes on after the last completed step when its worker is killed, and is what is stored",
  async () => {
    await onStepsScene(async ({ installation, c, tool }) => {
      const worker = await installation.work();
      const input = `[[sim: ${countStep("a")} ; text="after all of it there is more." delayMs=400]]`;
      const response = await c.request("POST", "/v1/responses", { model: c.agentId, input, stream: true });
      const turnId = response.headers.get("x-turn-id") ?? "";
      const whole = response.text();
      await eventually(async () => {
        const [turn] = await installation.sql`select 1 from turns where id = ${turnId} and steps_done > 0`;
        return turn !== undefined;
      });
      await worker.kill();
      await installation.work();
      const told = eventsOf(await whole);
      expect(told.at(-1)?.data).toBe("[DONE]");
      const events = told.slice(0, -1);
      expect(events.map(({ data }) => data.sequence_number)).toEqual(events.map((_, number) => number));
      const last = events.at(-1)?.data;
      expect([last.type, last.response.status]).toEqual(["response.completed", "completed"]);
      expect(tool.counts.get("a")).toBe(1);
      expect(JSON.stringify(last.response)).not.toContain(lostCall);
      const read = await c.request("GET", `/v1/responses/${last.response.id}`);
      expect(await read.json()).toEqual(last.response);
    });
  },
  120_000,
);
