import { describe, expect, test } from "bun:test";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";

/** Returns the line that `write` leaves in the log. */
function lineOf(write: (log: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  write(createLogger("info", { write: (line) => void lines.push(line) }));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] as string) as Record<string, unknown>;
}

describe("credentials in the log", () => {
  for (const name of ["authorization", "apiKey", "token", "credential"]) {
    test(`${name} is redacted in a line, in what it holds, in a child's fields and in an error`, () => {
      expect(lineOf((log) => log.info({ [name]: "secret", status: 1 }, "x"))).toMatchObject({
        [name]: "[redacted]",
        status: 1,
      });
      expect(lineOf((log) => log.info({ headers: { [name]: "secret", accept: "a" } }, "x"))).toMatchObject({
        headers: { [name]: "[redacted]", accept: "a" },
      });
      expect(lineOf((log) => log.child({ [name]: "secret", part: "p" }).info("x"))).toMatchObject({
        [name]: "[redacted]",
        part: "p",
      });
      const error = Object.assign(new TypeError("no"), { [name]: "secret" });
      expect(lineOf((log) => log.error({ err: error }, "x"))).toMatchObject({
        err: { type: "TypeError", message: "no", [name]: "[redacted]" },
      });
    });
  }

  test("what is logged is not changed by it", () => {
    const provider = { apiKey: "secret" };
    const fields = { provider };
    lineOf((log) => log.info(fields, "x"));
    expect(fields.provider).toBe(provider);
    expect(provider.apiKey).toBe("secret");
  });
});
