import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { type Child, startProcess, startRole } from "../harness/process.ts";
import { inRepository } from "../harness/repository.ts";
import { openTerminal } from "../harness/terminal.ts";

/** A block of code of a page, with the heading that it stands below. */
interface Block {
  readonly heading: string;
  readonly language: string;
  readonly lines: readonly string[];
}

/** What the commands below a heading print, beside no error. A heading without an entry runs without one. */
const printed: Readonly<Record<string, readonly RegExp[]>> = {
  Start: [/"id":"ag_/],
  "A first conversation": [/^HTTP\/1\.1 201/m, /^location: .*ss_/im, /"finishReason"/, /text-delta/, /"canceled":1/],
  "An approval": [/tool-approval-request/, /"status":"approved"/, /tool-output-available/],
  "Tools of your own page": [/tool-input-available/, /current_location/, /text-delta/],
  Memory: [/closed on Sundays/, /"memoryInjectionEnabled":true/],
  "A workspace": [/prices\.csv/, /tea,3/],
  "A skill": [/Up to 50 euros/, /"name":"greetings"/],
  "A schedule": [/"expression":"0 8 \* \* MON-FRI"/, /"tr_/, /"everyMs":60000/, /"enabled":false/],
  "Who did what": [/"action":"agent\.update"/],
  "What the turns did": [/"steps":\[/, /"canceled":0/],
  "An MCP server": [/"ok":true/, /"toolNames":\["time"\]/, /tool-clock__time/],
  "A chat app": [/"platform":"chat_b"/, /"platform":"chat_a"/, /Telegram, sendMessage in 7: /, /Slack, \S+ in C1: /],
  "A webhook": [/"status":"succeeded"/, /turn\.ended succeeded/],
};
/** Lines for terminals that are no `sh` block, and why the test does not run them. */
const notRun: Readonly<Record<string, string>> = {
  "npm install": "the tests run in an installed repository",
  "npm run chat-page": "test/docs/chat-page.test.ts does",
  "api /v1/providers": "the page says that it needs a vendor's key",
  "api /v1/agents": "the same",
};

function blocksOf(page: string): Block[] {
  const text = readFileSync(inRepository(page), "utf8");
  let heading = "";
  return [...text.matchAll(/^## (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, title, language = "", code = ""]) => {
    if (title !== undefined) {
      heading = title;
      return [];
    }
    return [{ heading, language, lines: code.replaceAll("\\\n", "").trimEnd().split("\n") }];
  });
}

const blocks = ["docs/guide.md", "docs/connecting.md"].flatMap(blocksOf);
const home = await mkdtemp(join(tmpdir(), "parley-guide-"));
const ports = new Map<string, string>();
for (const port of ["8080", "3400", "3333", "3500"]) ports.set(port, String(await freePort()));
const others: Child[] = [];
const terminal = openTerminal({ pauseMax: 3 });
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  for (const child of others) await child.kill();
  await rm(home, { recursive: true, force: true });
});

/** What stands in the terminal of the `sh` blocks so far, and in the others. */
let shown = "";
const elsewhere = () => others.map((child) => child.stdout()).join("");

/** A line with this run's ports, and each value that ends in `…` as it was shown last. */
function filled(line: string): string {
  const withPorts = line.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => ports.get(port) ?? port);
  return withPorts
    .replaceAll(/\b([a-z]+)_…/g, (_, prefix) =>
      lastOf(prefix === "whsec" ? /whsec_[\w+/=]+/g : new RegExp(`\\b${prefix}_\\w{20,}`, "g")),
    )
    .replaceAll(/(?<=export SECRET=)…/g, () => lastOf(/(?<= secret )\S+/g));
}

function lastOf(pattern: RegExp): string {
  const found = `${elsewhere()}\n${shown}`.match(pattern)?.at(-1);
  if (found === undefined) throw new Error(`Nothing was shown like ${pattern}.`);
  return found;
}

/** Starts what a terminal of its own runs. */
async function startOther(line: string): Promise<void> {
  if (
    Object.keys(notRun).some((begin) => line === begin || line.startsWith(`${begin}/`) || line.startsWith(`${begin} `))
  )
    return;
  const [, variables = "", program = ""] =
    /^((?:\w+=\S+ )*)(npm start|npx bun docs\/examples\/[\w-]+\.ts)$/.exec(line) ?? [];
  const env = Object.fromEntries(
    filled(variables)
      .trim()
      .split(" ")
      .filter((word) => word !== "")
      .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]),
  );
  if (program === "npm start") {
    const child = startRole("start", { PARLEY_HOME: home, PORT: ports.get("8080") as string, ...env });
    others.push(child);
    await child.prints(/Ctrl-C stops it/);
    return;
  }
  const file = program.replace("npx bun ", "");
  const [, port = ""] = /Number\(process\.argv\[2\] \?\? (\d+)\)/.exec(readFileSync(inRepository(file), "utf8")) ?? [];
  const child = startProcess(process.execPath, [file, ports.get(port) as string], env);
  others.push(child);
  await child.prints(/listen/);
}

describe("the blocks of docs/guide.md and docs/connecting.md", () => {
  test.each([...new Set(blocks.map(({ heading }) => heading))])(
    "%s",
    async (heading) => {
      const before = shown.length;
      for (const { language, lines } of blocks.filter((block) => block.heading === heading))
        for (const line of lines) {
          if (language === "") await startOther(line);
          if (language === "sh") shown += await terminal.run(filled(line));
        }
      const output = shown.slice(before);
      expect(output.match(/\{"error":\{"code".*|.*(?:command not found|syntax error).*/g) ?? []).toEqual([]);
      const patterns = printed[heading] ?? [];
      const missing = () => patterns.filter((pattern) => !pattern.test(`${output}\n${elsewhere()}`));
      // What the other terminals print may come later than the last command ends.
      await eventually(() => missing().length === 0).catch(() => expect([...missing(), output]).toEqual([]));
    },
    120_000,
  );

  test("each line that is not run is there, and told", () => {
    const lines = blocks.filter(({ language }) => language === "").flatMap((block) => block.lines);
    for (const begin of Object.keys(notRun)) expect(lines.some((line) => line.startsWith(begin))).toBe(true);
    expect(readFileSync(inRepository("docs/connecting.md"), "utf8")).toContain("so no test runs them");
  });
});
