import { json, type Sql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { moveThreads } from "./inbox-states.ts";
import type { ChatConfiguration } from "./schema.ts";

/**
 * Follows a conversation that has another id at its platform from now on: the
 * connection's list of those that it answers, the threads with their sessions, and with
 * them what waits to be posted. Doing it again changes nothing.
 */
export function followMove(sql: Sql, connectionId: string, from: string, to: string): Promise<void> {
  return tx(sql, async (inner) => {
    const [row] = await inner<{ configuration: ChatConfiguration }[]>`
      select configuration from chat_connections where id = ${connectionId} for no key update`;
    if (row === undefined) return;
    const { configuration } = row;
    const moved = (list: readonly string[]) => [...new Set(list.map((id) => (id === from ? to : id)))];
    for (const name of ["chatIds", "channelIds"] as const) {
      const list = configuration[name];
      if (list?.includes(from) !== true) continue;
      await inner`
        update chat_connections set configuration = ${json(inner, { ...configuration, [name]: moved(list) })},
          updated_at = now()
        where id = ${connectionId}`;
    }
    await moveThreads(inner, connectionId, from, to);
  });
}
