import { forget, keep, readKept } from "./home.ts";

/** What the all-in-one start writes for the operator's commands on the same home. */
export interface Running {
  readonly pid: number;
  /** The embedded database, with its password. */
  readonly databaseUrl: string;
}

const fileName = "running.json";

/** Writes where the embedded database listens to a file that only the home's owner reads. */
export async function announce(home: string, running: Running): Promise<void> {
  await keep(home, fileName, `${JSON.stringify(running)}\n`);
}

/** Removes the announcement. */
export function withdraw(home: string): Promise<void> {
  return forget(home, fileName);
}

/** Returns the last announcement, which a killed process may have left behind; null when there is none. */
export async function findRunning(home: string): Promise<Running | null> {
  const text = await readKept(home, fileName);
  try {
    return text === null ? null : (JSON.parse(text) as Running);
  } catch {
    return null;
  }
}
