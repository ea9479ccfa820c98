import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { generateClient } from "../../src/client/generator/generate.ts";
import { readConfig } from "../../src/kernel/config.ts";
import { openApiText } from "../../src/operator/openapi.ts";
import { inRepository } from "../harness/repository.ts";

/** The text as the formatter writes it; it finds its settings by the file's place. */
function formatted(path: string, text: string): string {
  const args = ["format", `--stdin-file-path=${inRepository(path)}`];
  return execFileSync(inRepository("node_modules/.bin/biome"), args, { input: text, encoding: "utf8" });
}

test("the generated part of the client is what `npm run client` makes of the document", async () => {
  const files = generateClient(JSON.parse(await openApiText(readConfig({}))));
  for (const [name, text] of Object.entries(files)) {
    const path = `src/client/generated/${name}`;
    const kept = readFileSync(inRepository(path), "utf8");
    expect([path, formatted(path, text) === kept]).toEqual([path, true]);
  }
});
