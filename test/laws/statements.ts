import { splitCode } from "./comments.ts";
import { file, type Law, product } from "./law.ts";

/** The rooms whose statements run on a turn's way, or look after turns and their jobs. */
const rooms = /^src\/(sessions\/(?!erase\/)|kernel\/(auth|http|queue)\/)/;
/** A statement that is run: one that is awaited, or whose rows have a type. */
const run = /(?:\bawait\s+(?:\w*[sS]ql|inner)(?:<[^`]*?>)?|\b(?:\w*[sS]ql|inner)<[^`()]*?>)`\s*([^`]{0,80})/g;
/** Its name behind its first word; or a statement that another function names, or that has no rows to speak of. */
const named = /^(?:(?:select|with|insert|update|delete)\s+(?:\/\* [a-z_]+\.[a-z_]+ \*\/|\$\{)|\$\{|set )/;

/** So that `pg_stat_activity` and `pg_stat_statements` say what runs. Postgres 18 drops a comment before the first word. */
export const statementsHaveNames: Law = {
  title: "a statement on a turn's way has its name behind its first word",
  violations: (sources) =>
    product(sources)
      .filter(({ path }) => rooms.test(path))
      .flatMap(({ path, text }) =>
        [...splitCode(text).code.matchAll(run)]
          .map(([, statement = ""]) => statement)
          .filter((statement) => !named.test(statement))
          .map((statement) => `${path} → ${statement.replaceAll(/\s+/g, " ")}`),
      ),
  broken: [
    [file("src/sessions/a.ts", "await sql`select 1`;")],
    [file("src/sessions/a.ts", "await sql`/* turn.a */ select 1`;")],
    [file("src/kernel/queue/a.ts", "return sql<{ id: string }[]>`", "  with a as (select 1) select id from a`;")],
  ],
};
