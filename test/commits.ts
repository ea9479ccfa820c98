/**
 * Checks the messages of commits (docs/contributing.md, "Commits"): `npm run check:commits`. What was written before the rule
 * is as it is.
 */
import { execFileSync } from "node:child_process";
import { repository } from "./harness/repository.ts";

/** A commit keeps the time at which it was written, also where it is put on another one. */
const ruleSince = "2026-11-26T04:27:00Z";
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

/** The commits that were written since then, without merges; none where git or its history is not there. */
export function commitsSinceTheRule(): CommitMessage[] {
  const words = ["-C", repository, "log", "--no-merges", "--format=%H %at%n%B%x00"];
  try {
    const log = execFileSync("git", words, { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
    return log.split("\0").flatMap((entry) => {
      const [, id = "", writtenAt = "", message = ""] = /^\s*(\w+) (\d+)\n([\s\S]*)$/.exec(entry) ?? [];
      return id === "" || Number(writtenAt) * 1000 < Date.parse(ruleSince) ? [] : [{ id, message }];
    });
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
