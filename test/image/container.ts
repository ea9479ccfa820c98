import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type BuiltImage, storage } from "./builder.ts";

/** A process of the image in a container, as an engine starts it: the image's user, variables and working folder. */
export interface Container extends AsyncDisposable {
  /** All that it printed. */
  printed(): string;
  /** Its first process: the user, and its own number, as the host sees it and as the container does. */
  first(): { readonly uid: number; readonly pid: number };
  /** Waits until it has printed that. Throws with what it printed when it ends before. */
  prints(pattern: RegExp): Promise<void>;
  readonly exited: Promise<number | null>;
  /** Asks it to end, as an engine does, and returns its exit status. */
  stop(): Promise<number | null>;
}

export interface ContainerOptions {
  /** Left out: the image's own. */
  readonly command?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A folder of the host that is mounted at the image's PARLEY_HOME. */
  readonly home?: string;
  /** What a sandbox is made of: a whole `/proc`, and programs that may get users. */
  readonly makesSandboxes?: boolean;
}

/** What an engine leaves a container that is given nothing. */
const usualCapabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "SETPCAP",
  "SYS_CHROOT",
  "SETFCAP",
];
const startMs = 120_000;

/** Starts one, on the host's network. Its root is read-only, as the manifests for Kubernetes have it. */
export function startContainer({ config, files }: BuiltImage, options: ContainerOptions): Container {
  const { command = config.Cmd, env, home, makesSandboxes = false } = options;
  const id = `parley-test-${randomBytes(6).toString("hex")}`;
  const bundle = join(storage, id);
  mkdirSync(bundle, { recursive: true });
  execFileSync("runc", ["spec"], { cwd: bundle });
  const spec = JSON.parse(readFileSync(join(bundle, "config.json"), "utf8"));
  const [uid, gid] = config.User.split(":").map(Number);
  spec.root = { path: files, readonly: true };
  spec.hostname = undefined;
  spec.process.terminal = false;
  spec.process.user = { uid, gid };
  spec.process.args = command;
  spec.process.cwd = config.WorkingDir;
  spec.process.env = [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  spec.process.noNewPrivileges = !makesSandboxes;
  // Those of this process.
  spec.process.rlimits = [];
  spec.process.capabilities = makesSandboxes ? { bounding: usualCapabilities.map((name) => `CAP_${name}`) } : {};
  spec.linux.namespaces = ["pid", "ipc", "mount"].map((type) => ({ type }));
  if (makesSandboxes) Object.assign(spec.linux, { maskedPaths: [], readonlyPaths: [] });
  spec.mounts = spec.mounts.filter(({ destination }: { destination: string }) => !destination.startsWith("/sys"));
  spec.mounts.push({ destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=1777"] });
  if (home !== undefined) spec.mounts.push({ destination: "/var/lib/parley", source: home, options: ["bind", "rw"] });
  writeFileSync(join(bundle, "config.json"), JSON.stringify(spec));

  const runc = (...words: string[]) =>
    execFileSync("runc", words, { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  const child = spawn("runc", ["run", "--bundle", bundle, id], { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  let isOver = false;
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => {
      printed += String(data);
    });
  const exited = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      isOver = true;
      resolve(code);
    }),
  );
  return {
    printed: () => printed,
    exited,
    first: () => {
      const pid = Number(JSON.parse(runc("state", id)).pid);
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const last = (name: string) => Number(new RegExp(`^${name}:.*?(\\d+)$`, "m").exec(status)?.[1]);
      return { uid: last("Uid"), pid: last("NSpid") };
    },
    prints: async (pattern) => {
      await eventually(() => {
        if (pattern.test(printed)) return true;
        if (isOver) throw new Error(`It ended:\n${printed}`);
        return false;
      }, startMs);
    },
    stop: () => {
      runc("kill", id, "TERM");
      return exited;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        if (!isOver) runc("kill", id, "KILL");
      } catch {
        // It has just ended.
      }
      await exited;
      rmSync(bundle, { recursive: true, force: true });
    },
  };
}
