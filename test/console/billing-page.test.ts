import { afterAll, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { PolarServer } from "../servers/polar.ts";
import { StripeServer } from "../servers/stripe.ts";

const polar = new PolarServer();
const stripe = new StripeServer();
await Promise.all([polar.start(), stripe.start()]);
afterAll(() => Promise.all([polar.stop(), stripe.stop()]));
const { h, t, signedIn } = await useConsole({ BILLING_A_API_URL: polar.url, BILLING_B_API_URL: stripe.url });
const organizationId = "org-console";
polar.tokens.set("polar_oat_console", [organizationId]);
const agentId = await makeAgent(h, t);
const hostile = `<img src=x onerror=alert(1)>`;
const phone = { width: 360, height: 740 };

/** The tenant's connection; makes one where there is none. */
async function connect() {
  const { connection } = await t.parley.merchantConnection.get();
  if (connection !== null) return connection;
  const body = { provider: "polar" as const, environment: "sandbox" as const, credential: "polar_oat_console" };
  return (await t.parley.merchantConnection.create(body)).connection;
}

/** Writes an event as it stands in the ledger. */
async function insertEvent(fields: Record<string, unknown>): Promise<string> {
  const { id: connectionId } = await connect();
  const row = {
    ...{ id: newId("merchantEvent"), tenant_id: t.id, connection_id: connectionId, provider: "billing_a" },
    ...{ turn_id: newId("turn"), user_id: "ada", customer_id: null, agent_id: agentId, session_id: newId("session") },
    ...{ model: "simulated/model", model_provider: "custom", input_tokens: 1_000, output_tokens: 234 },
    ...{ turn_status: "succeeded", started_at: new Date(), occurred_at: new Date(), ...fields },
  };
  await h.sql`insert into merchant_events ${h.sql(row as never)}`;
  return row.id;
}

describe.skipIf(!hasBrowser)("the screen of billing", () => {
  test("connects a provider by keyboard alone, says what it refuses, and changes guard and credential", async () => {
    const person = await signedIn("/billing");
    await person.sees("No billing provider is connected.");
    expect(await person.wrongs()).toEqual([]);
    await person.page.getByRole("link", { name: "Bindings" }).click();
    await person.sees("End users are bound to customers");
    await person.page.getByRole("link", { name: "Account" }).click();
    await person.hasAddress("/billing/provider");
    const { keyboard } = person.page;
    await person.page.getByLabel("Access token").focus();
    await keyboard.type("polar_oat_wrong");
    await keyboard.press("Enter");
    await person.page
      .getByRole("alert")
      .getByText(/refused the credential/)
      .waitFor();
    await person.page.getByLabel("Access token").fill("polar_oat_console");
    await keyboard.press("Enter");
    await person.page.getByRole("heading", { name: "Polar" }).waitFor();
    await person.sees(organizationId);
    await person.page.getByLabel("Products").fill("p1\np2");
    await person.press("Save");
    await person.sees("The guard is saved.");
    const { connection } = await t.parley.merchantConnection.get();
    expect(connection?.guard).toEqual({ enabled: false, productIds: ["p1", "p2"], meterId: null });
    await person.page.getByLabel("New credential").fill("polar_oat_console");
    await person.press("Replace credential");
    await person.sees("The credential is replaced.");
    expect(await person.wrongs()).toEqual([]);
    await person.press("Disable");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await person.sees("disconnected");
    await person.press("Enable");
    await person.button("Disable").waitFor();
  });

  test("binds end users to customers, and takes a binding back", async () => {
    await connect();
    const [one, other] = [polar.customer(organizationId), polar.customer(organizationId)];
    const person = await signedIn("/billing/bindings");
    await person.sees("No end user is bound to a customer yet.");
    await person.press("New binding");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("User").fill(hostile);
    await dialog.getByLabel("Customer").fill(crypto.randomUUID());
    await person.press("Create");
    await dialog
      .getByRole("alert")
      .getByText(/no such customer/)
      .waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByLabel("Customer").fill(one);
    await person.press("Create");
    const row = person.page.getByRole("table", { name: "Bindings" }).locator("tbody tr");
    await row.getByText(hostile).waitFor();
    await row.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Customer").fill(other);
    await person.press("Save");
    await row.getByText(other).waitFor();
    await person.page.getByRole("searchbox", { name: "User" }).fill("nobody");
    await person.hasAddress("userId=nobody");
    await person.sees("This user is bound to no customer.");
    await person.page.getByRole("searchbox", { name: "User" }).fill("");
    await row.getByRole("button", { name: "Delete" }).click();
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.sees("No end user is bound to a customer yet.");
    expect(await person.wrongs()).toEqual([]);
  });

  test("sums usage events up, and retries, releases and discards them", async () => {
    const customerId = polar.customer(organizationId);
    const failed = await insertEvent({ status: "failed", customer_id: customerId, last_error_code: "http_400" });
    const uncertain = await insertEvent({ status: "uncertain", customer_id: customerId });
    const released = await insertEvent({ status: "unmapped", user_id: "eve" });
    const discarded = await insertEvent({ status: "unmapped", user_id: hostile });
    const person = await signedIn("/billing");
    const tile = person.page
      .getByRole("list", { name: "Usage events by status" })
      .getByRole("link", { name: /unmapped/ });
    await tile.getByText("2").waitFor();
    await person.page.getByRole("figure").first().locator("canvas").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await tile.click();
    await person.hasAddress("/billing/events?status=unmapped");
    const rows = person.page.getByRole("table", { name: /Usage events/ }).locator("tbody tr");
    const row = (id: string) => rows.filter({ hasText: id });
    await row(discarded).getByText(hostile).waitFor();
    expect(await rows.count()).toBe(2);
    const dialog = person.page.getByRole("alertdialog");
    await row(discarded).getByRole("button", { name: "Discard" }).click();
    await dialog.getByText(/1,234 tokens are never reported/).waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByRole("button", { name: "Discard" }).click();
    await row(discarded).waitFor({ state: "detached" });
    await row(released).getByRole("button", { name: "Release" }).click();
    await person.sees("The event's status does not allow this.");
    await t.parley.merchantBindings.set("eve", { customerId });
    await row(released).getByRole("button", { name: "Release" }).click();
    await row(released).waitFor({ state: "detached" });
    await person.page.getByLabel("Status").selectOption("");
    await row(failed).getByText("It was not taken (http_400).").waitFor();
    await row(failed).getByRole("button", { name: "Retry" }).click();
    await row(uncertain).getByRole("button", { name: "Retry" }).click();
    await dialog.getByText(/Nobody knows whether it arrived/).waitFor();
    await dialog.getByRole("button", { name: "Retry" }).click();
    for (const id of [failed, uncertain, released]) {
      await eventually(() => polar.events.has(id));
      await row(id).getByText("accepted").waitFor();
    }
    expect(await rows.getByRole("button", { name: /Retry|Release|Discard/ }).count()).toBe(0);
  });

  test("has no serious fault on a phone, in the dark, and deletes the provider", async () => {
    await insertEvent({ status: "expired", user_id: "long-ago" });
    await t.parley.merchantBindings.set("eve", { customerId: polar.customer(organizationId) });
    const person = await signedIn("/billing", { viewport: phone, colorScheme: "dark" });
    await person.page.getByRole("figure").first().waitFor();
    expect(await person.wrongs()).toEqual([]);
    for (const [path, text] of [
      ["/billing/events", "long-ago"],
      ["/billing/bindings", "eve"],
      ["/billing/provider", organizationId],
    ] as const) {
      await person.open(path);
      await person.sees(text);
      expect([path, ...(await person.wrongs())]).toEqual([path]);
    }
    await person.press("Delete");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.page.getByRole("heading", { name: "Connect a provider" }).waitFor();
    expect((await t.parley.merchantConnection.get()).connection).toBeNull();
    expect(await person.wrongs()).toEqual([]);
  });
});
