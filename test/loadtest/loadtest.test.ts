import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileScripts } from "../../loadtest/k6-scripts.ts";
import { findRedisServer } from "../harness/redis.ts";
import { inRepository } from "../harness/repository.ts";

const folder = inRepository("loadtest/");

/** Runs a command to its end; returns its exit code (null when it is not installed) and what it printed. */
function run(command: string, args: string[]): Promise<{ code: number | null; printed: string }> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => {
      printed += data.toString();
    });
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: null, printed }));
    child.once("close", (code) => resolve({ code, printed }));
  });
}

const k6Installed = (await run("k6", ["version"])).code === 0;

/** What the scripts ask for before they run. */
const settings = { API_KEY: "parley_x", AGENT_ID: "ag_x", STAND_URL: "http://127.0.0.1:1", CHAT: "{}" };

describe.skipIf(!k6Installed)("the k6 scripts", () => {
  test("all load, and bound their errors", async () => {
    const compiled = await mkdtemp(join(tmpdir(), "parley-k6-"));
    await compileScripts(compiled);
    const files = await readdir(join(folder, "k6"));
    const scripts: string[] = [];
    for (const file of files) {
      const text = await readFile(join(folder, "k6", file), "utf8");
      if (text.includes("export const options")) scripts.push(file);
    }
    expect(scripts.length).toBeGreaterThanOrEqual(7);
    for (const file of scripts) {
      const set = Object.entries(settings).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
      const { code, printed } = await run("k6", ["inspect", ...set, join(compiled, file)]);
      expect([file, code, code === 0 ? "" : printed]).toEqual([file, 0, ""]);
      const { thresholds } = JSON.parse(printed.slice(printed.indexOf("{"))) as { thresholds: Record<string, unknown> };
      expect(Object.keys(thresholds).filter((name) => /failed|other_response/.test(name))).not.toEqual([]);
    }
    await rm(compiled, { recursive: true });
  });

  test.skipIf(findRedisServer() === null)(
    "one command starts an installation, runs a script within its bounds, and leaves a page with pictures",
    async () => {
      const results = await mkdtemp(join(tmpdir(), "parley-results-"));
      try {
        const command = [join(folder, "run.ts"), "hot", "--clients", "8", "--duration", "2s", "--set", "TURN_MS=1500"];
        const { code, printed } = await run(process.execPath, [...command, "--results", results]);
        expect([code, code === 0 ? "" : printed]).toEqual([0, ""]);
        const files = (await readdir(results)).sort();
        expect(files).toEqual([expect.stringMatching(/-hot\.html$/), expect.stringMatching(/-hot\.json$/)]);
        const { figures, samples } = JSON.parse(await readFile(join(results, files[1] ?? ""), "utf8"));
        expect(figures).toMatchObject({ clients: "8", verdict: "ok" });
        expect(Number(figures["409 session_busy"])).toBe(7 * Number(figures.rounds));
        expect(Object.keys(samples.at(-1).processes)).toContain("serve");
        expect(printed).toContain(`| ${Object.values(figures).join(" | ")} |`);
        const page = await readFile(join(results, files[0] ?? ""), "utf8");
        expect(page).toContain("<svg");
        expect(page).not.toContain("<script");
      } finally {
        await rm(results, { recursive: true });
      }
    },
    120_000,
  );
});
