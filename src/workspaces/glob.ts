import { inSlices, type SliceClock, type SlicedWork } from "../kernel/async/slices.ts";
import { ToolError } from "../tools/error.ts";

/** A pattern has at most this many characters. */
const patternCharactersMax = 1_000;
/** Steps that one call may take over all its paths: about half a second of this process's time. */
const stepsMax = 5_000_000;
/** Steps for one path and one alternative: a few milliseconds, which nothing interrupts. */
const stepsPerPathMax = 100_000;
/** One call may take so long; its steps end it before. */
const globMsMax = 10_000;
/** Alternatives that the braces of one pattern may stand for. */
const alternativesMax = 100;

/**
 * Returns those of the paths that match a glob pattern, in slices between which the
 * process does other work. Throws `ToolError` for a pattern that is too long, has too
 * many alternatives or takes too many steps, and the signal's reason.
 */
export async function globPaths(
  pattern: string,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const matchers = globMatchers(pattern);
  return inSlices({ msMax: globMsMax, ...(signal && { signal }) }, (clock) => matching(matchers, paths, clock));
}

function* matching(
  matchers: readonly ((path: string) => boolean)[],
  paths: readonly string[],
  clock: SliceClock,
): SlicedWork<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    for (const matches of matchers) {
      // One path may take a few milliseconds.
      if (clock.isOver(1_000)) yield;
      if (!matches(path)) continue;
      found.push(path);
      break;
    }
  }
  return found;
}

/**
 * Returns a matcher for each alternative of a glob pattern: `*` and `?` within a segment,
 * `**` across segments, `[a-z]`, `[!a-z]` and `{a,b}`. A leading slash or `./` means the
 * root. Its time grows with the product of the lengths of pattern and path, whatever the
 * pattern.
 */
function globMatchers(pattern: string): ((path: string) => boolean)[] {
  if (pattern.length > patternCharactersMax)
    throw new ToolError(`The pattern must have at most ${patternCharactersMax} characters.`);
  const alternatives = expandBraces(pattern).map((alternative) =>
    alternative
      .replace(/^\.?\/+/, "")
      .split("/")
      .map((segment) => (segment === "**" ? null : tokensOf(segment).map((token) => (token === "*" ? null : token)))),
  );
  let stepsLeft = stepsMax;
  return alternatives.map((wanted) => (path) => {
    const allowed = Math.min(stepsLeft, stepsPerPathMax);
    const budget = { steps: allowed };
    const fitsSegment = (tokens: Tokens | null, segment: string) => tokens === null || fits(tokens, segment, budget);
    const isMatch = matches(wanted, path.split("/"), fitsSegment, budget);
    stepsLeft -= allowed - budget.steps;
    return isMatch;
  });
}

/** A token stands for one character, or for any number of them (`*`). */
type Token = "*" | ((character: string) => boolean);
type Tokens = readonly (Exclude<Token, "*"> | null)[];
type Budget = { steps: number };

/**
 * Returns whether a sequence of items matches a sequence of patterns, in which null
 * stands for any number of items. The state is the set of positions reached so far, so
 * that no pattern causes backtracking.
 */
function matches<P, T>(
  wanted: readonly (P | null)[],
  items: readonly T[],
  fit: (one: P | null, item: T) => boolean,
  budget: Budget,
): boolean {
  const skip = (places: Set<number>) => {
    for (const place of places) if (wanted[place] === null) places.add(place + 1);
    return places;
  };
  let places = skip(new Set([0]));
  for (const item of items) {
    budget.steps -= places.size;
    if (budget.steps < 0) throw new ToolError("The pattern takes too long to match; use a simpler one.");
    const next = new Set<number>();
    for (const place of places) {
      if (place === wanted.length) continue;
      const one = wanted[place] as P | null;
      if (one === null) next.add(place);
      else if (fit(one, item)) next.add(place + 1);
    }
    places = skip(next);
    if (places.size === 0) return false;
  }
  return places.has(wanted.length);
}

function fits(tokens: Tokens, segment: string, budget: Budget): boolean {
  return matches(tokens, [...segment], (token, character) => token?.(character) ?? true, budget);
}

function tokensOf(segment: string): Token[] {
  const tokens: Token[] = [];
  const characters = [...segment];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] as string;
    if (character === "*") tokens.push("*");
    else if (character === "?") tokens.push(() => true);
    else if (character === "\\" && index + 1 < characters.length) {
      index += 1;
      tokens.push(is(characters[index] as string));
    } else if (character === "[") {
      const end = characters.indexOf("]", index + 2);
      if (end < 0) tokens.push(is("["));
      else {
        tokens.push(oneOf(characters.slice(index + 1, end)));
        index = end;
      }
    } else tokens.push(is(character));
  }
  return tokens;
}

function is(wanted: string): (character: string) => boolean {
  return (character) => character === wanted;
}

/** What stands between brackets: characters and ranges, all others after `!` or `^`. */
function oneOf(characters: readonly string[]): (character: string) => boolean {
  const negated = characters[0] === "!" || characters[0] === "^";
  const listed = negated ? characters.slice(1) : characters;
  const ranges: [string, string][] = [];
  for (let index = 0; index < listed.length; index += 1) {
    const from = listed[index] as string;
    const isRange = listed[index + 1] === "-" && index + 2 < listed.length;
    ranges.push([from, isRange ? (listed[index + 2] as string) : from]);
    if (isRange) index += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== negated;
}

/** `a{b,c}d` as `abd` and `acd`, nested braces too. */
function expandBraces(pattern: string): string[] {
  const open = pattern.indexOf("{");
  const close = open < 0 ? -1 : closingBrace(pattern, open);
  if (close < 0) return [pattern];
  const [before, after] = [pattern.slice(0, open), pattern.slice(close + 1)];
  const tails = expandBraces(after);
  const expanded = splitAlternatives(pattern.slice(open + 1, close))
    .flatMap(expandBraces)
    .flatMap((middle) => tails.map((tail) => `${before}${middle}${tail}`));
  if (expanded.length > alternativesMax) throw new ToolError("The pattern's braces stand for too many alternatives.");
  return expanded;
}

function closingBrace(pattern: string, open: number): number {
  let depth = 0;
  for (let index = open; index < pattern.length; index += 1) {
    if (pattern[index] === "{") depth += 1;
    else if (pattern[index] === "}") depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

function splitAlternatives(inner: string): string[] {
  const alternatives = [""];
  let depth = 0;
  for (const character of inner) {
    if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    if (character === "," && depth === 0) alternatives.push("");
    else alternatives[alternatives.length - 1] += character;
  }
  return alternatives;
}
