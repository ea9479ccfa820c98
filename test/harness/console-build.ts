import { mkdir, rm, stat } from "node:fs/promises";
import { buildConsole } from "../../src/console-server/build.ts";
import { digestSources, isBuiltFrom } from "../../src/console-server/sources.ts";
import { eventually } from "./eventually.ts";
import { inRepository } from "./repository.ts";

const built = inRepository("dist/console");
const building = inRepository("dist/console-building");
/** A build takes 2 s; a lock that is older was left by a run that was killed. */
const lockMs = 60_000;

/** Builds the console's pages where its sources have changed since; of several test processes one does it. */
export async function ensureConsoleBuilt(): Promise<void> {
  await mkdir(inRepository("dist"), { recursive: true });
  await eventually(async () => {
    if (await isFresh()) return true;
    if (!(await takeLock())) return false;
    try {
      if (!(await isFresh())) await buildConsole(built);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
    return true;
  }, lockMs);
}

async function isFresh(): Promise<boolean> {
  return isBuiltFrom(built, await digestSources());
}

async function takeLock(): Promise<boolean> {
  const made = await mkdir(building).then(
    () => true,
    () => false,
  );
  if (!made && Date.now() - (await changedAt(building)) > lockMs) await rm(building, { recursive: true, force: true });
  return made;
}

function changedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
