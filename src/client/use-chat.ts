/**
 * The AI SDK's `useChat` on Parley: its transport, and what a page needs beside it. It needs the package `ai`, which a page
 * with the hook has.
 */
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";

/** Which agent to talk to, and as whom. */
export interface ParleyChatOptions {
  /** The agent's address, `https://parley.example.org/v1/agents/ag_…`, or the one of a server of yours that stands for it. */
  readonly agentUrl: string;
  /** A client token, or on a server an API key; left out where a server of yours adds it. */
  readonly apiKey?: string;
  /** The session to go on with; left out, the first message creates one. */
  readonly sessionUrl?: string | null;
  /** Told the session's address once there is one. Keep it, so that a reload finds the session again. */
  readonly onSession?: (sessionUrl: string) => void;
  /** Called when the hook joined and no turn runs: the answer may have ended since the messages were read. */
  readonly onIdle?: () => void;
  /** Replaces the runtime's own `fetch`, such as with one that asks for the next client token. */
  readonly fetch?: (input: string, init: RequestInit) => Promise<Response>;
}

/** A chat with an agent. A reload, `stop`, `regenerate`, messages meanwhile, approvals and client tools work as the hook has them. */
export class ParleyChat<M extends UIMessage = UIMessage> {
  /** For the hook's `transport`. */
  readonly transport: DefaultChatTransport<M>;
  readonly #options: ParleyChatOptions;
  #sessionUrl: string | null;
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(options: ParleyChatOptions) {
    this.#options = options;
    this.#sessionUrl = options.sessionUrl ?? null;
    this.transport = new DefaultChatTransport<M>({
      fetch: ((input: string, init: RequestInit = {}) => this.#fetch(input, init)) as typeof fetch,
      prepareSendMessagesRequest: (request) => this.#prepare(request),
      prepareReconnectToStreamRequest: () => ({ api: `${this.#sessionUrl}/stream` }),
    });
  }

  /** The session's address; null before the first message. */
  get sessionUrl(): string | null {
    return this.#sessionUrl;
  }

  /** Resolves to what was said so far, the question under way included, for the hook's `messages`; null without a session. */
  async load(): Promise<M[] | null> {
    if (this.#sessionUrl === null) return null;
    const response = await this.#ask(`${this.#sessionUrl}/messages?pending=true&limit=200`, {});
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error.message);
    return answer.data;
  }

  #ask(input: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#options.apiKey !== undefined) headers.set("Authorization", `Bearer ${this.#options.apiKey}`);
    return (this.#options.fetch ?? fetch)(input, { ...init, headers });
  }

  async #fetch(input: string, { signal, ...init }: RequestInit): Promise<Response> {
    const response = await this.#ask(input, init);
    if (response.status === 204) this.#options.onIdle?.();
    const location = response.headers.get("Location");
    if (location !== null) {
      this.#sessionUrl = new URL(location, this.#options.agentUrl).href;
      this.#options.onSession?.(this.#sessionUrl);
    }
    // The hook's stop() ends the reading; this ends the turn, and keeps what it said.
    const cancel = () => {
      const headers = { "Content-Type": "application/json" };
      const body = '{"keep":"partial","queued":true}';
      this.#stopping = this.#ask(`${this.#sessionUrl}/cancel`, { method: "POST", headers, body }).catch(() => {});
    };
    if (signal?.aborted && init.method === "POST") cancel();
    else if (response.status < 202) signal?.addEventListener("abort", cancel);
    return response;
  }

  async #prepare({ messages, trigger, messageId }: { messages: M[]; trigger: string; messageId: string | undefined }) {
    await this.#stopping;
    // A decision goes with its message, which is not the last where a question follows that was refused meanwhile.
    const decided = trigger === "submit-message" ? messages.find(({ id }) => id === messageId) : undefined;
    const message = decided ?? messages.at(-1);
    if (this.#sessionUrl === null) return { api: `${this.#options.agentUrl}/sessions`, body: { message } };
    const about = trigger === "regenerate-message" ? { trigger, messageId } : {};
    // While a call waits for a person nothing waits behind it: the hook sends no decision before an open request has ended.
    const waits = messages.some(asks) ? {} : { onBusy: "enqueue" };
    return { api: this.#sessionUrl, body: { message, ...waits, ...about } };
  }
}

/**
 * For the hook's `sendAutomaticallyWhen`: the last answer's calls are all decided, or have their results; a question may
 * follow it that was refused while they waited. Once the answer has gone on, that question is sent again.
 */
export function canGoOn<M extends UIMessage>({ messages }: { readonly messages: M[] }): boolean {
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const upTo = { messages: messages.slice(0, answered + 1) };
  const answer = messages[answered];
  const isLeft = messages.at(-1)?.role === "user" && answer !== undefined && !asks(answer);
  const isDecided = lastAssistantMessageIsCompleteWithApprovalResponses(upTo);
  return isDecided || lastAssistantMessageIsCompleteWithToolCalls(upTo) || isLeft;
}

/** Whether a call of a message waits for a person. */
function asks({ parts }: UIMessage): boolean {
  return parts.some((part) => "state" in part && part.state === "approval-requested");
}
