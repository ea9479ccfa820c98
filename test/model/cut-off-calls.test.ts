import { afterAll, describe, expect, test } from "bun:test";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { startSimulatedModel } from "../../src/simulated-model/server.ts";
import { bothSides, type Scene, type Stage, simulatedStages } from "../harness/model-sides.ts";

const server = startSimulatedModel({ chunkDelayMs: 0 });
afterAll(() => server.stop());
const chat = simulatedStages(server).get("chat") as Stage;
const never = 'text="This must not be asked for."';

function scene(script: string): Scene {
  return { messages: [{ id: "q", role: "user", parts: [{ type: "text", text: `[[sim: ${script}]]` }] } as UiMessage] };
}

describe("calls of an answer, by the reason of its end:", () => {
  test.each(["length", "content_filter", "eos", "STOP", "tool_call", "error"])(
    "a call whose input is whole is made, whatever the reason is called: %s",
    async (finish) => {
      const script = `tool=add args={"a":1,"b":2} finish=${finish}; text="Three."`;
      const { ours } = await bothSides(chat, scene(script));
      expect(ours).toMatchObject({ ended: "finished", ran: ["add"] });
      expect(ours.bodies).toHaveLength(2);
    },
  );

  test("a call that was cut off is told to the model once, and never made", async () => {
    const cut = 'tool=add args="{\\"a\\":1," finish=length';
    for (const [script, calls] of [
      [`${cut}; text="I see."`, 2],
      [`${cut}; ${cut}; ${never}`, 2],
      ['tool=quick args="" finish=length; text=Fine', 2],
    ] as const) {
      const { ours, raw } = await bothSides(chat, scene(script));
      expect([script, ours.ended, ours.ran, ours.bodies.length]).toEqual([script, "finished", [], calls]);
      const told = JSON.stringify((raw.bodies[1] as { messages: unknown }).messages);
      expect(told).toContain("This call was not made: the model's answer was cut off.");
    }
  });
});
