/** The first moment of all spans, and how long it is to the last, in ms. */
export function rangeOf(
  spans: readonly { readonly from: string; readonly until: string | null }[],
  now: number,
): { begin: number; length: number } {
  const begins = spans.map(({ from }) => Date.parse(from));
  const ends = spans.map(({ until }) => (until === null ? now : Date.parse(until)));
  const begin = begins.length === 0 ? now : Math.min(...begins);
  return { begin, length: Math.max(1, Math.max(begin, ...ends) - begin) };
}

/** Where a bar is, in percent of the whole; what is too short to be seen is half a percent wide. */
export function placeOf(from: string, until: string | null, begin: number, length: number, now: number) {
  const start = Date.parse(from);
  const milliseconds = Math.max(0, (until === null ? now : Date.parse(until)) - start);
  const offset = Math.min(99.5, (100 * (start - begin)) / length);
  const width = Math.min(100 - offset, Math.max(0.5, (100 * milliseconds) / length));
  return { offset, width, milliseconds };
}
