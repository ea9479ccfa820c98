import { afterAll, describe, expect, test } from "bun:test";
import { cloneDatabase, dropDatabase } from "../harness/harness.ts";
import { collectTexts, makeBook, readStatementsFile } from "./book.ts";
import { hotScenes } from "./scenes.ts";

/** Each text is planned once. */
const timeoutMs = 300_000;

/**
 * The most texts that a hot statement has, over everything that it can be sent with; one or two where it is not in this
 * list. A connection prepares and plans each of them, and a reader has to read it: so numbers only fall.
 */
const textsMax: Readonly<Record<string, number>> = {
  // Two of them are of tenants with budgets only, and three of turns that a worker of the same process takes.
  "turn.accept": 11,
  // One of them goes over a pooler in transaction mode, after the locks.
  "turn.claim": 3,
};
const textsOfOthers = 2;

const databases: string[] = [];
afterAll(async () => {
  for (const url of databases) await dropDatabase(url);
});

async function freshDatabase(): Promise<string> {
  const url = await cloneDatabase();
  databases.push(url);
  return url;
}

describe("the statements on a turn's way", () => {
  test(
    "sql/statements.sql has them as they are sent",
    async () => {
      const made = await makeBook(await freshDatabase(), hotScenes);
      expect(made, "Run `npm run statements` and commit sql/statements.sql.").toBe(await readStatementsFile());
    },
    timeoutMs,
  );

  test(
    "have at most so many texts each, whatever they are sent with",
    async () => {
      const found = await collectTexts(await freshDatabase(), hotScenes);
      const counted = Object.fromEntries([...found].map(([name, texts]) => [name, texts.length]));
      const tooMany = Object.entries(counted).filter(([name, texts]) => texts > (textsMax[name] ?? textsOfOthers));
      expect(tooMany).toEqual([]);
      // A number that is too high would let new texts in unseen.
      const tooHigh = Object.entries(textsMax).filter(([name, max]) => (counted[name] ?? 0) < max);
      expect(tooHigh, "Fewer texts than the table allows: lower its numbers.").toEqual([]);
    },
    timeoutMs,
  );
});
