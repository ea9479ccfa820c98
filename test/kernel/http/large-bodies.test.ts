import { describe, expect, test } from "bun:test";
import { largeBodiesMax, largeBodyBytes, takeBodyPlace } from "../../../src/kernel/admission/large-bodies.ts";

function post(length: number | null): Request {
  const headers = length === null ? {} : { "content-length": String(length) };
  return new Request("http://parley.test/", { method: "POST", headers, body: "{}" });
}

describe("takeBodyPlace", () => {
  test("one tenant's fifth large body waits for a place; small ones and other tenants' do not", async () => {
    const taken: number[] = [];
    const take = (n: number, length: number | null) =>
      takeBodyPlace(post(length), "a").then((release) => {
        taken.push(n);
        return release;
      });
    const [first] = await Promise.all(
      Array.from({ length: largeBodiesMax }, (_, n) => take(n, n === 0 ? null : largeBodyBytes + 1)),
    );
    const fifth = take(largeBodiesMax, largeBodyBytes + 1);
    await takeBodyPlace(post(largeBodyBytes), "a");
    await takeBodyPlace(post(largeBodyBytes + 1), "b");
    expect(taken.length).toBe(largeBodiesMax);
    first?.();
    (await fifth)();
    expect(taken.at(-1)).toBe(largeBodiesMax);
  });
});
