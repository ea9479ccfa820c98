import { expect, test } from "bun:test";
import { createAuthenticator } from "../../../src/kernel/auth/authenticator.ts";
import { keyStands } from "../../../src/kernel/auth/recalled-keys.ts";
import { useService } from "../../harness/fixture.ts";

const h = await useService();

/** No dashboard signs in here. */
const unconfigured = {
  dashboardJwtSecret: null,
  dashboardJwksUrl: null,
  dashboardJwtAudience: null,
  dashboardJwtIssuer: null,
};

/** What a tenant may have in each column that decides whether its key can be recalled. */
const values: Record<string, readonly (string | number | boolean | Date | null)[]> = {
  subscription: ["active", "inactive"],
  usage_credit: [null, 1, 0, -1],
  quota_turns_per_day: [null, 0, 5],
  running_turns: [null, 0, 5],
  rate_limit: [null, 0, 5],
  stored_mib: [null, 0, 5],
  monetization: [false, true],
  deleting_at: [null, new Date()],
};

test("a key is recalled exactly where a statement finds it good, for each column of its tenant", async () => {
  const t = await h.tenant();
  const authorization = `Bearer ${t.token}`;
  const outcomes: [string, unknown, boolean, boolean][] = [];
  for (const [column, all] of Object.entries(values)) {
    for (const value of all) {
      await h.sql`update tenants set ${h.sql(column)} = ${value} where id = ${t.id}`;
      const authenticator = createAuthenticator(h.sql, unconfigured);
      const { key, tenant } = await authenticator.authenticate(authorization);
      const [row] = await h.sql`
        select ${keyStands(
          h.sql,
          {
            digest: h.sql`${key}::text`,
            tenantId: h.sql`${tenant.id}::text`,
            form: h.sql`${tenant.form}::text`,
            queuedTurns: h.sql`${tenant.queuedTurns}::int`,
            hasBudgets: false,
          },
          { role: "runner", agentId: h.sql`'ag_1'` },
        )} as stands`;
      outcomes.push([column, value, authenticator.recall(authorization) !== null, row?.stands]);
    }
    await h.sql`update tenants set ${h.sql(column)} = ${all[0] ?? null} where id = ${t.id}`;
  }
  const differ = outcomes.filter(([, , isRecalled, stands]) => isRecalled !== stands);
  expect(differ).toEqual([]);
  // The first value of each column, and credit that is left.
  expect(outcomes.filter(([, , isRecalled]) => isRecalled)).toHaveLength(Object.keys(values).length + 1);
});
