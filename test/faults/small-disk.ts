import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of its own, in memory, that can be filled to the last byte. */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Takes all that is free. */
  fill(): Promise<void>;
  /** Gives it back. */
  empty(): Promise<void>;
}

const megabyte = Buffer.alloc(1024 * 1024, 1);

/** Mounts a disk of so many MiB; null where this process may not mount. */
export async function mountSmallDisk(mebibytes: number): Promise<SmallDisk | null> {
  const folder = await mkdtemp(join(tmpdir(), "parley-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m,mode=0755`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    await rm(folder, { recursive: true });
    return null;
  }
  await chmod(folder, 0o755);
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, "a");
      try {
        for (const piece of [megabyte, megabyte.subarray(0, 4096)]) await writeUntilFull(file, piece);
      } finally {
        await file.close();
      }
      const { bavail } = await statfs(folder);
      if (bavail > 0) throw new Error(`${bavail} blocks are free yet.`);
    },
    empty: () => rm(ballast, { force: true }),
    [Symbol.asyncDispose]: async () => {
      execFileSync("umount", ["--lazy", folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeUntilFull(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      const { bytesWritten } = await file.write(piece);
      if (bytesWritten < piece.length) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
      throw error;
    }
  }
}
