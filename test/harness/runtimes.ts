import { readFileSync } from "node:fs";
import { inRepository } from "./repository.ts";

/**
 * What the service runs on in a run of the tests. In `process` it is part of the
 * tests' own process (Bun), which is fastest and lets tests look inside; in the
 * others each role is a process of its own on the named runtime, and the tests
 * talk to it by HTTP. In `mixed` the worker pool runs on Deno, all else on Bun.
 */
export const runtimeChoices = ["process", "bun", "deno", "mixed"] as const;
export type RuntimeChoice = (typeof runtimeChoices)[number];

/** The choice of this run, as `test/run.ts` passes it on. */
export const chosenRuntime: RuntimeChoice =
  runtimeChoices.find((known) => known === process.env.PARLEY_TEST_RUNTIME) ?? "process";
/** Whether the service is part of the tests' process, so that a test may look inside. */
export const inProcess = chosenRuntime === "process";

/** A program and its arguments. */
export interface Command {
  readonly program: string;
  readonly words: readonly string[];
}

/** How a role is started in this run. */
export function roleCommand(role: string, env: Readonly<Record<string, string>> = {}): Command {
  const onDeno = chosenRuntime === "deno" || (chosenRuntime === "mixed" && role === "work");
  if (!onDeno) return bunCommand(role);
  const { program, words } = denoCommand(role);
  // A process that runs programs has to be allowed everything (docs/deno.md).
  const isAllowedAll = env.SANDBOX === "bubblewrap" && !words.includes("--allow-all");
  return {
    program,
    words: isAllowedAll
      ? words.flatMap((word) => (word === "run" ? [word, "--allow-all"] : word.startsWith("--allow") ? [] : [word]))
      : words,
  };
}

function bunCommand(role: string): Command {
  return { program: process.execPath, words: ["src/main.ts", role] };
}

/** The task of `deno.json` itself, its permissions included, without the task runner around it. */
export function denoCommand(role: string): Command {
  const { tasks } = JSON.parse(readFileSync(inRepository("deno.json"), "utf8")) as { tasks: Record<string, string> };
  const [, line] = /(?:^|\s)deno (run .*)$/.exec(tasks[role] ?? "") ?? [];
  if (line === undefined) throw new Error(`deno.json has no task ${role} that runs Deno.`);
  return { program: inRepository("node_modules/.bin/deno"), words: line.split(" ") };
}
