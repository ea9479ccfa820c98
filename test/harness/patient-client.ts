import postgres from "postgres";

/**
 * Runs statements on a connection of their own, which has none of the service's limits of
 * time: for one that writes tens of thousands of rows, and for a lock that is held until
 * something else has happened.
 */
export async function withPatientClient<T>(databaseUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
