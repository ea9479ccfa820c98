import { expect, test } from "bun:test";
import { limitValues } from "../../../src/kernel/http/count-values.ts";
import { jsonValuesMax } from "../../../src/kernel/limits.ts";
import { useTenant } from "../../harness/fixture.ts";

const { t } = await useTenant();
const mib = 1024 * 1024;

/** Whether a text has too many values. */
const isRefused = (text: string) =>
  limitValues([Buffer.from(text)]).then(
    () => false,
    (error) => error.reason === "payload_too_large",
  );

const list = (item: string, count: number) => `[${Array(count).fill(item).join(",")}]`;

/** Texts of so many values. */
const texts: Readonly<Record<string, (values: number) => string>> = {
  numbers: (values) => list("-1.5e+3", values - 1),
  words: (values) => list("null", values - 1),
  texts: (values) => list('"[1,2,\\"3\\\\"', values - 1),
  "small arrays": (values) => list(" [ ] ", values - 1),
  "small objects": (values) => list("{}", values - 1),
  keys: (values) =>
    `{${Array(Math.floor((values - 1) / 2))
      .fill('"k":1')
      .join(",")}${values % 2 === 0 ? ',"k"' : ""}}`,
  "no JSON": (values) => "[".repeat(values),
};

for (const [name, write] of Object.entries(texts)) {
  test(`${name}: ${jsonValuesMax} are taken, and no more`, async () => {
    expect(await isRefused(write(jsonValuesMax))).toBe(false);
    expect(await isRefused(write(jsonValuesMax + 1))).toBe(true);
  });
}

test("what stands in a text is no value, however large", async () => {
  expect(await isRefused(JSON.stringify(['[{\\",'.repeat(mib), "x".repeat(mib)]))).toBe(false);
  expect(await isRefused(`"${'\\"'.repeat(3 * mib)}`)).toBe(false);
});

test("a text counts the same in whatever pieces it comes", async () => {
  for (const write of Object.values(texts))
    for (const [values, refused] of [
      [jsonValuesMax, false],
      [jsonValuesMax + 1, true],
    ] as const) {
      const bytes = Buffer.from(write(values));
      const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, n) => bytes.subarray(n * 7, n * 7 + 7));
      const counted = limitValues(pieces).then(
        () => false,
        () => true,
      );
      expect(await counted).toBe(refused);
    }
});

test("others go on while a large body is counted", async () => {
  let others = 0;
  const timer = setInterval(() => {
    others += 1;
  }, 0);
  await limitValues([Buffer.alloc(32 * mib, " ")]);
  clearInterval(timer);
  // In one piece there would be none; in slices, how many there are is the machine's speed.
  expect(others).toBeGreaterThan(0);
});

for (const form of ["a", "b"] as const) {
  test(`413 payload_too_large: a body with too many values, wherever they are (form ${form})`, async () => {
    for (const body of [
      `{"name":"n","metadata":${list("[]", 2_000_000)}}`,
      `{"name":"n","unknown":${list("1", jsonValuesMax)}}`,
      list("{}", jsonValuesMax),
    ]) {
      const response = await t.call("POST", "/v1/agents", { form, body });
      expect([response.status, response.body.error.code]).toEqual([413, "payload_too_large"]);
    }
    const inside = await t.call("POST", "/v1/agents", { form, body: `{"unknown":${list("1", jsonValuesMax - 3)}}` });
    expect(inside.status).toBe(400);
  });
}

test("the path of a fault deep in a body is named", async () => {
  const body = { name: "n", metadata: { "a/b": [0, { "c~": ["ok", "nul \0"] }] } };
  const { status, body: refusal } = await t.call("POST", "/v1/agents", { body });
  expect([status, refusal.error.details.issues]).toEqual([
    400,
    [{ path: "/metadata/a~1b/1/c~0/1", message: "must not contain the NUL character" }],
  ]);
});
