import { Chat } from "@ai-sdk/react";
import {
  lastAssistantMessageIsCompleteWithToolCalls as allAnswered,
  lastAssistantMessageIsCompleteWithApprovalResponses as allDecided,
  DefaultChatTransport,
  type UIMessage,
} from "ai";
import { parley } from "../api/client.ts";
import { consoleFetch } from "../api/fetch.ts";

/** What a conversation is with: an agent, in a version of it or the present one, and its session once there is one. */
export interface TalkWith {
  readonly agentId: string;
  readonly version: number | null;
  readonly sessionId: string | null;
}

/** So many messages are shown; a longer session's page has the others. */
const messagesMax = 200;

let talks = 0;

/** One conversation of the playground: the AI SDK's chat, on the operations that any page would use. */
export class Talk {
  /** Unlike that of any other conversation of the page. */
  readonly id = `talk-${++talks}`;
  readonly agentId: string;
  readonly version: number | null;
  readonly chat: Chat<UIMessage>;
  readonly #onSession: (sessionId: string) => void;
  #sessionId: string | null;
  readonly #left = new AbortController();
  #loaded: Promise<{ hasEarlier: boolean }> | null = null;
  #stopping: Promise<unknown> = Promise.resolve();

  constructor({ agentId, version, sessionId }: TalkWith, onSession: (sessionId: string) => void) {
    this.agentId = agentId;
    this.version = version;
    this.#sessionId = sessionId;
    this.#onSession = onSession;
    this.chat = new Chat({
      transport: this.#transport(),
      sendAutomaticallyWhen: (state) => allDecided(state) || allAnswered(state),
    });
  }

  get sessionId(): string | null {
    return this.#sessionId;
  }

  /** Whether this is that conversation. */
  isWith({ agentId, version, sessionId }: TalkWith): boolean {
    return agentId === this.agentId && version === this.version && sessionId === this.#sessionId;
  }

  /** Reads what was said before, once, and follows a turn that is under way. */
  load(): Promise<{ hasEarlier: boolean }> {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** Ends the reading; a turn that runs goes on. */
  leave(): void {
    this.#left.abort();
  }

  /** Ends the turn that runs or waits, and those behind it; what was said stays. */
  async cancel(): Promise<void> {
    await parley.sessions.cancel(this.agentId, this.#sessionId as string, { keep: "partial", queued: true });
  }

  async #load(): Promise<{ hasEarlier: boolean }> {
    if (this.#sessionId === null) return { hasEarlier: false };
    const page = await parley.sessions.listMessages(this.agentId, this.#sessionId, {
      limit: messagesMax,
      pending: true,
    });
    this.chat.messages = page.data as UIMessage[];
    void this.chat.resumeStream();
    return { hasEarlier: page.nextCursor !== null };
  }

  get #agentPath(): string {
    return `/v1/agents/${this.agentId}/sessions`;
  }

  get #sessionPath(): string {
    return `${this.#agentPath}/${this.#sessionId}`;
  }

  #transport(): DefaultChatTransport<UIMessage> {
    return new DefaultChatTransport({
      fetch: ((input: string, init: RequestInit = {}) => this.#send(input, init)) as typeof fetch,
      prepareSendMessagesRequest: async ({ messages, trigger, messageId }) => {
        await this.#stopping;
        const message = messages.at(-1);
        const version = this.version === null ? {} : { version: this.version };
        if (this.#sessionId === null) return { api: this.#agentPath, body: { message, ...version } };
        const about = trigger === "regenerate-message" ? { trigger, messageId } : {};
        return { api: this.#sessionPath, body: { message, onBusy: "enqueue", ...about } };
      },
      prepareReconnectToStreamRequest: () => ({ api: `${this.#sessionPath}/stream` }),
    });
  }

  /** As the README's transport does it: the hook's `stop()` ends the reading, and here the turn, which keeps what it said. */
  async #send(path: string, { signal, ...init }: RequestInit): Promise<Response> {
    const response = await consoleFetch(path, { ...init, signal: this.#left.signal });
    const sessionId = response.headers.get("Location")?.split("/").at(-1);
    if (sessionId !== undefined) {
      this.#sessionId = sessionId;
      this.#loaded = Promise.resolve({ hasEarlier: false });
      this.#onSession(sessionId);
    }
    const cancel = () => {
      this.#stopping = this.cancel().catch(() => {});
      void response.body?.cancel().catch(() => {});
    };
    if (signal?.aborted && init.method === "POST") cancel();
    else if (response.status < 202) signal?.addEventListener("abort", cancel);
    return response;
  }
}

/** What went wrong with a request or a turn: the service's own words, where the error holds its envelope. */
export function talkErrorText({ message }: Error): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message : message;
  } catch {
    return message;
  }
}
