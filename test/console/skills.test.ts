import { expect, test } from "bun:test";
import { archiveTypeOf } from "../../src/console/skills/archive-type.ts";

test("an archive is known by its name's ending", () => {
  const names = ["a.zip", "A.ZIP", "a.tar", "a.tar.gz", "a.tgz", "a.gz", "zip", ""];
  expect(names.map(archiveTypeOf)).toEqual(["zip", "zip", "tar", "tar.gz", "tar.gz", null, null, null]);
});
