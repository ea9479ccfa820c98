/** Writes `sql/schema.sql` anew: the schema of a database that the migrations have just made. */
import { writeFile } from "node:fs/promises";
import postgres from "postgres";
import { startPostgres } from "./harness/postgres.ts";
import { readSchema, schemaFile } from "./harness/schema-text.ts";

await using server = await startPostgres();
const sql = postgres(server.url, { max: 1, onnotice: () => {} });
try {
  await writeFile(schemaFile, await readSchema(sql));
} finally {
  await sql.end();
}
