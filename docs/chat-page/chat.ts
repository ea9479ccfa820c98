/** How the AI SDK's `useChat` speaks to Parley through `server.ts`. */
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";

/** The session's id stands behind the # of the page's address, so that a reload, or a bookmark, finds it. */
const sessionId = () => window.location.hash.slice(1);
const sessionUrl = () => `/chat/sessions/${sessionId()}`;

/** The question of the latest turn. */
let asked: UIMessage | undefined;

export const transport = new DefaultChatTransport({
  fetch: (async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const { method, body, ...rest } = init;
    // The transport posts whatever it sends, and joining is a GET.
    const response = await fetch(input, String(input).includes(joining) ? rest : init);
    const location = response.headers.get("Location");
    if (location !== null) window.history.replaceState(null, "", `#${location.split("/").at(-1)}`);
    if (response.ok && asked !== undefined) window.sessionStorage.setItem(sessionId(), JSON.stringify(asked));
    return response;
  }) as typeof fetch,
  prepareSendMessagesRequest: async ({ messages, trigger, messageId }) => {
    const message = messages.at(-1);
    if (message?.role === "assistant") return { api: await decide(message), body: {} };
    asked = message;
    return { api: sessionId() === "" ? "/chat/sessions" : sessionUrl(), body: { message, trigger, messageId } };
  },
  prepareReconnectToStreamRequest: () => ({ api: `${sessionUrl()}/stream` }),
});

interface Approvals {
  approvals: { id: string; status: "pending" | "approved" | "denied" }[];
  /** How the turn goes on once everything is decided. */
  continuation: { id: string } | null;
}
const joining = "/tool-approval-continuations/";

/** Sends the decisions that a message holds, and answers where the rest of its turn can be read. */
async function decide({ parts }: UIMessage): Promise<string> {
  const { approvals, continuation } = await call<Approvals>("/tool-approvals");
  const pending = new Set(approvals.flatMap(({ id, status }) => (status === "pending" ? [id] : [])));
  for (const part of parts) {
    if (!isToolUIPart(part) || part.state !== "approval-responded" || !pending.has(part.approval.id)) continue;
    await call(`/tool-approvals/${part.approval.id}`, { approved: part.approval.approved });
  }
  return sessionUrl() + joining + continuation?.id;
}

/** What was said before the page was loaded; `decided` when its last message was decided and its turn goes on. */
export async function load(): Promise<{ messages: UIMessage[]; decided: boolean }> {
  if (sessionId() === "") return { messages: [], decided: false };
  const { data } = await call<{ data: UIMessage[] }>("/messages?limit=200");
  const messages = withAsked(data);
  return { messages, decided: lastAssistantMessageIsCompleteWithApprovalResponses({ messages }) };
}

/** A question joins the transcript together with its answer; until then the page remembers it. */
function withAsked(messages: UIMessage[]): UIMessage[] {
  const latest = JSON.parse(window.sessionStorage.getItem(sessionId()) ?? "null") as UIMessage | null;
  return latest === null || messages.some(({ id }) => id === latest.id) ? messages : [...messages, latest];
}

/** Stops the turn itself; closing the stream would only stop listening. */
export const cancel = () => call("/cancel", {});

async function call<T>(path: string, body?: object): Promise<T> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(sessionUrl() + path, body === undefined ? {} : init);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer as T;
}
