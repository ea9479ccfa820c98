import type { Source } from "../harness/sources.ts";

/** A rule that the files of the repository keep, and what shows that a breach of it would be seen. */
export interface Law {
  readonly title: string;
  /** Each breach in words, with the path of its file. Empty when the law is kept. */
  violations(sources: readonly Source[]): string[];
  /** Small repositories, each of which breaks the law in one way. */
  readonly broken: readonly (readonly Source[])[];
}

/** A made-up file. */
export function file(path: string, ...lines: string[]): Source {
  return { path, text: `${lines.join("\n")}\n` };
}

/** The files of the product: what `src/` and `workers/` hold. */
export function product(sources: readonly Source[]): Source[] {
  return sources.filter(({ path }) => /^(src|workers)\/.*\.tsx?$/.test(path));
}

/** How many lines a text has. */
export function lineCount(text: string): number {
  return text.split("\n").length - 1;
}
