import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inRepository } from "../harness/repository.ts";

/**
 * Builds the image without a container engine and without a registry of images: by buildah, on bases of the names that
 * the Dockerfile has, which are made of Debian's own packages and of npm's.
 */

const programs = ["buildah", "debootstrap", "runc", "npm"];
/** Whether this machine can build and run images: Debian's packages buildah, debootstrap and runc, as root. */
export const canBuild =
  process.getuid?.() === 0 && programs.every((name) => Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin` }));

/** Images and bases are kept here for the next run; the bases take minutes. */
export const storage = "/var/tmp/parley-image-test";
const dockerfile = "docs/container/Dockerfile";
const tag = "localhost/parley-test:latest";
/** On a busy machine. */
const buildMsMax = 60 * 60_000;

function run(program: string, words: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("nice", [program, ...words], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: buildMsMax,
      ...options,
    });
    let stdout = "";
    let all = "";
    child.stdout.on("data", (data: Buffer) => {
      stdout += String(data);
      all = (all + data).slice(-8_000);
    });
    child.stderr.on("data", (data: Buffer) => {
      all = (all + data).slice(-8_000);
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0
        ? resolve(stdout.trim())
        : reject(new Error(`${program} ${words.join(" ")} ended with ${code}:\n${all}`)),
    );
  });
}

const buildah = (...words: string[]) =>
  run("buildah", [
    "--root",
    join(storage, "images"),
    "--runroot",
    join(storage, "run"),
    "--storage-driver",
    "vfs",
    ...words,
  ]);

/** What the image says of itself, and where its files are. */
export interface BuiltImage extends AsyncDisposable {
  readonly config: ImageConfig;
  readonly layers: number;
  readonly bytes: number;
  readonly files: string;
}

interface ImageConfig {
  readonly User: string;
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** Builds the image and mounts its files. */
export async function buildImage(): Promise<BuiltImage> {
  mkdirSync(storage, { recursive: true });
  await makeBases();
  const revision = execFileSync("git", ["rev-parse", "HEAD"], { cwd: inRepository("."), encoding: "utf8" }).trim();
  await run(
    "buildah",
    [
      ...["--root", join(storage, "images"), "--runroot", join(storage, "run"), "--storage-driver", "vfs"],
      ...[
        "build",
        "--isolation",
        "chroot",
        "--format",
        "docker",
        "--layers=false",
        "--pull-never",
        "--file",
        dockerfile,
      ],
      ...["--ignorefile", `${dockerfile}.dockerignore`, "--build-arg", `REVISION=${revision}`, "--tag", tag, "."],
    ],
    { cwd: inRepository(".") },
  );
  const said = JSON.parse(await buildah("inspect", "--type", "image", tag));
  const container = await buildah("from", "--pull-never", tag);
  const files = await buildah("mount", container);
  return {
    config: said.Docker.config,
    layers: said.OCIv1.rootfs.diff_ids.length,
    bytes: Number((await run("du", ["--summarize", "--bytes", files])).split("\t")[0]),
    files,
    [Symbol.asyncDispose]: async () => void (await buildah("rm", container)),
  };
}

/** The bases' names, in the order of the Dockerfile. */
async function baseNames(): Promise<{ node: string; debian: string }> {
  const text = await readFile(inRepository(dockerfile), "utf8");
  const [node, debian] = [...text.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name as string);
  if (node === undefined || debian === undefined) throw new Error("The Dockerfile has not the two bases that it had.");
  return { node, debian };
}

async function makeBases(): Promise<void> {
  const { node, debian } = await baseNames();
  const known = await buildah("images", "--format", "{{.Name}}:{{.Tag}}");
  const has = (name: string) => known.split("\n").includes(name);
  if (!has(debian)) await makeDebian(debian);
  if (!has(node)) await makeNode(node, debian);
}

/** Debian as its slim image is: no manuals, no languages. */
async function makeDebian(name: string): Promise<void> {
  const folder = mkdtempSync(join(storage, "debian-"));
  try {
    await run("/usr/sbin/debootstrap", ["--variant=minbase", "bookworm", folder]);
    for (const left of ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/lib/apt/lists"])
      await run("find", [join(folder, left), "-mindepth", "1", "-delete"]);
    await run("find", [join(folder, "var/cache/apt"), "-type", "f", "-delete"]);
    const container = await buildah("from", "scratch");
    await buildah("add", container, folder, "/");
    const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    await buildah("config", "--env", `PATH=${path}`, "--cmd", "bash", container);
    await buildah("commit", "--rm", container, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Node and npm on it, of the version that the name says, from npm's registry. */
async function makeNode(name: string, debian: string): Promise<void> {
  const version = /:(\d+\.\d+\.\d+)-/.exec(name)?.[1] ?? "";
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  const folder = mkdtempSync(join(storage, "node-"));
  try {
    await run("npm", [
      "install",
      "--no-save",
      "--no-audit",
      "--no-fund",
      "--prefix",
      folder,
      `node-linux-${arch}@${version}`,
      "npm@11",
    ]);
    const container = await buildah("from", "--pull-never", debian);
    const from = join(folder, "node_modules");
    await buildah("add", container, join(from, `node-linux-${arch}/bin/node`), "/usr/local/bin/node");
    await buildah("add", container, join(from, "npm"), "/usr/local/lib/node_modules/npm");
    await buildah(
      "run",
      "--isolation",
      "chroot",
      container,
      "--",
      "ln",
      "-s",
      "../lib/node_modules/npm/bin/npm-cli.js",
      "/usr/local/bin/npm",
    );
    // A registry behind a company's own certificate is known to the machine, and has to be to the build.
    const certificates = "/etc/ssl/certs/ca-certificates.crt";
    if (process.env.NODE_EXTRA_CA_CERTS !== undefined && existsSync(certificates)) {
      await buildah("add", container, certificates, certificates);
      await buildah("config", "--env", `NODE_EXTRA_CA_CERTS=${certificates}`, container);
    }
    await buildah("commit", "--rm", container, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
