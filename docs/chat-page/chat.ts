/** How the AI SDK's `useChat` speaks to Parley through `server.ts`: the transport of the README, with the session in the page's address. */
import { DefaultChatTransport, type UIMessage } from "ai";

/** `server.ts` stands for the agent. */
const agentUrl = `${window.location.origin}/chat`;
/** The session's id stands behind the # of the page's address, so that a reload, or a bookmark, finds it. */
let sessionUrl = window.location.hash === "" ? null : `${agentUrl}/sessions/${window.location.hash.slice(1)}`;
let stopping: Promise<unknown> = Promise.resolve();

export const transport = new DefaultChatTransport({
  fetch: (async (input: RequestInfo | URL, { signal, ...init }: RequestInit = {}) => {
    const response = await fetch(input, init);
    const location = response.headers.get("Location");
    if (location !== null) {
      sessionUrl = new URL(location, agentUrl).href;
      window.history.replaceState(null, "", `#${sessionUrl.split("/").at(-1)}`);
    }
    // The hook's stop() ends the reading; this ends the turn, and keeps what it said.
    const cancel = () => {
      const headers = { ...(init.headers as object), "content-type": "application/json" };
      const body = '{"keep":"partial","queued":true}';
      stopping = fetch(`${sessionUrl}/cancel`, { ...init, method: "POST", headers, body }).catch(() => {});
    };
    if (signal?.aborted && init.method === "POST") cancel();
    else if (response.status < 202) signal?.addEventListener("abort", cancel);
    return response;
  }) as typeof fetch,
  prepareSendMessagesRequest: async ({ messages, trigger, messageId }) => {
    await stopping;
    const message = messages.at(-1);
    if (sessionUrl === null) return { api: `${agentUrl}/sessions`, body: { message } };
    const about = trigger === "regenerate-message" ? { trigger, messageId } : {};
    return { api: sessionUrl, body: { message, onBusy: "enqueue", ...about } };
  },
  prepareReconnectToStreamRequest: () => ({ api: `${sessionUrl}/stream` }),
});

/** What was said before the page was loaded; `null` when there is no session yet. */
export async function load(): Promise<UIMessage[] | null> {
  if (sessionUrl === null) return null;
  const response = await fetch(`${sessionUrl}/messages?pending=true&limit=200`);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer.data;
}
