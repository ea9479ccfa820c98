/** Figures of a benchmark, and saying them. */

/** The middle of the numbers; 0 of none. */
export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** The number that this share of the numbers does not exceed; 0 of none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Prints a line. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
