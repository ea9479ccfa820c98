import { Chat } from "@ai-sdk/react";
import {
  lastAssistantMessageIsCompleteWithToolCalls as allAnswered,
  lastAssistantMessageIsCompleteWithApprovalResponses as allDecided,
  DefaultChatTransport,
  type UIMessage,
} from "ai";
import type { UIMessage as StoredMessage } from "parley/client";
import { parley } from "../api/client.ts";
import { consoleFetch } from "../api/fetch.ts";
import { type CallPart, callName } from "../conversation/parts-of.ts";
import { movesOf, waitingCalls } from "./phase.ts";

/** What a person says to a call that waits: whether it may run, its result, or why there is none. */
export type CallWord =
  | { readonly approved: boolean; readonly reason?: string }
  | { readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string };

/** What a conversation is with: an agent, in a version of it or the present one, and its session once there is one. */
export interface TalkWith {
  readonly agentId: string;
  readonly version: number | null;
  readonly sessionId: string | null;
}

/** This many messages are shown; a longer session's page has the others. */
const messagesMax = 200;

let talks = 0;

/** One conversation of the playground: the AI SDK's chat, on the operations that any page would use. */
export class Talk {
  /** Unlike that of any other conversation of the page. */
  readonly id = `talk-${++talks}`;
  readonly agentId: string;
  readonly version: number | null;
  /** Whom a session that is begun here belongs to; empty: the tenant itself. */
  userId = "";
  /** Metadata of a session that is begun here. */
  metadata: Readonly<Record<string, unknown>> = {};
  readonly chat: Chat<UIMessage>;
  /** What was said here to calls, by their ids: it is sent once every call of the message has its word. */
  readonly #said = new Map<string, () => unknown>();
  readonly #onSession: (sessionId: string) => void;
  #sessionId: string | null;
  readonly #left = new AbortController();
  #loaded: Promise<{ hasEarlier: boolean }> | null = null;
  #stopping: Promise<unknown> = Promise.resolve();
  /** What the last look found to have moved, and what the messages were last read anew for. */
  #moved = "";
  #readAnewFor = "";

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

  /** Says to a call that waits what a person decided, or what came of it. */
  say(part: CallPart, word: CallWord): void {
    const { toolCallId, approval } = part;
    const act = () =>
      "approved" in word
        ? this.chat.addToolApprovalResponse({ id: approval?.id ?? "", ...word })
        : this.chat.addToolOutput({ tool: callName(part), toolCallId, ...word } as never);
    this.#said.set(toolCallId, act);
    void act();
  }

  /** Ends the reading; a turn that runs goes on. */
  leave(): void {
    this.#left.abort();
  }

  /** Ends the turn that runs or waits, and those behind it; what was said stays. */
  async cancel(): Promise<void> {
    await parley.sessions.cancel(this.agentId, this.#sessionId as string, { keep: "partial", queued: true });
  }

  /**
   * Looks whether what waits here was decided elsewhere, and once two looks agree on that reads
   * the messages anew: what was just decided here may be read before it is decided there. They
   * are read once for each move, so that nothing is read in circles.
   */
  async catchUp(signal: AbortSignal): Promise<"as shown" | "moved"> {
    const page = await this.#read(1, signal);
    const shown = this.chat.messages as StoredMessage[];
    const moves = this.#isIdle ? movesOf(waitingCalls(shown), page.data) : "";
    const found = moves && `${shown.at(-1)?.id} ${moves}`;
    const before = this.#moved;
    this.#moved = found;
    if (found === "" || found === this.#readAnewFor) return "as shown";
    if (found !== before) return "moved";
    this.#readAnewFor = found;
    await this.#readAnew();
    return "as shown";
  }

  async #load(): Promise<{ hasEarlier: boolean }> {
    if (this.#sessionId === null) return { hasEarlier: false };
    const page = await this.#read(messagesMax);
    this.chat.messages = page.data as UIMessage[];
    void this.chat.resumeStream();
    return { hasEarlier: page.nextCursor !== null };
  }

  async #readAnew(): Promise<void> {
    const { data } = await this.#read(messagesMax);
    if (!this.#isIdle) return;
    const messages = data as UIMessage[];
    this.chat.messages = messages;
    // Somebody else decided another call of the message: what was said here to the others is not sent yet.
    for (const { toolCallId } of waitingCalls(data)) void this.#said.get(toolCallId)?.();
    if (!this.#isIdle) return;
    // Not awaited: the turn may run for long. What cannot be read stays as it was.
    void this.#follow(messages).catch(() => {});
  }

  async #follow(messages: UIMessage[]): Promise<void> {
    await this.chat.resumeStream();
    if (this.chat.messages !== messages || waitingCalls(messages as StoredMessage[]).length > 0) return;
    // There was nothing to join: the turn may have ended after the messages were read.
    const latest = await this.#read(messagesMax);
    if (this.chat.messages === messages && this.#isIdle) this.chat.messages = latest.data as UIMessage[];
  }

  #read(limit: number, signal?: AbortSignal) {
    const query = { limit, pending: true };
    return parley.sessions.listMessages(this.agentId, this.#sessionId as string, query, signal && { signal });
  }

  /** Whether the page still shows it, and nothing is sent or read. */
  get #isIdle(): boolean {
    return !this.#left.signal.aborted && this.chat.status === "ready";
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
        const user = this.userId === "" ? {} : { userId: this.userId };
        const metadata = Object.keys(this.metadata).length === 0 ? {} : { metadata: this.metadata };
        if (this.#sessionId === null)
          return { api: this.#agentPath, body: { message, ...version, ...user, ...metadata } };
        const about = trigger === "regenerate-message" ? { trigger, messageId } : {};
        return { api: this.#sessionPath, body: { message, onBusy: "enqueue", ...about } };
      },
      prepareReconnectToStreamRequest: () => ({ api: `${this.#sessionPath}/stream` }),
    });
  }

  /** As `src/client/use-chat.ts` does it: the hook's `stop()` ends the reading, and here the turn, which keeps what it said. */
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

/** What went wrong with a request or a turn: the service's own words and code, where the error holds its envelope. */
export function talkFailure({ message }: Error): {
  readonly text: string;
  readonly code: string;
  readonly budgetId?: string | undefined;
} {
  try {
    const { error } = JSON.parse(message) as ErrorEnvelope;
    if (typeof error?.message !== "string") return { text: message, code: "" };
    return { text: error.message, code: error.code ?? "", budgetId: error.details?.budgetId };
  } catch {
    return { text: message, code: "" };
  }
}

interface ErrorEnvelope {
  readonly error?: {
    readonly message?: string;
    readonly code?: string;
    readonly details?: { readonly budgetId?: string };
  };
}
