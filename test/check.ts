/**
 * Everything about the code that needs no service: types, lint, Deno. The Deno check is the longest and uses one core,
 * so the others run beside it, one after the other. What a check says is printed when it is over.
 */
import { spawn } from "node:child_process";

const beside = ["typecheck", "typecheck:load", "typecheck:docs", "typecheck:console", "lint"];
const results = await Promise.all([inOrder(["deno"]), inOrder(beside)]);
process.exit(results.flat().every((passed) => passed) ? 0 : 1);

async function inOrder(scripts: readonly string[]): Promise<boolean[]> {
  const passed: boolean[] = [];
  for (const script of scripts) passed.push(await run(script));
  return passed;
}

/** Runs a script of package.json, and returns whether it passed. */
function run(script: string): Promise<boolean> {
  const startedAtMs = performance.now();
  const child = spawn("npm", ["run", "--silent", script], { stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => output.push(data));
  return new Promise((resolve) => {
    child.once("close", (code) => {
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
      process.stdout.write(`${code === 0 ? "passed" : "FAILED"} ${script}, ${seconds} s\n`);
      if (code !== 0) process.stdout.write(Buffer.concat(output));
      resolve(code === 0);
    });
  });
}
