/** How the AI SDK's `useChat` speaks to Parley through `server.ts`: the transport of the README, with the session in the page's address. */
import {
  lastAssistantMessageIsCompleteWithToolCalls as allAnswered,
  lastAssistantMessageIsCompleteWithApprovalResponses as allDecided,
  DefaultChatTransport,
  type UIMessage,
} from "ai";

/** `server.ts` stands for the agent. */
const agentUrl = `${window.location.origin}/chat`;
/** The session's id stands behind the # of the page's address, so that a reload, or a bookmark, finds it. */
let sessionUrl = window.location.hash === "" ? null : `${agentUrl}/sessions/${window.location.hash.slice(1)}`;
let stopping: Promise<unknown> = Promise.resolve();
let onIdle = () => {};

export const transport = new DefaultChatTransport({
  fetch: (async (input: RequestInfo | URL, { signal, ...init }: RequestInit = {}) => {
    const response = await fetch(input, init);
    if (response.status === 204) onIdle();
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
    // A decision goes with its message, which is not the last where a question follows that was refused meanwhile.
    const decided = trigger === "submit-message" ? messages.find(({ id }) => id === messageId) : undefined;
    const message = decided ?? messages.at(-1);
    if (sessionUrl === null) return { api: `${agentUrl}/sessions`, body: { message } };
    const about = trigger === "regenerate-message" ? { trigger, messageId } : {};
    // While a call waits for a person nothing waits behind it: the hook sends no decision before an open request has ended.
    const asks = messages.some(({ parts }) =>
      parts.some((part) => "state" in part && part.state === "approval-requested"),
    );
    return { api: sessionUrl, body: { message, ...(asks ? {} : { onBusy: "enqueue" }), ...about } };
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

/**
 * For the hook's `sendAutomaticallyWhen`: the last answer's calls are all decided, or have their results; a question may
 * follow it that was refused while they waited. Once the answer has gone on, that question is sent again.
 */
export function goesOn({ messages }: { messages: UIMessage[] }): boolean {
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const upTo = { messages: messages.slice(0, answered + 1) };
  const asks = messages[answered]?.parts.some((part) => "state" in part && part.state === "approval-requested");
  const isLeft = messages.at(-1)?.role === "user" && asks === false;
  return allDecided(upTo) || allAnswered(upTo) || isLeft;
}

/** Has `read` called when the page joins and nothing runs: an answer may have ended since its messages were read. */
export function whenIdle(read: () => void): void {
  onIdle = read;
}
