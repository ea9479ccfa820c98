import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";

/** Uses are gathered for so long before one statement notes them. */
const gatherMs = 250;
const minuteMs = 60_000;
/** Keys whose use a process has noted in this minute, or is about to; what is used beyond them is noted in a later one. */
const keysMax = 10_000;

/**
 * Notes when API keys were used last, to the minute, beside the requests: none waits for it, and a key
 * costs a process at most one write a minute, which it shares with the others of that moment.
 */
export class KeyUses {
  readonly #sql: AnySql;
  #minute = 0;
  readonly #noted = new Set<IdOf<"apiKey">>();
  #due: IdOf<"apiKey">[] = [];

  constructor(sql: AnySql) {
    this.#sql = sql;
  }

  /** A request with the key is answered. */
  note(keyId: IdOf<"apiKey">): void {
    const minute = Math.floor(Date.now() / minuteMs);
    if (minute !== this.#minute) this.#noted.clear();
    this.#minute = minute;
    if (this.#noted.has(keyId) || this.#noted.size >= keysMax) return;
    this.#noted.add(keyId);
    this.#due.push(keyId);
    if (this.#due.length === 1) setTimeout(() => void this.#write(), gatherMs).unref();
  }

  async #write(): Promise<void> {
    const keyIds = this.#due;
    this.#due = [];
    // What another process is noting just now needs no second note.
    await this.#sql`
      update /* key.note_use */ api_keys set last_used_at = date_trunc('minute', now()) where id in (
        select id from api_keys where id = any(${keyIds as string[]}::text[])
          and (last_used_at is null or last_used_at < date_trunc('minute', now()))
        for no key update skip locked)`.catch(() => {
      // The next request with the key tries again.
      for (const keyId of keyIds) this.#noted.delete(keyId);
    });
  }
}
