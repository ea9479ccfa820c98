import { setTimeout } from "node:timers";
import {
  cachedMessageBytes,
  cachedTranscriptMs,
  cachedTranscriptsBytesMax,
  cachedTranscriptsTenantPart,
} from "../../kernel/limits.ts";
import type { PlacedMessage } from "../state/history.ts";

/** Messages of a session that follow one another, as they were read, and what tells whether they are its messages still. */
export interface CachedTranscript {
  readonly tenantId: string;
  /** They begin after this place: 0, or where the summary ends. */
  readonly afterSeq: number;
  /** The place of the last message. */
  readonly uptoSeq: number;
  /** The turn that the last message is of. */
  readonly turnId: string;
  /** How many messages the session has up to that one, those of the summary included. */
  readonly count: number;
  readonly messages: readonly PlacedMessage[];
  /** The messages as JSON have so many bytes. */
  readonly bytes: number;
}

/** How much is cached, and for how long; what the limits say where it is left out. */
export interface CacheOptions {
  readonly bytesMax?: number;
  /** A clock, in milliseconds. */
  readonly now?: () => number;
}

interface Entry {
  readonly transcript: CachedTranscript;
  readonly size: number;
  readonly usedAt: number;
}

/**
 * Transcripts of long sessions that a worker has read, by session. A tenant has a part of the
 * room at most. What was not used for the longest time goes first, and what nobody uses for
 * `cachedTranscriptMs` goes by itself, so that what was deleted does not stay in memory.
 */
export class TranscriptCache {
  readonly #bytesMax: number;
  readonly #now: () => number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;
  #sweeper: ReturnType<typeof setTimeout> | null = null;

  constructor({ bytesMax = cachedTranscriptsBytesMax, now = () => performance.now() }: CacheOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#now = now;
  }

  /** The bytes that count for `cachedTranscriptsBytesMax`. */
  get size(): number {
    return this.#size;
  }

  /** Returns what is cached of a session; only Postgres knows whether it is right still. */
  get(sessionId: string): CachedTranscript | null {
    this.#dropUnused();
    return this.#entries.get(sessionId)?.transcript ?? null;
  }

  /** Caches what was just read of a session in place of what was known of it. One that is larger than a tenant's part is not cached. */
  set(sessionId: string, transcript: CachedTranscript): void {
    this.delete(sessionId);
    const size = transcript.bytes + (transcript.messages.length + 1) * cachedMessageBytes;
    if (size > this.#bytesMax * cachedTranscriptsTenantPart) return;
    this.#makeRoom(transcript.tenantId, size);
    this.#entries.set(sessionId, { transcript, size, usedAt: this.#now() });
    this.#size += size;
    this.#sweepLater();
  }

  delete(sessionId: string): void {
    this.#size -= this.#entries.get(sessionId)?.size ?? 0;
    this.#entries.delete(sessionId);
  }

  /** First in the tenant's own part, then in all of it. */
  #makeRoom(tenantId: string, size: number): void {
    const isOwn = ({ transcript }: Entry) => transcript.tenantId === tenantId;
    let own = size;
    for (const entry of this.#entries.values()) if (isOwn(entry)) own += entry.size;
    for (const [sessionId, entry] of this.#entries) {
      const isFull = isOwn(entry) && own > this.#bytesMax * cachedTranscriptsTenantPart;
      if (isFull) own -= entry.size;
      if (isFull) this.delete(sessionId);
    }
    for (const sessionId of this.#entries.keys()) {
      if (this.#size + size <= this.#bytesMax) return;
      this.delete(sessionId);
    }
  }

  #dropUnused(): void {
    for (const [sessionId, { usedAt }] of this.#entries) {
      if (this.#now() - usedAt < cachedTranscriptMs) return;
      this.delete(sessionId);
    }
  }

  /** One timer, until nothing is cached. */
  #sweepLater(): void {
    const [oldest] = this.#entries.values();
    if (oldest === undefined || this.#sweeper !== null) return;
    this.#sweeper = setTimeout(
      () => {
        this.#sweeper = null;
        this.#dropUnused();
        this.#sweepLater();
      },
      Math.max(1, oldest.usedAt + cachedTranscriptMs - this.#now()),
    ).unref();
  }
}
