/**
 * What a turn writes to Postgres' write-ahead log: bytes and entries a turn, by table and index,
 * and its transactions. Each turn makes its session. Whole pages, which the first change after a checkpoint
 * writes, are told apart.
 *
 *     bun loadtest/wal.ts [--clients 50] [--seconds 5] [--together]
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { drive } from "./drive.ts";
import { printLine } from "./figures.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "50" },
    seconds: { type: "string", default: "5" },
    together: { type: "boolean", default: false },
  },
});
/** Before what counts, so that plans are made. */
const warmUpSeconds = 3;

/** How far the log and the transactions have come. */
async function progress(sql: postgres.Sql) {
  const [row] = await sql<{ at: string; transactions: string; turns: string }[]>`
    select pg_current_wal_flush_lsn()::text as at, (select sum(xact_commit) from pg_stat_database)::text as transactions,
      (select count(*) from turns where status = 'succeeded')::text as turns`;
  if (row === undefined) throw new Error("Postgres says nothing of its log.");
  return { at: row.at, transactions: Number(row.transactions), turns: Number(row.turns) };
}

interface Written {
  readonly relation: string;
  readonly entries: number;
  readonly bytes: number;
  readonly wholePages: number;
}

/** Returns what was written between two places of the log, by relation, most first. */
async function written(sql: postgres.Sql, from: string, to: string): Promise<readonly Written[]> {
  return sql<Written[]>`
    with blocks as (
      select start_lsn, min(relfilenode) as file, sum(block_fpi_length) as whole_pages
      from pg_get_wal_block_info(${from}::pg_lsn, ${to}::pg_lsn) group by 1
    )
    select coalesce(c.relname, '(no table)') as relation, count(*)::int as entries,
      (sum(r.record_length) - coalesce(sum(whole_pages), 0))::float8 as bytes, coalesce(sum(whole_pages), 0)::float8 as "wholePages"
    from pg_get_wal_records_info(${from}::pg_lsn, ${to}::pg_lsn) r left join blocks using (start_lsn)
    left join pg_class c on pg_relation_filenode(c.oid) = blocks.file
    group by 1 order by bytes desc`;
}

async function measure(stand: Stand, sql: postgres.Sql): Promise<void> {
  const url = `${stand.url}/v1/agents/${stand.agentId}/sessions`;
  const headers = { "content-type": "application/json", authorization: `Bearer ${stand.apiKey}` };
  const plan = { clients: Number(values.clients), chunks: 20, url, headers, stream: true };
  await drive({ ...plan, seconds: warmUpSeconds });
  await sql`create extension if not exists pg_walinspect`;
  const before = await progress(sql);
  await drive({ ...plan, seconds: Number(values.seconds) });
  const after = await progress(sql);
  const turns = after.turns - before.turns;
  const rows = await written(sql, before.at, after.at);
  const sum = (of: (row: Written) => number) => rows.reduce((total, row) => total + of(row), 0) / turns;
  const transactions = ((after.transactions - before.transactions) / turns).toFixed(2);
  printLine(`${turns} turns: ${sum(({ bytes }) => bytes).toFixed(0)} bytes and ${transactions} transactions a turn`);
  printLine(`whole pages: ${sum(({ wholePages }) => wholePages).toFixed(0)} bytes a turn`);
  for (const { relation, entries, bytes } of rows.filter((row) => row.bytes / turns >= 1))
    printLine(`${(bytes / turns).toFixed(0).padStart(6)} ${(entries / turns).toFixed(2).padStart(6)}  ${relation}`);
}

const stand = await startStand({ workers: 1, together: values.together });
const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
try {
  await measure(stand, sql);
} finally {
  await sql.end();
  await stand[Symbol.asyncDispose]();
}
