import { isCode } from "../harness/sources.ts";
import { file, type Law, lineCount, product } from "./law.ts";

/** A file with more lines has more than one reason to change. */
const linesMax = 400;
/** Half of the product's files are at most this long. */
const medianLinesMax = 100;
/** Folder names that say nothing about what is inside. */
const emptyNames = /(^|\/)(services?|utils?|helpers?|types|common|lib|misc)\//;

const lines = (count: number) => Array.from({ length: count }, () => "");

/** Holds for the tests too, and not for what a program writes. */
export const filesAreShort: Law = {
  title: `no file has more than ${linesMax} lines`,
  violations: (sources) =>
    sources
      .filter(({ path }) => /^(src|workers|test)\//.test(path) && isCode(path) && !path.includes("/generated/"))
      .filter(({ text }) => lineCount(text) > linesMax)
      .map(({ path, text }) => `${path}: ${lineCount(text)}`),
  broken: [[file("test/a.test.ts", ...lines(linesMax + 1))]],
};

/** The median was 74 lines when the law was made. */
export const halfOfTheFilesAreSmall: Law = {
  title: `half of the product's files have at most ${medianLinesMax} lines`,
  violations: (sources) => {
    const sizes = product(sources)
      .map(({ text }) => lineCount(text))
      .sort((left, right) => left - right);
    const median = sizes[Math.floor(sizes.length / 2)] ?? 0;
    return median > medianLinesMax ? [`The median is ${median}.`] : [];
  },
  broken: [[file("src/a.ts", ...lines(medianLinesMax + 1))]],
};

/** A class with more lines holds more than one idea. */
const classLinesMax = 200;
/** Classes that were larger when the law was made; none is to be added. */
const largeClasses = new Set(["Check", "ItemEvents", "RelayWriter"]);

/** Holds for the product: a client of the tests may do a hundred things at random. */
export const classesAreShort: Law = {
  title: `no class has more than ${classLinesMax} lines`,
  violations: (sources) =>
    product(sources).flatMap(({ path, text }) =>
      [...text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[^\n]*\{$[\s\S]*?^\}$/gm)]
        .filter(([found, name = ""]) => lineCount(found) + 1 > classLinesMax && !largeClasses.has(name))
        .map(([found, name]) => `${path}: ${name} has ${lineCount(found) + 1}`),
    ),
  broken: [[file("src/a.ts", "export class A {", ...lines(classLinesMax), "}")]],
};

/** A folder is named after what is inside. */
export const foldersHaveMeaning: Law = {
  title: "no folder has a name that says nothing",
  violations: (sources) =>
    product(sources)
      .filter(({ path }) => emptyNames.test(path))
      .map(({ path }) => path),
  broken: [[file("src/utils/a.ts")]],
};
