import { forget, keep, readKept } from "./home.ts";

/** What the all-in-one start tells the command line of the same home. */
export interface Running {
  readonly pid: number;
  /** The embedded database, with its password. */
  readonly databaseUrl: string;
}

const fileName = "running.json";

/** Tells where the embedded database listens, in a file that only the home's owner reads. */
export async function announce(home: string, running: Running): Promise<void> {
  await keep(home, fileName, `${JSON.stringify(running)}\n`);
}

/** Takes the announcement back. */
export function withdraw(home: string): Promise<void> {
  return forget(home, fileName);
}

/** The last announcement, which a killed process may have left behind; null when there is none. */
export async function findRunning(home: string): Promise<Running | null> {
  const text = await readKept(home, fileName);
  try {
    return text === null ? null : (JSON.parse(text) as Running);
  } catch {
    return null;
  }
}
