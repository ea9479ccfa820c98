/** Resolves when the text is written to standard output, so that the process may end: into a pipe a long text goes in pieces. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}
