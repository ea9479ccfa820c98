import { expect, test } from "bun:test";
import { allSources } from "./harness/sources.ts";
import { linksResolve } from "./laws/citations.ts";
import * as code from "./laws/code.ts";
import * as imports from "./laws/imports.ts";
import type { Law } from "./laws/law.ts";
import { foldersHaveMeaning, halfOfTheFilesAreSmall } from "./laws/sizes.ts";
import { migrationsAreNumbered, rootIsKept } from "./laws/tree.ts";

const sources = allSources();
const { fieldsArePrivate: _, ...keptCode } = code;
const laws: Law[] = [
  ...Object.values(imports),
  ...Object.values(keptCode),
  foldersHaveMeaning,
  halfOfTheFilesAreSmall,
  linksResolve,
  migrationsAreNumbered,
  rootIsKept,
];

for (const { title, violations, broken } of laws) {
  test(title, () => expect(violations(sources)).toEqual([]));
  test(`a breach would be seen: ${title}`, () => {
    for (const files of broken) expect(violations(files)).not.toEqual([]);
  });
}
