/** Cutting a text into the pieces that go out as chunks. */

/** Returns the words, each with the blanks that follow it. */
export function cutIntoWords(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** Returns at most `count` pieces of about the same length; no surrogate pair is cut. */
export function cutEvenly(text: string, count: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let piece = 1; piece <= count; piece += 1) {
    let end = Math.round((text.length * piece) / count);
    if (isInsidePair(text, end)) end += 1;
    if (end > start) pieces.push(text.slice(start, end));
    start = Math.max(start, end);
  }
  return pieces;
}

/** Returns the pieces, cut again in the middle of every surrogate pair. */
export function cutPairs(pieces: string[]): string[] {
  return pieces.flatMap((piece) => piece.split(/(?<=[\uD800-\uDBFF])(?=[\uDC00-\uDFFF])/));
}

/** Returns a text of exactly `size` UTF-16 units. */
export function filler(size: number): string {
  const sentence = "The simulated model has nothing to say and says it at length. ";
  return sentence.repeat(Math.ceil(size / sentence.length)).slice(0, size);
}

function isInsidePair(text: string, at: number): boolean {
  return at > 0 && at < text.length && text.codePointAt(at - 1)! > 0xffff;
}
