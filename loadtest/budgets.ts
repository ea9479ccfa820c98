/**
 * Budgets: what they cost, and whether they hold. 50 clients of 20 end users, over two HTTP processes and two workers.
 *
 * First two tenants in turn, one without budgets and one with three: turns a month of the tenant, tokens a day of each user,
 * money a month of the tenant; in many short rounds, because other programs disturb each of them. Then a tenant whose users may use so many tokens, by turns of several model calls, until
 * everybody is refused, while one of the workers is killed.
 *
 *     bun loadtest/budgets.ts [--clients 50] [--users 20] [--seconds 1] [--rounds 50] [--tokens 20000] [--budgets turns,tokens,money]
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { sleep } from "../src/kernel/async/wait.ts";
import { median, printLine } from "./figures.ts";
import { type Stand, type StandTenant, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "50" },
    users: { type: "string", default: "20" },
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "50" },
    tokens: { type: "string", default: "20000" },
    budgets: { type: "string", default: "turns,tokens,money" },
  },
});
const [clients, users] = [Number(values.clients), Number(values.users)];

/** Runs turns of a tenant as fast as they come until `goesOn` says no more. Returns how many there were by status. */
async function drive(
  { urls, tenant, text }: { readonly urls: readonly string[]; readonly tenant: StandTenant; readonly text: string },
  goesOn: () => boolean,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const headers = { authorization: `Bearer ${tenant.apiKey}`, "content-type": "application/json" };
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const url = `${urls[client % urls.length]}/v1/agents/${tenant.agentId}/sessions`;
      for (let turn = 0; goesOn(); turn++) {
        const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: `[[sim: ${text}]]` }] };
        const body = JSON.stringify({ message, stream: false, userId: `user-${(client + turn) % users}` });
        const response = await fetch(url, { method: "POST", headers, body });
        await response.text();
        counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      }
    }),
  );
  return counts;
}

async function comparePrice(stand: Stand, urls: readonly string[]): Promise<void> {
  const without = await stand.addTenant();
  const withBudgets = await stand.addTenant();
  const budgets = [
    { name: "turns", period: "month", limit: { turns: 10_000_000 } },
    { name: "tokens", period: "day", each: "user", limit: { tokens: 10_000_000 }, warnAtPercent: 80 },
    { name: "money", period: "month", limit: { usd: "1000000" } },
  ];
  for (const body of budgets.filter(({ name }) => values.budgets.split(",").includes(name)))
    await withBudgets.call("POST", "/v1/budgets", body);
  const rounds = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round <= Number(values.rounds); round++) {
    // In turn, and the other one first in every second round.
    const order = round % 2 === 0 ? (["without", "with"] as const) : (["with", "without"] as const);
    for (const which of order) {
      const tenant = which === "with" ? withBudgets : without;
      const startedAt = performance.now();
      const endsAt = startedAt + Number(values.seconds) * 1000;
      const counts = await drive({ urls, tenant, text: "chunks=20 delayMs=0" }, () => performance.now() < endsAt);
      const perSecond = (counts.get(201) ?? 0) / ((performance.now() - startedAt) / 1000);
      // The first round warms everything up.
      if (round > 0) rounds[which].push(perSecond);
      if (counts.size > 1) printLine(`  statuses ${JSON.stringify([...counts])}`);
    }
  }
  const ratios = rounds.with.map((perSecond, index) => perSecond / (rounds.without[index] ?? 1));
  printLine(
    `without budgets ${median(rounds.without).toFixed(0)} turns/s, with ${values.budgets} ${median(rounds.with).toFixed(0)}`,
  );
  printLine(`  ratio ${median(ratios).toFixed(3)}, of each round ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`);
}

async function overdraw(stand: Stand, urls: readonly string[], killed: number): Promise<void> {
  const made = await stand.addTenant();
  const agent = { name: "steps", model: "simulated/model", providerId: made.providerId, tools: ["write_todos"] };
  const tenant = { ...made, agentId: (await made.call("POST", "/v1/agents", agent)).id };
  const limit = Number(values.tokens);
  const perCall = 100;
  const budget = await tenant.call("POST", "/v1/budgets", {
    ...{ name: "users", period: "ever", each: "user", limit: { tokens: limit } },
  });
  const step = `tool=write_todos args={"todos":[]} inputTokens=${perCall / 2} outputTokens=${perCall / 2}`;
  let refusals = 0;
  let mostRunning = 0;
  let isDriving = true;
  const sql = postgres(stand.databaseUrl, { max: 2 });
  const watching = (async () => {
    while (isDriving) {
      const [row] = await sql`
        select coalesce(max(n), 0)::int as n from (
          select count(*) as n from turns where tenant_id = ${tenant.tenantId} and status = 'running' group by user_id) running`;
      mostRunning = Math.max(mostRunning, row?.n ?? 0);
      await sleep(20);
    }
  })();
  const spending = async () =>
    (await tenant.call("GET", `/v1/budgets/${budget.id}/spending`)).data as { used: number }[];
  const done = (async () => {
    for (;;) {
      const used = await spending();
      if (used.length === users && used.every((one) => one.used >= limit)) return;
      await sleep(200);
    }
  })().then(() => {
    refusals = 1;
  });
  setTimeout(() => process.kill(killed, "SIGKILL"), 2_000);
  const counts = await drive({ urls, tenant, text: `${step}; ${step}; ${step}; text=Done` }, () => refusals === 0);
  await done;
  // The reaper ends what the killed worker had.
  for (let unfinished = 1; unfinished > 0; ) {
    const [row] = await sql`
      select count(*)::int as n from turns where tenant_id = ${tenant.tenantId} and status in ('queued', 'running')`;
    unfinished = row?.n ?? 0;
    await sleep(200);
  }
  isDriving = false;
  await watching;
  const used = await spending();
  const booked = await sql<{ userId: string; tokens: number }[]>`
    select user_id as "userId", sum(input_tokens + output_tokens)::int as tokens from usage where tenant_id = ${tenant.tenantId} group by 1`;
  const byUser = new Map(booked.map(({ userId, tokens }) => [userId, tokens]));
  const differ = (used as { userId: string; used: number }[]).filter(
    (one) => byUser.get(one.userId) !== one.used,
  ).length;
  const most = Math.max(...used.map((one) => one.used - limit));
  printLine(
    `a limit of ${limit} tokens for each of ${users} users, calls of ${perCall}, a worker killed: ${JSON.stringify([...counts])}`,
  );
  printLine(
    `  overdrawn by at most ${most} tokens, ${(most / perCall).toFixed(1)} calls; at most ${mostRunning} turns of a user ran at once`,
  );
  printLine(`  users whose sums differ from their usage: ${differ} of ${used.length}`);
  await sql.end();
}

const stand = await startStand({ workers: 1 });
try {
  const second = await stand.addServer("serve-2");
  const worker = await stand.addWorker("work-2");
  const urls = [stand.url, second.url];
  await comparePrice(stand, urls);
  await overdraw(stand, urls, worker.pid);
} finally {
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
