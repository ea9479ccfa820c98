/** What each role of the command line does, for `--help`. The operator's commands have other texts. */
export const roleHelp: Readonly<Record<string, string>> = {
  start: `start
  Runs everything in one process, with a Postgres of its own where DATABASE_URL names none.
`,
  serve: `serve
  Runs the HTTP tier alone. Needs DATABASE_URL, REDIS_URL and ENCRYPTION_KEY.
`,
  work: `work
  Runs the worker pool alone. Needs DATABASE_URL, REDIS_URL and ENCRYPTION_KEY.
`,
  sandbox: `sandbox
  Runs commands of workspaces for workers elsewhere (SANDBOX=remote). Needs SANDBOX_TOKEN and bubblewrap.
`,
  migrate: `migrate
  Brings the schema of DATABASE_URL, or of the database in PARLEY_HOME, up to date.
`,
  openapi: `openapi
  Prints the OpenAPI document.
`,
};

const helpOptions = ["--help", "-h"];

/** Returns whether the words after a role's or command's name ask what it takes. */
export function asksForHelp(words: readonly string[]): boolean {
  return words[0] === "help" || words.some((word) => helpOptions.includes(word));
}
