import type { Sql } from "../../kernel/database/client.ts";

/** What is done with the payload of an announcement. */
type Hear = (payload: string) => void;

/** The channels of NOTIFY that a worker listens to, while it is told to. */
export class Channels {
  readonly #sql: () => Sql;
  readonly #hear: Readonly<Record<string, Hear>>;
  readonly #onError: (error: unknown) => void;
  #wanted = true;
  #heard: { unlisten(): Promise<unknown> }[] = [];
  /** Changes are made one after the other, so that the last one holds. */
  #changing: Promise<void> = Promise.resolve();

  /** `sql` returns the connection as it is now. */
  constructor(sql: () => Sql, hear: Readonly<Record<string, Hear>>, onError: (error: unknown) => void) {
    this.#sql = sql;
    this.#hear = hear;
    this.#onError = onError;
  }

  /** Begins to listen, on a new connection. Throws when Postgres is away. */
  async begin(): Promise<void> {
    this.#heard = [];
    if (!this.#wanted) return;
    for (const [channel, hear] of Object.entries(this.#hear)) this.#heard.push(await this.#sql().listen(channel, hear));
  }

  /** Says whether to listen from now on. */
  want(wanted: boolean): void {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#changing = this.#changing.then(() => this.#change()).catch(this.#onError);
  }

  async #change(): Promise<void> {
    if (!this.#wanted) await Promise.all(this.#heard.splice(0).map(({ unlisten }) => unlisten()));
    else if (this.#heard.length === 0) await this.begin();
  }
}
