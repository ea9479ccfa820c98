import postgres from "postgres";
import { launchProgram, stopProgram } from "../launch.ts";
import type { Stand } from "../stand.ts";
import { installPeer, nodeOf } from "./install.ts";
import type { Peer } from "./systems.ts";

/** A peer's one process, or that and its child. */
interface PeerServer {
  readonly url: string;
  readonly pid: number;
  readonly databaseUrl: string;
  /** Whether it has ended. */
  hasEnded(): boolean;
}

/** Starts a peer on the stand's model, with a database of its own in the stand's Postgres if it wants one. */
export async function startPeerServer(stand: Stand, opened: AsyncDisposableStack, peer: Peer): Promise<PeerServer> {
  const cwd = await installPeer(peer);
  const url = new URL(stand.databaseUrl);
  url.pathname = `/peer_${peer.name}`;
  const sql = postgres(stand.databaseUrl, { max: 1 });
  await sql.unsafe(`create database peer_${peer.name}`);
  await sql.end();
  const { child, match } = await launchProgram({
    program: nodeOf(cwd),
    args: peer.app?.start ?? ["server.mjs"],
    cwd,
    env: { ...peer.app?.env, DATABASE_URL: url.href, MODEL_URL: stand.modelUrl, PORT: "0", NODE_ENV: "production" },
    ready: /http:\S+/,
  });
  // A program that runs the server as a child ends it when asked to end; killed, it would leave it behind.
  opened.defer(async () => void (await stopProgram(child, peer.app === undefined ? "SIGKILL" : "SIGTERM")));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return { url: match[0], pid: child.pid ?? 0, databaseUrl: url.href, hasEnded };
}
