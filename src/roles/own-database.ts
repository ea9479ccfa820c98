import { mkdir, realpath } from "node:fs/promises";
import { lockFolder } from "../embedded/lock.ts";
import { startEmbeddedPostgres } from "../embedded/postgres.ts";
import type { Config } from "../kernel/config.ts";
import { shownAddress } from "../kernel/database/address.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { reach } from "./database.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";
import { refuseTransactionPooler } from "./pooler.ts";

/** The database of the all-in-one start. */
interface OwnDatabase {
  readonly databaseUrl: string;
  /** How the banner names it, without a password. */
  readonly shown: string;
}

/**
 * Returns the database that `DATABASE_URL` names or, without it, the home's own, which is
 * started and stopped with `opened`. Either way no other process may use the home meanwhile.
 * Throws `OperatorError`.
 */
export async function openOwnDatabase(
  { databaseUrl, home }: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<OwnDatabase> {
  try {
    return databaseUrl === null ? await startInHome(home, log, opened) : await lockHome(home, databaseUrl, opened);
  } catch (error) {
    throw error instanceof OperatorError ? error : new OperatorError(reasonOf(error));
  }
}

async function lockHome(home: string, databaseUrl: string, opened: AsyncDisposableStack): Promise<OwnDatabase> {
  await mkdir(home, { recursive: true });
  const lock = await lockFolder(await realpath(home));
  opened.defer(() => lock.release());
  await reach(() => refuseTransactionPooler(databaseUrl));
  return { databaseUrl, shown: shownAddress(databaseUrl) };
}

async function startInHome(home: string, log: Logger, opened: AsyncDisposableStack): Promise<OwnDatabase> {
  let isStarted = false;
  // While it starts, its messages are information; after that, the only message is that it has ended.
  const report = (message: string) => (isStarted ? log.error(message) : log.info(message));
  const server = await startEmbeddedPostgres({ home, log: report });
  isStarted = true;
  opened.defer(() => server.stop());
  const isBelow = server.folder.startsWith(`${await realpath(home)}/`);
  return { databaseUrl: server.url, shown: isBelow ? home : `${home}, and the database in ${server.folder}` };
}
