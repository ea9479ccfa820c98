/**
 * Runs the fault suite: a random history, then a full disk, exhausted connections,
 * malformed jobs, a network that breaks, and the promises of docs/promises.md over
 * several hosts. `--seed N --seconds N --clients N` shape the history; `--only NAME`
 * runs one of the parts, `--histories N` plays so many histories, each with the next
 * seed. The seed is printed first and last. The promises are printed as a table;
 * `--row NAME` tries one of them (`NAME|NAME` several), `--picture` draws streams and
 * turns over those that were tried.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pictureOf, picturePath, type Row, tableOf } from "./hosts/rows.ts";

const parts = {
  history: ["./test/faults/history.test.ts"],
  disk: ["./test/faults/disk.fault.ts"],
  pool: ["./test/faults/pool.fault.ts"],
  jobs: ["./test/faults/jobs.fault.ts"],
  cuts: ["./test/faults/cuts.fault.ts"],
  hosts: ["shared", "stores", "times"].map((name) => `./test/faults/hosts/${name}.fault.ts`),
};
const seedMax = 2 ** 31;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * seedMax)) },
    seconds: { type: "string", default: "30" },
    clients: { type: "string", default: "20" },
    histories: { type: "string", default: "1" },
    only: { type: "string" },
    row: { type: "string" },
    picture: { type: "boolean", default: false },
  },
});
const first = wholeNumber("seed");
const seconds = wholeNumber("seconds");
const clients = wholeNumber("clients");
const seeds = Array.from({ length: wholeNumber("histories") }, (_, index) => first + index);
const only = values.row === undefined ? values.only : "hosts";
const folder = mkdtempSync(join(tmpdir(), "parley-promises-"));
const tableFile = join(folder, "rows.jsonl");
writeFileSync(tableFile, "");
if (only !== undefined && !(only in parts)) stopWith(`--only takes one of ${Object.keys(parts).join(", ")}.`);

const failed: string[] = [];
for (const seed of only === undefined || only === "history" ? seeds : []) {
  printLine(`history with --seed ${seed} --seconds ${seconds} --clients ${clients}`);
  if (!(await passes(parts.history, seed))) failed.push(`history --seed ${seed}`);
}
const others = Object.entries(parts).filter(([name]) => name !== "history" && (only ?? name) === name);
if (others.length > 0 && !(await passes(others.flatMap(([, files]) => files)))) failed.push("the parts without a seed");
const rows = readFileSync(tableFile, "utf8")
  .trim()
  .split("\n")
  .flatMap((line) => (line === "" ? [] : (JSON.parse(line) as Row)));
rmSync(folder, { recursive: true });
if (rows.length > 0) process.stdout.write(`${tableOf(rows)}\n`);
if (values.picture) writeFileSync(picturePath, pictureOf(rows));
const again = `npm run test:faults -- --seed ${first} --seconds ${seconds} --clients ${clients}`;
printLine(failed.length === 0 ? `all passed; again: ${again}` : `failed: ${failed.join("; ")}; again: ${again}`);
process.exit(failed.length === 0 ? 0 : 1);

function wholeNumber(name: "seed" | "seconds" | "clients" | "histories"): number {
  const value = values[name];
  if (!/^\d{1,10}$/.test(value)) stopWith(`--${name} takes a whole number.`);
  return Number(value);
}

/** Runs files as `npm test` does, with a Postgres and a Redis for the run, but one after the other: they break what they share. */
function passes(files: readonly string[], seed?: number): Promise<boolean> {
  const env = {
    ...process.env,
    PARLEY_FAULTS_SECONDS: String(seconds),
    PARLEY_FAULTS_CLIENTS: String(clients),
    PARLEY_FAULTS_TABLE: tableFile,
    ...(seed === undefined ? {} : { PARLEY_FAULTS_SEED: String(seed) }),
  };
  const named = values.row === undefined ? [] : ["-t", `(${values.row}):`];
  const child = spawn(process.execPath, ["test/run.ts", "--parallel=1", ...named, ...files], { stdio: "inherit", env });
  return new Promise((resolve) => child.once("close", (code) => resolve(code === 0)));
}

function printLine(line: string): void {
  process.stdout.write(`fault suite: ${line}\n`);
}

function stopWith(message: string): never {
  process.stderr.write(`fault suite: ${message}\n`);
  process.exit(2);
}
