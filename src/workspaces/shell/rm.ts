import { type Command, defineCommand } from "just-bash";

const reasons: readonly (readonly [code: string, reason: string])[] = [
  ["ENOENT", "No such file or directory"],
  ["ENOTDIR", "Not a directory"],
  ["EBUSY", "Device or resource busy"],
];
const longFlags = new Map([
  ["--recursive", "r"],
  ["--force", "f"],
  ["--verbose", "v"],
]);

/**
 * The command `rm`. The interpreter's own reports no error at all with `-f`, so that
 * `rm -rf /` would seem to have worked.
 */
export const rm: Command = defineCommand("rm", async (args, { fs, cwd }) => {
  const { flags, operands, odd } = readArguments(args);
  if (odd !== null) return failed(`rm: unrecognized option '${odd}'\n`);
  if (operands.length === 0) return flags.has("f") ? failed("", 0) : failed("rm: missing operand\n");
  let [stdout, stderr] = ["", ""];
  for (const operand of operands) {
    const path = fs.resolvePath(cwd, operand);
    const fault = await remove(path).catch((error: unknown) => faultOf(error, flags.has("f")));
    if (fault === null) stdout += flags.has("v") ? `removed '${operand}'\n` : "";
    else if (fault !== "") stderr += `rm: cannot remove '${operand}': ${fault}\n`;
  }
  return { stdout, stderr, exitCode: stderr === "" ? 0 : 1 };

  async function remove(path: string): Promise<string | null> {
    const isFolder = (await fs.lstat(path)).isDirectory;
    if (isFolder && !flags.has("r")) return "Is a directory";
    if (path === "/") return "It is the root of the workspace";
    await fs.rm(path, { recursive: isFolder });
    return null;
  }
});

function readArguments(args: readonly string[]) {
  const end = args.indexOf("--");
  const before = end === -1 ? args : args.slice(0, end);
  const isFlag = (word: string) => word.startsWith("-") && word !== "-";
  const words = before.filter(isFlag).map((word) => longFlags.get(word) ?? word);
  const odd = words.find((word) => !/^-?[rRfv]+$/.test(word)) ?? null;
  const flags = new Set(words.join("").replaceAll("-", "").replaceAll("R", "r"));
  const operands = [...before.filter((word) => !isFlag(word)), ...(end === -1 ? [] : args.slice(end + 1))];
  return { flags, operands, odd };
}

/** Returns why a path was not removed, in the words of a real `rm`; empty when it does not exist and `-f` was given. */
function faultOf(error: unknown, isForced: boolean): string {
  const message = error instanceof Error ? error.message : String(error);
  const [code, reason] = reasons.find(([known]) => message.includes(known)) ?? ["", message];
  return isForced && (code === "ENOENT" || code === "ENOTDIR") ? "" : reason;
}

function failed(stderr: string, exitCode = 1) {
  return { stdout: "", stderr, exitCode };
}
