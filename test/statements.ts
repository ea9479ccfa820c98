/** Writes `sql/statements.sql` anew: the statements on a turn's way, as the service sends them. */
import { writeFile } from "node:fs/promises";
import { startPostgres } from "./harness/postgres.ts";
import { makeBook, statementsFile } from "./statements/book.ts";
import { hotScenes } from "./statements/scenes.ts";

await using server = await startPostgres();
await writeFile(statementsFile, await makeBook(server.url, hotScenes));
