/**
 * Checks the messages of commits (docs/contributing.md, "Commits"): `npm run check:commits`. The rule holds from the commit
 * on that brought this file; older ones are as they are. A clone without history has nothing to check but its own commit.
 */
import { execFileSync } from "node:child_process";
import { inRepository, repository } from "./harness/repository.ts";

/** What `git log` shows without cutting it, and what a list of commits has room for. */
const subjectLengthMax = 72;
/** What is not said to a reader: who else is to be named. */
const trailer = /^[A-Z][A-Za-z-]+: .+$/;

/** A commit as git names and tells it. */
export interface CommitMessage {
  readonly id: string;
  readonly message: string;
}

/** What is wrong with the messages, each in one line. */
export function messageFaults(commits: readonly CommitMessage[]): string[] {
  return commits.flatMap(({ id, message }) => {
    const [subject = "", second = "", ...rest] = message.trimEnd().split("\n");
    const body = rest.filter((line) => line.trim() !== "" && !trailer.test(line));
    const faults = [
      ...(subject.length > subjectLengthMax ? [`its subject has ${subject.length} characters`] : []),
      ...(second !== "" ? ["no empty line follows its subject"] : []),
      ...(subject.endsWith(".") ? ["its subject ends with a full stop"] : []),
      ...(body.length === 0 ? ["it has no body that says why"] : []),
    ];
    return faults.map((fault) => `${id.slice(0, 10)} ${subject.slice(0, subjectLengthMax)}: ${fault}`);
  });
}

/** The commits since this file, without merges; none where there is no history. */
export function commitsSinceTheRule(): CommitMessage[] {
  const git = (...words: string[]) => execFileSync("git", ["-C", repository, ...words], { encoding: "utf8" });
  try {
    const file = inRepository("test/commits.ts");
    const [first] = git("log", "--diff-filter=A", "--format=%H", "--", file).trim().split("\n").reverse();
    if (first === undefined || first === "") return [];
    const log = git("log", "--no-merges", "--format=%H%n%B%x00", "HEAD", `^${first}^@`);
    return log
      .split("\0")
      .map((entry) => entry.trimStart())
      .filter((entry) => entry !== "")
      .map((entry) => ({ id: entry.slice(0, entry.indexOf("\n")), message: entry.slice(entry.indexOf("\n") + 1) }));
  } catch {
    return [];
  }
}

if (import.meta.main) {
  const commits = commitsSinceTheRule();
  const faults = messageFaults(commits);
  process.stdout.write(`${[...faults, `${commits.length} commits, ${faults.length} faults`].join("\n")}\n`);
  process.exit(faults.length === 0 ? 0 : 1);
}
