import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listMigrations } from "../../src/kernel/database/migrate.ts";
import { openOneConnection } from "../../src/kernel/database/one-connection.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { inRepository } from "../harness/repository.ts";
import { expectWhole } from "../harness/turn-checks.ts";
import { type BuiltImage, buildImage, canBuild } from "./builder.ts";
import { type ContainerOptions, startContainer } from "./container.ts";

const minute = 60_000;
const role = (name: string) => ["bun", "src/main.ts", name];
const isReady = (port: number) => async () =>
  (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200;

describe.skipIf(!canBuild || sharedRedisUrl === null)("the image", () => {
  let image: BuiltImage;
  let installation: Installation;
  beforeAll(async () => {
    image = await buildImage();
    installation = await startInstallation();
    const megabytes = Math.round(image.bytes / 1e6);
    process.stderr.write(`  the image: ${megabytes} MB, ${image.layers} layers, user ${image.config.User}\n`);
  }, 120 * minute);
  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
    await image?.[Symbol.asyncDispose]();
  }, 5 * minute);

  const start = (options: ContainerOptions) => startContainer(image, options);
  const env = (more: Record<string, string> = {}) => ({
    ...installation.env,
    HOST: "127.0.0.1",
    DRAIN_SECONDS: "5",
    ...more,
  });
  /** Runs the image's health check beside a process, and returns its exit status. */
  const healthOf = async (ports: Record<string, string>) => {
    const [kind, ...command] = image.config.Healthcheck.Test;
    expect(kind).toBe("CMD");
    await using check = start({ command, env: ports });
    return check.exited;
  };

  test("says what it is, and is small", async () => {
    const { version } = JSON.parse(await readFile(inRepository("package.json"), "utf8"));
    const { User, Labels, ExposedPorts, Cmd } = image.config;
    expect(User).toBe("1000:1000");
    expect(Cmd).toEqual(role("serve"));
    expect(Object.keys(ExposedPorts)).toEqual(["8080/tcp", "9090/tcp"]);
    const text = await readFile(inRepository("docs/container/Dockerfile"), "utf8");
    expect(Labels).toMatchObject({
      "org.opencontainers.image.title": "Parley",
      "org.opencontainers.image.licenses": "MIT",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": expect.stringMatching(/^[0-9a-f]{40}$/),
      "org.opencontainers.image.base.name": [...text.matchAll(/^FROM (\S+)/gm)].at(-1)?.[1],
    });
    expect(image.bytes).toBeLessThan(850e6);
    expect(image.layers).toBeLessThan(8);
  });

  test("holds nothing that only development needs, and nothing that its user may change", async () => {
    await using looks = start({
      command: [
        "sh",
        "-c",
        "ls node_modules node_modules/.bin src docs . && find /app -writable ! -type l | head -3; id -u",
      ],
      env: {},
    });
    expect(await looks.exited).toBe(0);
    const words = looks.printed().split(/\s+/);
    const tools = ["@biomejs", "@deno", "bun-types", "fast-check", "playwright-core", "typescript", "@typescript"];
    const unwanted = [...tools, "react", "react-dom", "uplot"];
    expect([...unwanted, "console", "loadtest", "test"].filter((name) => words.includes(name))).toEqual([]);
    expect(words.slice(-2)).toEqual(["1000", ""]);
    expect(looks.printed()).not.toMatch(/^\/app/m);
  });

  test(
    "migrate ends with 0 and leaves a whole schema",
    async () => {
      const name = `image_${Date.now()}`;
      await installation.sql.unsafe(`create database ${name}`);
      const url = new URL(installation.databaseUrl);
      url.pathname = `/${name}`;
      try {
        await using migrating = start({ command: role("migrate"), env: { DATABASE_URL: url.href } });
        expect([await migrating.exited, migrating.printed()]).toEqual([
          0,
          expect.stringContaining("migration applied"),
        ]);
        const sql = openOneConnection(url.href);
        expect(await sql`select 1 from schema_migrations`).toHaveLength((await listMigrations()).length);
        await sql.end();
      } finally {
        await installation.sql.unsafe(`drop database ${name} with (force)`);
      }
    },
    5 * minute,
  );

  test(
    "serve is ready, work gets a turn done, sandbox runs the programs that the image brings",
    async () => {
      const [port, metricsPort, sandboxPort] = [await freePort(), await freePort(), await freePort()];
      const sandboxes = {
        SANDBOX_TOKEN: "a token of sandboxes and workers",
        SANDBOX_URL: `http://127.0.0.1:${sandboxPort}`,
      };
      const programs = { SANDBOX: "bubblewrap", SANDBOX_TOKEN: sandboxes.SANDBOX_TOKEN };
      await using sandbox = start({
        command: role("sandbox"),
        env: { HOST: "127.0.0.1", PORT: String(sandboxPort), DRAIN_SECONDS: "5", ...programs },
        makesSandboxes: true,
      });
      const remote = { SANDBOX: "remote", ...sandboxes };
      await using serve = start({ env: env({ PORT: String(port), METRICS_PORT: String(metricsPort), ...remote }) });
      await using work = start({ command: role("work"), env: env({ METRICS_PORT: String(metricsPort), ...remote }) });
      await sandbox.prints(/running commands/);
      await serve.prints(/"serving"/);
      await work.prints(/"working"/);
      for (const each of [port, metricsPort, sandboxPort]) await eventually(isReady(each), minute);
      for (const process of [sandbox, serve, work]) expect(process.first()).toEqual({ uid: 1000, pid: 1 });
      expect(await healthOf({ PORT: String(port) })).toBe(0);
      expect(await healthOf({ METRICS_PORT: String(metricsPort), PORT: "1" })).toBe(0);
      expect(await healthOf({ METRICS_PORT: "1", PORT: "1" })).toBe(1);

      const c = await installation.client(`http://127.0.0.1:${port}`);
      const turn = await c.turn('image [[sim: text="from a container"]]');
      await turn.stream.closed;
      expectWhole(turn, "from a container");

      const made = await c.request("POST", "/v1/workspaces", { name: "programs" });
      const { id } = (await made.json()) as { id: string };
      const command =
        "for each in python3 node git jq rg sqlite3; do $each --version >/dev/null || exit 1; done; id -u";
      const ran = await c.request("POST", `/v1/workspaces/${id}/commands`, { command });
      expect(await ran.json()).toMatchObject({ exitCode: 0, stderr: "" });
      const console = await fetch(`http://127.0.0.1:${port}/docs`);
      expect(console.status).toBe(200);
      expect(await Promise.all([sandbox, serve, work].map((process) => process.stop()))).toEqual([0, 0, 0]);
    },
    10 * minute,
  );

  test(
    "start has a Postgres of its own in PARLEY_HOME",
    async () => {
      const home = mkdtempSync(join(tmpdir(), "parley-image-"));
      chownSync(home, 1000, 1000);
      const port = await freePort();
      try {
        await using started = start({ command: role("start"), env: { HOST: "127.0.0.1", PORT: String(port) }, home });
        await started.prints(/Ctrl-C stops it/);
        await eventually(isReady(port), minute);
        expect(started.first()).toEqual({ uid: 1000, pid: 1 });
        expect(await started.stop()).toBe(0);
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
    10 * minute,
  );
});
