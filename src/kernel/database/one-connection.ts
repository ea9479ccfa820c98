import postgres from "postgres";
import { databaseWaitMs } from "../limits.ts";
import { addressOf } from "./address.ts";
import { plainlyEnding } from "./socket.ts";

interface OneConnectionOptions {
  /** SQL that its session begins with. */
  readonly begin?: string;
  /** Left out: `databaseWaitMs`. */
  readonly connectSeconds?: number;
  /** Whether statements are prepared, which a pooler in transaction mode may lose. */
  readonly prepare?: boolean;
  /** Whether the connection says no name, which a pooler would set at each server. */
  readonly isNameless?: boolean;
}

/** Returns a client of one connection, for what is done once: checks and migrations. */
export function openOneConnection(
  databaseUrl: string,
  { begin, connectSeconds = databaseWaitMs / 1000, prepare = true, isNameless = false }: OneConnectionOptions = {},
): postgres.Sql {
  const address = addressOf(databaseUrl);
  return postgres(address.plainUrl, {
    max: 1,
    ssl: false,
    prepare,
    connect_timeout: connectSeconds,
    onnotice: () => {},
    ...(isNameless ? { connection: { application_name: "" } } : {}),
    ...plainlyEnding({ address, ...(begin === undefined ? {} : { begin }) }),
  });
}
