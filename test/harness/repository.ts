import { join } from "node:path";

/** The repository's root, with a slash at its end. The one place of the tests that depends on where it stands. */
export const repository = new URL("../..", import.meta.url).pathname;

/** The absolute path of a file that is named from the root. */
export function inRepository(...path: string[]): string {
  return join(repository, ...path);
}
