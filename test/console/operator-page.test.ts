import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { addJob } from "../../src/kernel/queue/add-job.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";

const { h, t, visit, operatorToken } = await useConsole();
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;
const evil = await h.tenant({ name: hostile });

async function asOperator(path: string, options: Parameters<typeof visit>[0] = {}) {
  const person = await visit(options);
  await person.open(path);
  await person.signIn(operatorToken);
  await person.heading("Operator").waitFor();
  return person;
}

/** A job without attempts left. */
async function deadLetter(task: "turn" | "session.purge", error: string): Promise<string> {
  // For later, so that no worker takes it before it is dead.
  const runAt = new Date(Date.now() + 3_600_000);
  const ids = { turnId: newId("turn"), lockKey: newId("session"), tenantId: t.id };
  if (task === "turn") await addJob(h.sql, task, ids, { runAt });
  else await addJob(h.sql, task, { sessionId: newId("session"), tenantId: t.id }, { runAt });
  const [row] = await h.sql<{ id: string }[]>`
    update graphile_worker._private_jobs set attempts = max_attempts, last_error = ${error}
    where id = (select max(j.id) from graphile_worker._private_jobs j
      join graphile_worker._private_tasks k on k.id = j.task_id and k.identifier = ${task}) returning id::text`;
  return row?.id as string;
}

const phone = { width: 360, height: 740 };

describe.skipIf(!hasBrowser)("the operator's screen", () => {
  test("is the only one that an operator has, and no tenant has it", async () => {
    const person = await asOperator("");
    const links = person.page.getByRole("navigation").getByRole("link");
    expect(await links.allTextContents()).toEqual(["Operator"]);
    expect(await links.getAttribute("aria-current")).toBe("page");
    const tenant = await visit();
    await tenant.open("/operator");
    await tenant.signIn(t.token);
    await tenant.heading("There is nothing at this address.").waitFor();
    expect(await tenant.page.getByRole("link", { name: "Operator" }).count()).toBe(0);
  });

  for (const options of [{ colorScheme: "light" as const }, { colorScheme: "dark" as const, viewport: phone }])
    test(`has an address for each of its parts, no serious fault in any, and can be used by keyboard alone, ${options.colorScheme}`, async () => {
      const person = await asOperator("/operator", options);
      await person.sees("The last hour, all tenants");
      expect(await person.wrongs()).toEqual([]);
      for (const [tab, address] of [
        ["Queue", "/operator/queue"],
        ["Workers", "/operator/workers"],
        ["Dead letters", "/operator/dead-letters"],
        ["Tenants", "/operator/tenants"],
      ] as const) {
        await person.page.getByRole("link", { name: tab, exact: true }).focus();
        await person.page.keyboard.press("Enter");
        await person.hasAddress(address);
        await person.page.locator(".tabs [aria-current]", { hasText: tab }).waitFor();
        await person.page.locator(".loading").waitFor({ state: "detached" });
        expect([tab, ...(await person.wrongs())]).toEqual([tab]);
      }
    });

  test("plots the last day, and lists HTTP processes beside the workers, and says where versions differ", async () => {
    await h.sql`
      insert into gauges select now() - age * interval '1 minute', age / 10, 3, 9, 12.5, 2, 1048576, 2097152, 40
      from generate_series(1, 600, 5) age on conflict do nothing`;
    await h.sql`
      insert into http_processes (id, host, pid, version, memory_bytes)
      values ('a', 'front-1', 11, '0.0.9', 1048576), ('b', 'front-2', 12, '0.0.9', 2097152)`;
    for (const options of [{}, { colorScheme: "dark" as const, viewport: { width: 390, height: 800 } }]) {
      const person = await asOperator("/operator", options);
      const day = person.page.getByRole("region", { name: "The last day" });
      for (const caption of ["Queue", "Longest wait", "Dead letters", "Memory of processes", "Connections of Postgres"])
        await day.getByRole("img", { name: `Plot: ${caption}` }).waitFor();
      await day.getByText("Table of memory of processes").click();
      await day.getByRole("cell", { name: "2.0 MiB" }).first().waitFor();
      const rows = person.page.getByRole("table", { name: "HTTP processes" }).locator("tbody tr");
      await eventually(async () => (await rows.count()) === 2);
      await rows.filter({ hasText: "front-1, process 11" }).getByText("1.0 MiB").waitFor();
      await person.sees(/Several versions run: .*2 processes of 0\.0\.9/);
      expect(await person.wrongs()).toEqual([]);
    }
    await h.sql`delete from gauges`;
    await h.sql`delete from http_processes`;
  });

  test("lists tenants, whose names are text, and finds one by its name", async () => {
    const person = await asOperator("/operator/tenants");
    const rows = person.page.getByRole("table", { name: /Tenants/ }).locator("tbody tr");
    await eventually(async () => (await rows.count()) >= 2);
    await person.page.getByLabel("Search").fill("onerror");
    await person.hasAddress("name=onerror");
    await eventually(async () => (await rows.count()) === 1);
    await rows.getByRole("link", { name: hostile }).click();
    await person.heading(hostile).waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("changes a tenant's limits and weight, and says at its field what is wrong with one", async () => {
    const person = await asOperator("/operator");
    await person.open(`/operator/tenants/${evil.id}`);
    await person.page.getByLabel("Weight").fill("101");
    await person.press("Save");
    await person.page.getByRole("alert").filter({ hasText: /100/ }).waitFor();
    expect(await person.page.getByLabel("Weight").getAttribute("aria-invalid")).toBe("true");
    expect(await person.wrongs()).toEqual([]);
    await person.page.getByLabel("Weight").fill("7");
    await person.page.getByLabel("Running turns").fill("3");
    await person.page.getByLabel("Queued turns").fill("");
    await person.press("Save");
    await person.sees("The limits are saved.");
    const [row] = await h.sql`select weight, running_turns, queued_turns from tenants where id = ${evil.id}`;
    expect({ ...row } as object).toEqual({ weight: 7, runningTurns: 3, queuedTurns: null });
    await eventually(() => person.button("Save").isDisabled());
  });

  test("makes a tenant, and shows its first key once", async () => {
    const person = await asOperator("/operator/tenants");
    await person.press("New tenant");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Made in the console");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("It is not shown again.").waitFor();
    const token = await dialog.locator("code").textContent();
    expect(token).toStartWith("parley_");
    const asked = await h.app(
      new Request("http://parley.test/v1/agents", { headers: { authorization: `Bearer ${token}` } }),
    );
    expect(asked.status).toBe(200);
    const [event] = await h.sql`
      select actor_id, resource_id from audit_events where action = 'tenant.create' and actor_id = 'console'`;
    expect(event?.resourceId).toStartWith("ten_");
    expect(await person.wrongs()).toEqual([]);
  });

  test("makes a key for a tenant that lost its own, and shows it once", async () => {
    const person = await asOperator("/operator");
    await person.open(`/operator/tenants/${evil.id}`);
    await person.press("New key");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("After the fire");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("It is not shown again.").waitFor();
    const token = (await dialog.locator("code").textContent()) ?? "";
    expect(await person.wrongs()).toEqual([]);
    const { body } = await evil.call("GET", "/v1/apikeys", { token });
    expect(body.apiKeys.map(({ name }: { name: string }) => name)).toContain("After the fire");
  });

  test("suspends a tenant after it has asked, and resumes it", async () => {
    const theirs = await visit();
    await theirs.open("");
    await theirs.signIn(evil.token);
    const person = await asOperator("/operator");
    await person.open(`/operator/tenants/${evil.id}`);
    await person.press("Suspend");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByText("402").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByRole("button", { name: "Suspend" }).click();
    await person.button("Resume").waitFor();
    expect((await evil.call("GET", "/v1/agents")).status).toBe(402);
    await theirs.open("/turns");
    await theirs.sees("This tenant is suspended");
    await theirs.button("Sign in as somebody else").waitFor();
    await person.press("Resume");
    await person.button("Suspend").waitFor();
    expect((await evil.call("GET", "/v1/agents")).status).toBe(200);
    await theirs.press("Try again");
    await theirs.heading("Turns").waitFor();
  });

  test("shows dead letters, whose errors are text, retries one, and discards one after it has said what that means", async () => {
    const purge = await deadLetter("session.purge", hostile);
    const turn = await deadLetter("turn", "It broke.");
    const person = await asOperator("/operator/queue");
    await person.page.getByRole("row").filter({ hasText: "session.purge" }).getByRole("link", { name: "1" }).click();
    await person.hasAddress("task=session.purge");
    const rows = person.page.getByRole("table", { name: /Dead letters/ }).locator("tbody tr");
    await rows.getByText(hostile).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await person.wrongs()).toEqual([]);
    const dialog = person.page.getByRole("alertdialog");
    await rows.getByRole("button", { name: "Discard" }).click();
    await dialog.getByText("would stay for ever").waitFor();
    await dialog.getByRole("button", { name: "Discard" }).click();
    await dialog
      .getByRole("alert")
      .getByText(/retry it instead/)
      .waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByRole("button", { name: "Back" }).click();
    await rows.getByRole("button", { name: "Retry" }).click();
    await person.sees(`Job ${purge} runs again`);
    await person.sees("There is no dead letter of this kind.");
    await person.page.getByLabel("Kind of job").selectOption("");
    await rows.filter({ hasText: "It broke." }).getByRole("button", { name: "Discard" }).click();
    await dialog.getByText(/its session is free again/).waitFor();
    await dialog.getByRole("button", { name: "Discard" }).click();
    await person.sees(`Job ${turn} is discarded; nothing else ended.`);
    await person.sees("There is no dead letter.");
  });

  test("shows live what waits and runs, ends a tenant's turns, and drains a worker and shows how it empties", async () => {
    await using model = holdModel(h.model);
    const { id: providerId } = await makeProvider(h, t, { baseUrl: model.url });
    const agentId = await makeAgent(h, t, { providerId });
    const person = await asOperator("/operator/queue");
    await person.sees("No tenant has a turn");
    const ask = () =>
      t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage(heldMark), stream: false } });
    const ended = ask();
    const row = person.page.getByRole("table", { name: "Turns by tenant" }).locator("tbody tr");
    await row.getByRole("link", { name: "Test" }).waitFor();
    await eventually(async () => (await row.locator('[data-name="Running"]').textContent()) === "1");
    await row.getByRole("link").click();
    await person.heading("Test").waitFor();
    await person.press("End turns");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "End turns" }).click();
    await person.sees("Ended: 1 turn (0 queued, 1 running, 0 waiting).");
    expect((await ended).body.error.code).toBe("turn_canceled");

    const held = ask();
    await person.open("/operator/workers");
    const worker = person.page.getByRole("list", { name: "Workers" }).getByRole("listitem");
    await worker.getByRole("row").filter({ hasText: agentId }).waitFor();
    await worker.getByText(/^1 of \d+ slots in use$/).waitFor();
    expect(await person.wrongs()).toEqual([]);
    await worker.getByRole("button", { name: "Drain" }).click();
    await dialog.getByText(/No other worker is there/).waitFor();
    await dialog.getByRole("button", { name: "Drain" }).click();
    await worker.getByText("1 turn left").waitFor();
    await worker.getByRole("button", { name: "Drain" }).waitFor({ state: "detached" });
    expect(await person.wrongs()).toEqual([]);
    model.release();
    expect((await held).status).toBe(201);
    await person.sees(/0 turns left|its process has ended/);
  });
});
