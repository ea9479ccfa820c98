/**
 * A rolling deploy under load: two HTTP processes and two workers are replaced one after another, all four once a
 * minute, while clients run turns of three steps with tools that count how often they ran.
 *
 *     bun loadtest/deploy.ts [--minutes 10] [--every-seconds 60] [--clients 10] [--drain-seconds 10]
 *                            [--http-drain-seconds 1] [--kill] [--picture FILE.svg] [--results FILE.json]
 *
 * A new process is started first; then requests go to it, and the old one is asked to end (SIGTERM), or with `--kill`
 * killed. Ends with 1 when a turn was lost, a tool ran twice, or a reader saw a gap, a doublet or something else than
 * another reader.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { McpServer, textResult, textTool } from "../test/servers/mcp.ts";
import { Balancer, type DeployClients, type DeployedTurn, playTurn } from "./deploy-clients.ts";
import { printLine, quantile } from "./figures.ts";
import { drawPanels, type PanelLine } from "./picture.ts";
import { type ServiceProcess, type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    "every-seconds": { type: "string", default: "60" },
    clients: { type: "string", default: "10" },
    "drain-seconds": { type: "string", default: "10" },
    "http-drain-seconds": { type: "string", default: "1" },
    kill: { type: "boolean", default: false },
    picture: { type: "string", default: join(import.meta.dirname, "deploy.svg") },
    results: { type: "string", default: join(import.meta.dirname, "results", "deploy.json") },
  },
});
/** Workers may take longer to end than HTTP processes: a step is to end, and what reads a stream comes back. */
const draining = { DRAIN_SECONDS: values["drain-seconds"] };
/** How long the counting tool takes. */
const toolMs = 300;
/** Figures over time are of so many seconds each. */
const bucketSeconds = 10;
const faultsPrinted = 20;

/** A process that was replaced. */
interface Replacement {
  readonly name: string;
  readonly atMs: number;
  /** From SIGTERM to its end. */
  readonly tookMs: number;
  readonly code: number | null;
}

/** A tool that counts, on a server that is not replaced. */
function startCounter(): { server: McpServer; counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const server = new McpServer();
  server.settings.tools = [textTool("count")];
  server.settings.onCall = async ({ args }) => {
    const key = String(args.text);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    await sleep(toolMs);
    return textResult(`counted ${key}`);
  };
  return { server, counts };
}

/** An agent that may use the tool without asking. */
async function furnishDeploy(stand: Stand, mcpUrl: string): Promise<string> {
  const connection = await stand.call("POST", "/v1/mcp-connections", {
    name: "counter",
    url: mcpUrl,
    authType: "none",
  });
  const agent = await stand.call("POST", "/v1/agents", {
    name: "deploy",
    model: "simulated/model",
    providerId: stand.providerId,
    mcpConnectionIds: [connection.id],
    approvalInChat: { default: "full" },
  });
  return agent.id;
}

/** Replaces all processes one after another, once every so often, until the end. */
async function roll(
  stand: Stand,
  balancer: Balancer,
  processes: ServiceProcess[],
  endsAt: number,
): Promise<Replacement[]> {
  const done: Replacement[] = [];
  const everyMs = Number(values["every-seconds"]) * 1000;
  for (let dueAt = performance.now() + everyMs / 2; dueAt < endsAt; dueAt += everyMs) {
    await sleep(Math.max(0, dueAt - performance.now()));
    for (const [index, old] of processes.entries()) {
      const fresh = old.url === "" ? await stand.addWorker(old.name, draining) : await stand.addServer(old.name);
      if (old.url !== "") balancer.replace(old.url, fresh.url);
      processes[index] = fresh;
      const from = performance.now();
      if (values.kill) process.kill(old.pid, "SIGKILL");
      const code = await old.end();
      done.push({ name: old.name, atMs: Date.now(), tookMs: performance.now() - from, code });
    }
  }
  return done;
}

/** Runs turns one after another, as so many clients, until the end. */
async function load(clients: DeployClients, endsAt: number): Promise<DeployedTurn[]> {
  const turns: DeployedTurn[] = [];
  await Promise.all(
    Array.from({ length: Number(values.clients) }, async (_, index) => {
      await sleep(index * 300);
      for (let n = 1; performance.now() < endsAt; n++) turns.push(await playTurn(clients, `c${index + 1}-${n}`));
    }),
  );
  return turns;
}

function draw(turns: readonly DeployedTurn[], replacements: readonly Replacement[], fromMs: number): string {
  const buckets = Map.groupBy(turns, ({ endedAt }) => Math.floor((endedAt - fromMs) / 1000 / bucketSeconds));
  const last = Math.max(0, ...buckets.keys());
  const line = (name: string, y: (ended: readonly DeployedTurn[]) => number): PanelLine => ({
    name,
    points: Array.from({ length: last + 1 }, (_, index) => ({
      x: ((index + 1) * bucketSeconds) / 60,
      y: y(buckets.get(index) ?? []),
    })),
  });
  const marks = replacements.map(({ atMs }) => (atMs - fromMs) / 60_000);
  const sum = (ended: readonly DeployedTurn[], of: (turn: DeployedTurn) => number) =>
    ended.reduce((all, turn) => all + of(turn), 0);
  const seconds = (ended: readonly DeployedTurn[], of: (turn: DeployedTurn) => number, share: number) =>
    quantile(ended.map(of), share) / 1000;
  return drawPanels(`A rolling deploy: ${replacements.length} processes replaced under load`, [
    {
      title: `Turns that ended, and streams joined again, in ${bucketSeconds} s (dashed: a process has gone)`,
      lines: [
        line("turns", (ended) => ended.length),
        line("joined again", (ended) => sum(ended, ({ rejoined }) => rejoined)),
      ],
      marks,
    },
    {
      title: "Whole turns, and the longest silence a reader saw within one, seconds",
      lines: [
        line("turn, median", (ended) => seconds(ended, ({ askedAt, endedAt }) => endedAt - askedAt, 0.5)),
        line("turn, longest", (ended) => seconds(ended, ({ askedAt, endedAt }) => endedAt - askedAt, 1)),
        line("silence, longest", (ended) => seconds(ended, ({ silenceMs }) => silenceMs, 1)),
      ],
      marks,
    },
    {
      title: "Lost turns",
      lines: [line("lost", (ended) => sum(ended, ({ lost }) => (lost === null ? 0 : 1)))],
      marks,
    },
  ]);
}

/** Prints what came of it. Returns whether all is as it must be. */
function tell(
  turns: readonly DeployedTurn[],
  replacements: readonly Replacement[],
  counts: Map<string, number>,
): boolean {
  const lost = turns.filter(({ lost }) => lost !== null);
  const faults = turns.flatMap((turn) => turn.faults);
  const twice = [...counts].filter(([, count]) => count > 1);
  const badly = values.kill ? [] : replacements.filter(({ code }) => code !== 0);
  const sum = (of: (turn: DeployedTurn) => number) => turns.reduce((all, turn) => all + of(turn), 0);
  const whole = turns.map(({ askedAt, endedAt }) => endedAt - askedAt);
  const rows: readonly [string, string | number][] = [
    ["processes replaced", replacements.length],
    ["turns", turns.length],
    ["lost", lost.length],
    ["tool calls", counts.size],
    ["done twice", twice.length],
    ["calls of which nobody knows whether they happened", sum(({ unknown }) => unknown)],
    ["streams joined again", sum(({ rejoined }) => rejoined)],
    ["readers told to begin anew", sum(({ restarted }) => restarted)],
    ["sequences with gaps, doublets or differences", faults.length],
    ["requests sent again", sum(({ retried }) => retried)],
    ["first text p50, p95", `${middle(turns.map(({ firstTextMs }) => firstTextMs))} ms`],
    ["whole turn p50, p95, longest", `${middle(whole)}, ${quantile(whole, 1)} ms`],
    ["longest silence within a turn", `${Math.max(0, ...turns.map(({ silenceMs }) => silenceMs))} ms`],
  ];
  printLine(`| what | |\n|---|---|\n${rows.map(([name, value]) => `| ${name} | ${value} |`).join("\n")}\n`);
  const said = [
    ...lost.map((turn) => `lost at ${new Date(turn.endedAt).toISOString()}: ${turn.lost}`),
    ...twice.map(([key, count]) => `${key} was done ${count} times`),
    ...badly.map(({ name, code }) => `${name} ended with ${code}`),
    ...faults,
  ];
  for (const line of said.slice(0, faultsPrinted)) printLine(line.slice(0, 1_000));
  return said.length === 0;
}

const middle = (numbers: readonly number[]) => `${quantile(numbers, 0.5)}, ${quantile(numbers, 0.95)}`;

async function main(): Promise<number> {
  await mkdir(dirname(values.results), { recursive: true });
  await using opened = new AsyncDisposableStack();
  const { server, counts } = startCounter();
  opened.defer(() => server.stop());
  const env = { DRAIN_SECONDS: values["http-drain-seconds"] };
  const stand = opened.use(await startStand({ workers: 0, env }));
  const second = await stand.addServer();
  const addWorker = () => stand.addWorker("work", draining);
  const processes = [stand.server, await addWorker(), second, await addWorker()];
  const balancer = new Balancer([stand.url, second.url]);
  const agentId = await furnishDeploy(stand, server.url);
  const clients = { balancer, apiKey: stand.apiKey, agentId, tool: "counter__count" };
  const fromMs = Date.now();
  const endsAt = performance.now() + Number(values.minutes) * 60_000;
  const [turns, replacements] = await Promise.all([load(clients, endsAt), roll(stand, balancer, processes, endsAt)]);
  await writeFile(values.results, `${JSON.stringify({ fromMs, replacements, turns, counts: [...counts] })}\n`);
  await writeFile(values.picture, draw(turns, replacements, fromMs));
  return tell(turns, replacements, counts) ? 0 : 1;
}

process.exit(await main());
