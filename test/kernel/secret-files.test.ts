import { afterAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/kernel/config.ts";
import { secretVariables } from "../../src/kernel/secret-files.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const fileOf = (text: string) => {
  const path = join(folder, randomBytes(8).toString("hex"));
  writeFileSync(path, text);
  return path;
};

test("a file stands for its variable, without the end of its line", () => {
  const url = "postgres://u:p@h:5432/db";
  for (const end of ["", "\n", "\r\n"])
    expect(readConfig({ DATABASE_URL_FILE: fileOf(url + end) })).toEqual(readConfig({ DATABASE_URL: url }));
  expect(readConfig({ METRICS_TOKEN_FILE: fileOf("a token of 16 bytes \n\n") }).metricsToken).toBe(
    "a token of 16 bytes \n",
  );
  expect(readConfig({ METRICS_TOKEN_FILE: "", METRICS_TOKEN: "a token of 16 bytes" }).metricsToken).toBe(
    "a token of 16 bytes",
  );
});

test("both together, a file that is missing or empty: one line that names the variable and never shows a value", () => {
  for (const name of secretVariables) {
    const refusal = (env: Record<string, string>) => {
      try {
        readConfig(env);
        return "accepted";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const path = fileOf("hidden-in-a-file");
    const messages = [
      refusal({ [name]: "hidden-value", [`${name}_FILE`]: path }),
      refusal({ [`${name}_FILE`]: join(folder, "missing") }),
      refusal({ [`${name}_FILE`]: fileOf("\n") }),
      refusal({ [`${name}_FILE`]: folder }),
    ];
    for (const message of messages) {
      expect(message).toContain(`${name}_FILE`);
      expect(message).not.toMatch(/hidden|\n/);
    }
  }
});
