import { afterAll, describe, expect, test } from "bun:test";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createApp } from "../../src/app.ts";
import { clientPackage } from "../../src/client/package/manifest.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { useAgent } from "../harness/fixture.ts";
import { inRepository } from "../harness/repository.ts";

const run = promisify(execFile);
const tsc = inRepository("node_modules/.bin/tsc");
const { h, t, agentId } = await useAgent({ worker: true });
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: createApp(h.ctx) });

/** An empty project that has installed the packed client, and nothing else. No registry is asked. */
const project = mkdtempSync(join(tmpdir(), "parley-client-"));
const pack = inRepository("src/client/package/main.ts");
const packed = execFileSync(process.execPath, [pack, project], { encoding: "utf8" }).trim();
writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", packed], { cwd: project, stdio: "pipe" });
afterAll(async () => {
  await server.stop(true);
  rmSync(project, { recursive: true, force: true });
});

const deno = inRepository("node_modules/.bin/deno");
const runtimes: readonly { readonly name: string; readonly command: readonly [string, ...string[]] }[] = [
  { name: "Node", command: ["node"] },
  { name: "Bun", command: [process.execPath] },
  { name: "Deno", command: [deno, "run", "--no-prompt", "--allow-net", "--allow-env", "--allow-read", "--allow-sys"] },
];

/** The first example of docs/client.md, on this service and its simulated model, with an agent of another name. */
async function example(name: string): Promise<string> {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(inRepository("docs/client.md"), "utf8")) ?? [];
  const { body: agent } = await t.call("GET", `/v1/agents/${agentId}`);
  return code
    .replace("http://127.0.0.1:8080", `http://127.0.0.1:${server.port}`)
    .replace("Support", name)
    .replace("prv_…", agent.providerId)
    .replace("gpt-5-mini", agent.model)
    .replace("What time is it in Lisbon?", '[[sim: text=\\"Half past nine.\\"]]');
}

/** What a program of the project prints. */
async function printed([program, ...words]: readonly [string, ...string[]], code: string): Promise<string> {
  writeFileSync(join(project, "program.mjs"), code);
  const { stdout } = await run(program, [...words, "program.mjs"], {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: project, PARLEY_API_KEY: t.token, NO_COLOR: "1" },
  });
  return stdout.trim();
}

describe("the package of `npm run pack:client`, installed in an empty folder", () => {
  test("has the version and the license of the repository, and brings nothing along", () => {
    const installed = join(project, "node_modules", clientPackage);
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const repository = JSON.parse(readFileSync(inRepository("package.json"), "utf8"));
    expect([manifest.version, manifest.license]).toEqual([repository.version, repository.license]);
    expect(readFileSync(join(installed, "LICENSE"), "utf8")).toBe(readFileSync(inRepository("LICENSE"), "utf8"));
    const { packages } = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
    expect(Object.keys(packages)).toEqual(["", `node_modules/${clientPackage}`]);
  });

  for (const { name, command } of runtimes)
    test.skipIf(!canRun(command[0]))(`runs the example of docs/client.md on ${name}`, async () => {
      expect(await printed(command, await example(name))).toBe("Half past nine.");
    });

  for (const { name, command } of runtimes)
    test.skipIf(!canRun(command[0]))(`has the transport for useChat on ${name}, where there is \`ai\``, async () => {
      const ai = join(project, "node_modules/ai");
      rmSync(ai, { force: true });
      symlinkSync(inRepository("node_modules/ai"), ai);
      const code = `import { ParleyChat } from "${clientPackage}/use-chat";
const { transport } = new ParleyChat({ agentUrl: "http://127.0.0.1:1/v1/agents/ag_1" });
console.log(typeof transport.sendMessages);`;
      expect(await printed(command, code)).toBe("function");
    });

  test("has declarations that satisfy the compiler with Node's own rules of resolution", async () => {
    writeFileSync(join(project, "example.mts"), await example("Support"));
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
});

function canRun(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
