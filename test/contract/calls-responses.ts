import { userMessage } from "../harness/seed.ts";
import type { Caller } from "./caller.ts";
import { nothing } from "./caller.ts";
import type { Scene } from "./scene.ts";

/** The response that the newest turn of a session is. */
export async function responseOf(
  s: Scene,
  session: { readonly agentId: string; readonly sessionId: string },
): Promise<string> {
  return (await s.turnOf(session)).replace("turn_", "resp_");
}

const ofSession: Caller = async (s) => ({ params: { responseId: await responseOf(s, await s.theSession()) } });

/** How the operations of the Open Responses protocol are called so that they succeed. */
export const responseCalls: Readonly<Record<string, Caller>> = {
  "POST /v1/responses": async (s) => ({ body: { model: await s.theAgent(), input: "hi" } }),
  "GET /v1/responses/:responseId": ofSession,
  "POST /v1/responses/:responseId/cancel": async (s) => ({
    params: { responseId: await responseOf(s, await s.newRunning()) },
  }),
  "DELETE /v1/responses/:responseId": async (s) => ({
    params: { responseId: await responseOf(s, await s.newSession()) },
  }),
  "GET /v1/models": nothing,
  "GET /v1/models/:model": async (s) => ({ params: { model: await s.theAgent() } }),
};

/** Further successes of theirs. */
export const responseVariants: readonly { op: string; status: number; shape: string | null; call: Caller }[] = [
  {
    op: "POST /v1/responses",
    status: 200,
    shape: "events",
    call: async (s) => ({ body: { model: await s.theAgent(), input: "hi", stream: true } }),
  },
  {
    op: "POST /v1/responses",
    status: 200,
    shape: "Response",
    call: async (s) => {
      const session = await s.newSession({ message: userMessage("hi") });
      return { body: { model: session.agentId, input: "hi", previous_response_id: await responseOf(s, session) } };
    },
  },
];
