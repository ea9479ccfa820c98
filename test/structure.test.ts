import { expect, test } from "bun:test";
import { allSources } from "./harness/sources.ts";
import * as circles from "./laws/circles.ts";
import * as citations from "./laws/citations.ts";
import * as code from "./laws/code.ts";
import * as imports from "./laws/imports.ts";
import type { Law } from "./laws/law.ts";
import * as names from "./laws/names.ts";
import * as sizes from "./laws/sizes.ts";
import * as statements from "./laws/statements.ts";
import * as titles from "./laws/titles.ts";
import * as transactions from "./laws/transactions.ts";
import * as tree from "./laws/tree.ts";
import * as words from "./laws/words.ts";

const sources = allSources();
const laws = [circles, citations, code, imports, names, sizes, statements, titles, transactions, tree, words].flatMap(
  (file) => Object.values<Law>(file),
);

for (const { title, violations, broken } of laws) {
  test(title, () => expect(violations(sources)).toEqual([]));
  test(`a breach would be seen: ${title}`, () => {
    for (const files of broken) expect(violations(files)).not.toEqual([]);
  });
}
