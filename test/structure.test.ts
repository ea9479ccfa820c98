import { expect, test } from "bun:test";
import { allSources } from "./harness/sources.ts";
import { noCircleOfFiles } from "./laws/circles.ts";
import { citedHeadingsExist, linksResolve } from "./laws/citations.ts";
import * as code from "./laws/code.ts";
import * as imports from "./laws/imports.ts";
import type { Law } from "./laws/law.ts";
import * as sizes from "./laws/sizes.ts";
import * as tree from "./laws/tree.ts";

const sources = allSources();
const { fieldsArePrivate: _, ...keptCode } = code;
const laws: Law[] = [
  noCircleOfFiles,
  ...[imports, sizes, keptCode, tree].flatMap((file) => Object.values<Law>(file)),
  citedHeadingsExist,
  linksResolve,
];

for (const { title, violations, broken } of laws) {
  test(title, () => expect(violations(sources)).toEqual([]));
  test(`a breach would be seen: ${title}`, () => {
    for (const files of broken) expect(violations(files)).not.toEqual([]);
  });
}
