import { dirname, join } from "node:path";
import { isCode, type Source } from "../harness/sources.ts";
import { proseOf, splitCode } from "./comments.ts";
import { file, type Law } from "./law.ts";

/** Documents that no reader has, and documents without their folder. */
const unreachable = /\bdocument [12]\b|\bdesign section\b|(?<![\w/])(decisions|design)\.md|\bREADME, "/gi;
/** Names that are examples, or files that users of the service write. */
const examples =
  /[*<>{}…]|topic\.sql$|^0001_tenants\.sql$|(^|\/)(SKILL|[a-d]|notes)\.md$|^\.\.?\/|^loadtest\/results\//;
const ownFolders = /(?<![\w./@$-])(?:src|workers|test|sql|docs|loadtest|\.ci)\/[\w./*<>{}-]*[\w/>*}]/g;
const fileInBackticks = /`((?:[\w.-]+\/)*[\w.-]+\.(?:tsx?|sql|md))`/g;
const heading = /(docs\/[\w/-]+\.md|README\.md)`?((?:(?:,? (?:and|or)|,) "[^"]+")+)/g;
const link = /\]\(([^)\s]+)\)/g;

/** A reader can open what a comment names. */
export const citationsAreReachable: Law = {
  title: "no comment cites what a reader does not have",
  violations: (sources) =>
    eachInProse(sources, ({ prose }) => prose.replaceAll(link, "]").match(unreachable) ?? []).filter(
      // Documents stand beside each other.
      (found) => !/^docs\/.* → decisions\.md$/.test(found),
    ),
  broken: [
    [file("src/a.ts", '/** As document 1 says ("Errors"). */')],
    [file("src/a.ts", "/** See `decisions.md`. */")],
    [file("sql/001_a.sql", "-- Design section 3.")],
  ],
};

/** Paths of the repository, and names of files in backticks, in comments and documents. */
export const namedFilesExist: Law = {
  title: "every file that a comment or a document names exists",
  violations: (sources) => {
    const paths = new Set(sources.flatMap(({ path }) => [path, ...ancestors(path)]));
    const ends = new Set([...paths].flatMap(endsOf));
    return eachInProse(sources, ({ prose }) => [
      ...(prose.match(ownFolders) ?? []).filter((name) => !examples.test(name) && !paths.has(name.replace(/\/$/, ""))),
      ...[...prose.matchAll(fileInBackticks)]
        .map((match) => match[1] as string)
        .filter((name) => !examples.test(name) && !ends.has(name)),
    ]);
  },
  broken: [
    [file("src/a.ts", "// As src/b.ts does.")],
    [file("src/a.ts", "/**", " * The table is in", " * `b.ts`.", " */")],
    [file("docs/a.md", "See `test/gone/`.")],
  ],
};

/** A path of a document, a comma and a heading in quotes, in comments and documents. */
export const citedHeadingsExist: Law = {
  title: "every heading that a comment or a document cites exists",
  violations: (sources) => {
    const headings = headingsByPath(sources);
    return eachInProse(sources, ({ prose }) =>
      [...prose.matchAll(heading)].flatMap(([, path = "", cited = ""]) =>
        [...cited.matchAll(/"([^"]+)"/g)]
          .map((match) => match[1] as string)
          .filter((title) => !headings.get(path)?.includes(title))
          .map((title) => `${path}, "${title}"`),
      ),
    );
  },
  broken: [
    [file("docs/a.md", "# One"), file("src/a.ts", '/** Why: docs/a.md, "Two". */')],
    [file("docs/a.md", "# One"), file("src/a.ts", '/** Why: docs/a.md, "One" and', ' * "Two". */')],
  ],
};

/** Links between documents. */
export const linksResolve: Law = {
  title: "every link of a document leads to a file, and to a heading of it",
  violations: (sources) => {
    const paths = new Set(sources.flatMap(({ path }) => [path, ...ancestors(path)]));
    const headings = headingsByPath(sources);
    const leads = (from: string, target: string) => {
      const [name = "", anchor] = target.split("#");
      const path = (name === "" ? from : join(dirname(from), name)).replace(/\/$/, "");
      return paths.has(path) && (anchor === undefined || headings.get(path)?.map(anchorOf).includes(anchor) === true);
    };
    return sources
      .filter(({ path }) => path.endsWith(".md"))
      .flatMap(({ path, text }) =>
        [...text.matchAll(link)]
          .map((match) => match[1] as string)
          .filter((target) => !/^[a-z]+:/.test(target) && !leads(path, target))
          .map((target) => `${path} → ${target}`),
      );
  },
  broken: [[file("docs/a.md", "# One", "[b](b.md)")], [file("docs/a.md", "# One", "[two](#two)")]],
};

/** A model answers; a function returns. */
export const functionsReturn: Law = {
  title: 'no docstring begins with "Answers"',
  violations: (sources) =>
    sources
      .filter(({ path }) => /\.tsx?$/.test(path))
      .flatMap(({ path, text }) =>
        splitCode(text)
          .comments.filter((comment) => comment.startsWith("Answers "))
          .map((comment) => `${path} → ${comment}`),
      ),
  broken: [[file("src/a.ts", "/** Answers the row. */")], [file("src/a.ts", "/**", " * Answers the row.", " */")]],
};

/** An editor shows one comment alone, so each is whole. */
export const docstringsAreWhole: Law = {
  title: "no docstring ends in a comma",
  violations: (sources) =>
    sources
      .filter(({ path }) => isCode(path))
      .flatMap(({ path, text }) =>
        (text.match(/\/\*\*(?:(?!\*\/)[\s\S])*,\s*\*\//g) ?? []).map((found) => `${path} → ${found}`),
      )
      .filter((found) => !found.startsWith("test/laws/")),
  broken: [[file("src/a.ts", "/** At most this many pages, */")], [file("test/a.ts", "/**", " * This many,", " */")]],
};

/** What is wrong with the comments and documents, as `file → what was found`. */
function eachInProse(sources: readonly Source[], find: (text: { prose: string }) => readonly string[]): string[] {
  return sources
    .filter(({ path }) => path !== "docs/changelog.md")
    .flatMap((source) =>
      proseOf(source).flatMap((prose) => find({ prose }).map((found) => `${source.path} → ${found}`)),
    );
}

/** The folders above a file. */
function ancestors(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** The ways to name a file from near it: its path, with fewer and fewer of its folders. */
function endsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(index).join("/"));
}

function headingsByPath(sources: readonly Source[]): Map<string, string[]> {
  return new Map(
    sources
      .filter(({ path }) => path.endsWith(".md"))
      .map(({ path, text }) => [path, [...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] as string)]),
  );
}

/** A heading as links name it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}
