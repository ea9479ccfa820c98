/**
 * Turns a second and times of the service, beside the bare endpoint and in turn with it, so that the ratio holds on a
 * noisy machine. With one client the model itself is asked in turn too.
 *
 *     bun loadtest/turns.ts [--clients 1,50] [--seconds 5] [--rounds 3] [--workers 1] [--mode stream,json]
 *                           [--session new|tenth] [--cold] [--together]
 *
 * `--session tenth`: each turn is the tenth of its session; the bare endpoint and the model are sent the nine before.
 * `--cold`: a new installation for each round, measured from its first moment on.
 * `--together`: one process does all, as \`npm start\` does.
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { type Drive, drive, type Measured } from "./drive.ts";
import { median, printLine } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import {
  bareMode,
  coldRounds,
  directMode,
  type Fresh,
  type Measure,
  printComparison,
  type Rounds,
  warmRounds,
} from "./rounds.ts";
import { type Stand, startStand } from "./stand.ts";
import { earlierMessages, Tenths } from "./tenth.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "1,50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    workers: { type: "string", default: "1" },
    together: { type: "boolean", default: false },
    mode: { type: "string", default: "stream,json" },
    chunks: { type: "string", default: "20" },
    session: { type: "string", default: "new" },
    cold: { type: "boolean", default: false },
  },
});
const [seconds, rounds, chunks] = [Number(values.seconds), Number(values.rounds), Number(values.chunks)];
const isTenth = values.session === "tenth";
const json = { "content-type": "application/json" };
/** Turns that the service may run in a round for each that the bare endpoint runs: for so many there are sessions. */
const turnsOfBareMax = 3;

/** A process is warm after some thousand turns, which few clients do not reach: so long, by so many clients at the least. */
const warmUp = { seconds: Math.max(seconds, 8), clients: 20 };

/** CPU milliseconds a turn of each process, by mode, a figure for each time that a mode was measured. */
const cpuOf = new Map<string, Map<string, number[]>>();

/** Returns how the modes are measured against an installation. */
function measureOn(stand: Stand, clients: number, tenths: Tenths): Measure {
  let bareTurns = 0;
  return async (mode, isWarmUp) => {
    if (isTenth && mode !== bareMode && mode !== directMode)
      await tenths.prepare(bareTurns * turnsOfBareMax + clients * 10);
    const load = isWarmUp ? { ...warmUp, clients: Math.max(warmUp.clients, clients) } : { clients, seconds };
    const before = await cpuSeconds(stand.processes);
    const measured = await drive({ ...load, chunks, ...wayOf(mode, stand, tenths) });
    const after = await cpuSeconds(stand.processes);
    if (mode === bareMode) bareTurns = measured.turns;
    if (!isWarmUp) noteCpu(mode, before, after, measured);
    return measured;
  };
}

/** Where and how a mode asks for a turn. */
function wayOf(mode: string, stand: Stand, tenths: Tenths): Pick<Drive, "url" | "headers" | "stream" | "wire"> {
  const sessions = `${stand.url}/v1/agents/${stand.agentId}/sessions`;
  const headers = { ...json, authorization: `Bearer ${stand.apiKey}` };
  const post = (url: string, sent: Drive["headers"], body: object) =>
    fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body) });
  const messageOf = (text: string) => ({ id: "m1", role: "user", parts: [{ type: "text", text }] });
  const streamed = { firstText: /"text-delta"/, end: /\[DONE\]/ };
  if (mode === directMode) {
    const before = earlierMessages.map(({ role, parts }) => ({ role, content: parts.map(textOf).join("") }));
    const ask = (url: string, content: string) =>
      post(url, json, {
        ...{ model: "simulated/model", stream: true },
        messages: [...(isTenth ? before : []), { role: "user", content }],
      });
    const wire = { ask, firstText: /"content":"chunk/, end: /\[DONE\]/ };
    return { url: `${stand.modelUrl}/chat/completions`, headers: json, stream: true, wire };
  }
  if (mode === bareMode) {
    const messages = isTenth ? { messages: earlierMessages } : {};
    const ask = (url: string, text: string) => post(url, json, { ...messages, message: messageOf(text) });
    return { url: stand.bareUrl, headers: json, stream: true, wire: { ask, ...streamed } };
  }
  const stream = mode === "stream";
  if (!isTenth) return { url: sessions, headers, stream };
  const ask = (url: string, text: string) =>
    post(`${url}/${tenths.take()}`, headers, { message: messageOf(text), ...(stream ? {} : { stream }) });
  return { url: sessions, headers, stream, wire: { ask, ...streamed } };
}

const textOf = (part: { readonly type: string; readonly text?: string }) => part.text ?? "";

function noteCpu(
  mode: string,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  { turns }: Measured,
): void {
  const noted = cpuOf.get(mode) ?? new Map<string, number[]>();
  cpuOf.set(mode, noted);
  for (const [name, used] of after)
    noted.set(name, [...(noted.get(name) ?? []), ((used - (before.get(name) ?? 0)) * 1000) / turns]);
}

/** Prints the times of a number of clients, and the CPU of each process. */
function print(clients: number, measured: Rounds): void {
  printComparison(clients, measured);
  printLine("");
  for (const mode of measured.keys()) {
    const uses = [...(cpuOf.get(mode) ?? [])]
      .map(([name, ms]) => [name, median(ms)] as const)
      .filter(([, ms]) => ms >= 0.01);
    if (uses.length > 0)
      printLine(`CPU ms a turn, ${mode}: ${uses.map(([name, ms]) => `${name} ${ms.toFixed(2)}`).join(", ")}`);
  }
  cpuOf.clear();
}

/** A new installation, with the sessions that it is asked for. */
async function open(): Promise<{ stand: Stand; tenths: Tenths } & AsyncDisposable> {
  const opened = new AsyncDisposableStack();
  const stand = opened.use(await startStand({ workers: Number(values.workers), together: values.together }));
  const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
  opened.defer(() => sql.end());
  return { stand, tenths: new Tenths(sql, stand), [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function compareCold(clients: number, modes: readonly string[]): Promise<void> {
  if (isTenth)
    throw new Error("Sessions are written before a round, and so none begins with a start: --cold or --session tenth.");
  for (const mode of modes) {
    const start = async (): Promise<Fresh> => {
      const fresh = await open();
      const measure = measureOn(fresh.stand, clients, fresh.tenths);
      return { measure, [Symbol.asyncDispose]: () => fresh[Symbol.asyncDispose]() };
    };
    print(clients, await coldRounds(mode, rounds, start));
  }
}

async function compareWarm(all: readonly number[], modes: readonly string[]): Promise<void> {
  await using opened = await open();
  for (const clients of all) {
    const asked = [...(clients === 1 ? [directMode] : []), bareMode, ...modes];
    print(clients, await warmRounds(asked, rounds, measureOn(opened.stand, clients, opened.tenths)));
  }
}

const clientNumbers = values.clients.split(",").map(Number);
const modes = values.mode.split(",");
if (values.cold) for (const clients of clientNumbers) await compareCold(clients, modes);
else await compareWarm(clientNumbers, modes);
process.exit(0);
