import type { FetchContents } from "../runtime.ts";
import type { SearchJob, SearchResult } from "./protocol.ts";

/** The most matches of one search. */
const matchesMax = 1_000;
/** Characters of a line that a match shows. */
const lineCharactersMax = 500;
/** Bytes that are fetched at once; a single file may be larger. */
const fetchBytesMax = 4 * 1024 * 1024;
const fetchFilesMax = 200;

/** Returns the lines that match; binary files are skipped. Throws SyntaxError for a broken pattern. */
export async function search(job: SearchJob, fetch: FetchContents): Promise<SearchResult> {
  const pattern = new RegExp(job.pattern);
  const matches: SearchResult["matches"][number][] = [];
  for (const paths of batches(job.files)) {
    const contents = await fetch(paths);
    for (const [index, content] of contents.entries()) {
      const path = paths[index] as string;
      if (content === null || content.includes(0)) continue;
      for (const [line, text] of Buffer.from(content).toString("utf8").split("\n").entries()) {
        if (!pattern.test(text)) continue;
        if (matches.length === matchesMax) return { matches, complete: false };
        matches.push({ path, line: line + 1, text: text.replace(/\r$/, "").slice(0, lineCharactersMax) });
      }
    }
  }
  return { matches, complete: true };
}

function* batches(files: SearchJob["files"]): Generator<string[]> {
  let paths: string[] = [];
  let bytes = 0;
  for (const { path, size } of files) {
    if (paths.length === fetchFilesMax || (paths.length > 0 && bytes + size > fetchBytesMax)) {
      yield paths;
      paths = [];
      bytes = 0;
    }
    paths.push(path);
    bytes += size;
  }
  if (paths.length > 0) yield paths;
}
