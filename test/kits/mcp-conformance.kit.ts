/**
 * The official conformance kit of MCP against this service as a client: each scenario is a
 * server of the kit's; the service gets a connection to it, signs in where it has to, and
 * an agent calls the tools. `npm run test:kits` fetches the kit and runs this.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";
import { useService } from "../harness/fixture.ts";
import { toolsOfTurn } from "../harness/mcp-turn.ts";
import { inRepository } from "../harness/repository.ts";
import { makeAgent } from "../harness/seed.ts";
import { SignInBrowser } from "../harness/sign-in-browser.ts";
import { fetchKit } from "./fetch-kit.ts";

const kit = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/** A person who is asked for more rights again and again stops here. */
const stepUpsMax = 1;
/** One scenario, with the turns and sign-ins that it takes. */
const scenarioMs = 60_000;
const jwtSecret = "a secret of the dashboard, long enough";

const h = await useService({ worker: true, env: { DASHBOARD_JWT_SECRET: jwtSecret } });
let results: string;
let control: HttpServer | null = null;
const bin = join(await fetchKit(kit), "dist", "index.js");
const scenarios = (await run(["list", "--client"])).output.matchAll(/- (\S+) \[([^\]]*)\]/g);

beforeAll(async () => {
  results = await mkdtemp(join(tmpdir(), "parley-kit-"));
  control = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const error = await play((await request.json()) as Scene).then(
        (said) => ({ said }),
        (cause: unknown) => ({ failed: String(cause) }),
      );
      return Response.json(error);
    },
  });
});
afterAll(async () => {
  await control?.stop(true);
  await rm(results, { recursive: true, force: true });
});

/** Scenarios that this client leaves out, and why. */
const leftOut: Readonly<Record<string, string>> = {
  "elicitation-sep1034-client-defaults": "elicitation is answered with the protocol's error, so no defaults are sent",
};

for (const [, name = "", versions = ""] of scenarios)
  for (const version of ["2025-11-25", "2026-07-28"].filter((one) => versions.split(",").includes(one)))
    describe.skipIf(name in leftOut)(version, () => {
      test(
        name,
        async () => {
          const { output } = await run([
            "client",
            "--scenario",
            name,
            "--spec-version",
            version,
            "-o",
            results,
            "--command",
            `${process.execPath} ${inRepository("test/kits/mcp-driver.ts")}`,
          ]);
          expect(await failedChecks(name), output).toEqual([]);
        },
        scenarioMs,
      );
    });

/** The checks of the scenario's last run that failed. */
async function failedChecks(name: string): Promise<string[]> {
  const folders = (await readdir(results, { recursive: true })).filter((path) => path.endsWith("checks.json"));
  const mine = folders.filter((path) => path.includes(name.split("/").at(-1) as string)).sort();
  const checks = JSON.parse(await readFile(join(results, mine.at(-1) as string), "utf8")) as Check[];
  if (checks.length === 0) return ["no check was made"];
  return checks.filter(({ status }) => status === "FAILURE").map(({ id, errorMessage }) => `${id}: ${errorMessage}`);
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the kit hands over: its server, and what the client has to know beforehand. */
interface Scene {
  readonly serverUrl: string;
  readonly scenario: string;
  readonly context: {
    readonly client_id?: string;
    readonly client_secret?: string;
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
  };
}

/** Does with the kit's server what a tenant would. */
async function play({ serverUrl, scenario, context }: Scene): Promise<string> {
  const t = await h.tenant();
  const isAuth = scenario.startsWith("auth/");
  const { client_id: clientId, client_secret: clientSecret } = context;
  const client = clientId === undefined ? {} : { clientId, clientSecret };
  const authType = isAuth ? "oauth_authorization_code" : "none";
  const made = await t.call("POST", "/v1/mcp-connections", {
    body: { name: "kit", url: serverUrl, authType, ...client },
  });
  if (made.status !== 201) return JSON.stringify(made.body);
  const { id } = made.body;
  const signIn = async () => {
    const token = await new SignJWT({ tenantId: t.id, authUserId: "user-1" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode(jwtSecret));
    const { body } = await t.call("POST", `/v1/mcp-connections/${id}/connect`, { token });
    const { text } = await new SignInBrowser(h.app).follow(body.url);
    return text.replaceAll(/<[^>]+>|\s+/g, " ");
  };
  const said: string[] = [];
  if (isAuth) said.push(await signIn());
  const agentId = await makeAgent(h, t, { mcpConnectionIds: [id] });
  for (let round = 1; round <= stepUpsMax + 1; round++) {
    said.push(await callTools(t, agentId, id, context));
    const { status } = (await t.call("GET", `/v1/mcp-connections/${id}`)).body;
    if (!isAuth || status === "connected") break;
    said.push(await signIn());
  }
  return said.join("\n");
}

type Tenant = Awaited<ReturnType<typeof h.tenant>>;

/** Runs a turn in which the model calls each of the server's tools, or those that the kit names. */
async function callTools(t: Tenant, agentId: string, id: string, { toolCalls }: Scene["context"]): Promise<string> {
  const tested = (await t.call("POST", `/v1/mcp-connections/${id}/test`)).body;
  const names: string[] = tested.toolNames ?? [];
  const schema = names.includes("json_schema_echo") ? await schemaOf(t, id, "json_schema_2020_12_tool") : null;
  const calls = toolCalls ?? names.map((name) => ({ name, arguments: argumentsOf(name, schema) }));
  const steps = calls.map(({ name, arguments: given }) => `tool=${named(name)} args=${JSON.stringify(given)}`);
  return JSON.stringify([tested, await say(t, agentId, `[[sim: ${[...steps, 'text="Done."'].join("; ")}]]`)]);
}

async function say(t: Tenant, agentId: string, text: string): Promise<unknown> {
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const { body } = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message, stream: false } });
  return body.message?.parts ?? body;
}

/** The name by which the model knows a tool of the kit's server. */
function named(tool: string): string {
  return `kit__${tool.replaceAll(/[^\w-]/g, "_")}`;
}

/** What the model calls a tool with. One takes the schema of another, as this client has it: what of it a vendor is sent depends on the vendor. */
function argumentsOf(tool: string, schema: unknown): object {
  if (tool === "add_numbers") return { a: 5, b: 3 };
  return tool === "json_schema_echo" ? { schema } : {};
}

/** The schema of a tool's input as a turn has it. */
async function schemaOf(t: Tenant, id: string, tool: string): Promise<unknown> {
  const { tools } = await toolsOfTurn(h.ctx, t.id, [id]);
  const found = tools.find(({ name }) => name === named(tool));
  return (found?.tool.inputSchema as { readonly jsonSchema?: unknown } | undefined)?.jsonSchema;
}

/** Runs the kit. */
async function run(words: readonly string[]): Promise<{ output: string }> {
  const env = { ...process.env, NODE_NO_WARNINGS: "1", PARLEY_KIT_URL: `http://127.0.0.1:${control?.port ?? 0}/` };
  const child = spawn(process.execPath, [bin, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece) => {
      output += piece;
    });
  await new Promise((resolve) => child.on("close", resolve));
  return { output };
}
