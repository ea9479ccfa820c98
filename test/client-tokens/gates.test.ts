import { expect, test } from "bun:test";
import { makeClientToken } from "../harness/client-tokens.ts";
import { useMerchants } from "../harness/merchant-fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script } from "../harness/turns.ts";

const h = await useMerchants();
const said = () => ({ message: script('text="Hi"'), stream: false });

test("402 merchant_subscription_required, 403 merchant_customer_unmapped: the guard looks at the token's user, whatever a turn says", async () => {
  const m = await h.merchant();
  await m.connect("polar", { enabled: true, productIds: ["prod-1"], meterId: null });
  const customer = h.polar.customers.get(await m.bind("anna"));
  await m.bind("bea");
  const holders = await Promise.all(
    ["anna", "bea", "cleo"].map((userId) => makeClientToken(m, { agentId: m.agentId, userId })),
  );
  if (customer !== undefined) customer.subscriptions = [{ product_id: "prod-1", status: "active" }];
  const outcomes = await Promise.all(
    holders.map((holder) => play({ ...m, call: holder.call }, m.agentId, null, said())),
  );
  expect(outcomes.map(statusAndCode)).toEqual([
    [201, undefined],
    [402, "merchant_subscription_required"],
    [403, "merchant_customer_unmapped"],
  ]);
});

test("429 quota_exceeded, 402 usage_credit_required, 409 tenant_deleting: the tenant's own", async () => {
  const m = await h.merchant();
  const { call } = await makeClientToken(m, { agentId: m.agentId });
  const say = async () => statusAndCode(await play({ ...m, call }, m.agentId, null, said()));
  await h.sql`update tenants set quota_turns_per_day = 1 where id = ${m.id}`;
  expect(await say()).toEqual([201, undefined]);
  expect(await say()).toEqual([429, "quota_exceeded"]);
  await h.sql`update tenants set quota_turns_per_day = null, usage_credit = 0 where id = ${m.id}`;
  expect(await say()).toEqual([402, "usage_credit_required"]);
  await h.sql`update tenants set deleting_at = now(), usage_credit = null where id = ${m.id}`;
  expect(await say()).toEqual([409, "tenant_deleting"]);
});
