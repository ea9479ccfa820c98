/** The kinds of archives that a skill may come in. */
type ArchiveType = "zip" | "tar" | "tar.gz";

/** Returns the kind of an archive by its name; null for another file. */
export function archiveTypeOf(name: string): ArchiveType | null {
  if (/\.zip$/i.test(name)) return "zip";
  if (/\.(tar\.gz|tgz)$/i.test(name)) return "tar.gz";
  return /\.tar$/i.test(name) ? "tar" : null;
}

/** A SKILL.md to begin with. */
export const skillTemplate = `---
name: my-skill
description: When to use it, in one sentence. The agent reads this to decide.
---

What to do, step by step.
`;
