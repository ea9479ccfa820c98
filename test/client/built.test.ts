import { afterAll, expect, test } from "bun:test";
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createApp } from "../../src/app.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { useAgent } from "../harness/fixture.ts";
import { inRepository } from "../harness/repository.ts";

const run = promisify(execFile);
const tsc = inRepository("node_modules/.bin/tsc");
const { h, t, agentId } = await useAgent({ worker: true });
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: createApp(h.ctx) });

/** A project that has this package among its modules, with the client built. */
const project = mkdtempSync(join(tmpdir(), "parley-client-"));
const installed = join(project, "node_modules/parley");
mkdirSync(installed, { recursive: true });
copyFileSync(inRepository("package.json"), join(installed, "package.json"));
execFileSync(tsc, ["-p", inRepository("src/client/tsconfig.build.json"), "--outDir", join(installed, "dist/client")]);
afterAll(async () => {
  await server.stop(true);
  rmSync(project, { recursive: true, force: true });
});

/** The first example of docs/client.md, on this service and its simulated model. */
async function example(): Promise<string> {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(inRepository("docs/client.md"), "utf8")) ?? [];
  const { body: agent } = await t.call("GET", `/v1/agents/${agentId}`);
  return code
    .replace("http://127.0.0.1:8080", `http://127.0.0.1:${server.port}`)
    .replace("prv_…", agent.providerId)
    .replace("gpt-5-mini", agent.model)
    .replace("What time is it in Lisbon?", '[[sim: text=\\"Half past nine.\\"]]');
}

function hasNode(): boolean {
  try {
    execFileSync("node", ["--version"]);
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasNode())("the example of docs/client.md runs on Node, with the client as it is built", async () => {
  writeFileSync(join(project, "example.mjs"), await example());
  const { stdout } = await run("node", ["example.mjs"], {
    cwd: project,
    env: { PATH: process.env.PATH, PARLEY_API_KEY: t.token },
  });
  expect(stdout).toBe("Half past nine.");
});

test("its declarations satisfy the compiler with Node's own rules of resolution", async () => {
  writeFileSync(join(project, "example.mts"), await example());
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    strict: true,
    noEmit: true,
    types: ["bun-types"],
    typeRoots: [inRepository("node_modules")],
    skipLibCheck: false,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.mts"] }));
  const { stdout } = await run(tsc, ["-p", project]).catch((failed) => failed);
  expect(stdout).toBe("");
});
