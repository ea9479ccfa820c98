import { RE2JS } from "re2js";
import type { SliceClock, SlicedWork } from "./async/slices.ts";

/** A pattern of more characters is not matched. */
export const patternCharactersMax = 2_048;
/** Nor is one that may compile to more instructions: a hundred thousand take 0.1 s and 20 MiB, ten thousand some 10 ms and 2 MiB. */
export const patternSizeMax = 10_000;
/** What a class costs beside its instruction, in those: the ranges of `\p{L}` are put together anew for each. */
const unicodeClassSize = 60;
/** With `(?i:`, a class of many characters is folded one by one. */
const foldedClassSize = 2_000;
/** Nor is one whose groups nest deeper: the library looks at all levels again for each (0.4 s for a thousand). */
const groupDepthMax = 100;

/** What of a compiled instruction is read (re2js 1.4.0; `test/kernel/linear-pattern.test.ts` holds it against whole matchers). */
interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  matchRune(character: number): boolean;
}
interface Program {
  readonly start: number;
  readonly inst: readonly Instruction[];
}
const op = { alternative: 1, alternativeMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nothing: 7 };

/**
 * A regular expression that is matched in time linear in the text, and in slices. The library parses
 * and compiles it; its own matching cannot be interrupted, and keeps up to 10,000 sets of states for each pattern (1.4.0).
 */
export class LinearPattern {
  /** About what it takes in memory, in instructions of some 200 bytes. */
  readonly size: number;
  readonly #program: Program;

  private constructor(program: Program, size: number) {
    this.#program = program;
    this.size = size;
  }

  /** Returns the pattern; null for one that is too large, or that only a backtracking matcher understands. */
  static compile(pattern: string): LinearPattern | null {
    if (pattern.length > patternCharactersMax) return null;
    try {
      const source = RE2JS.translateRegExp(pattern);
      const size = sizeBound(source);
      return size > patternSizeMax ? null : new LinearPattern(RE2JS.compile(source).re2().prog, size);
    } catch {
      return null;
    }
  }

  /** Returns whether a text has a part that matches. */
  *isIn(text: string, clock: SliceClock): SlicedWork<boolean> {
    const { inst, start } = this.#program;
    const states = new States(this.#program);
    let reached: number[] = [];
    let before = -1;
    for (let at = 0; ; ) {
      const character = at < text.length ? (text.codePointAt(at) as number) : -1;
      states.clear(conditionsBetween(before, character));
      if (states.add(start) || reached.some((pc) => states.add(pc))) return true;
      if (character === -1) return false;
      reached = [];
      for (const pc of states.consuming) {
        const instruction = inst[pc] as Instruction;
        if (instruction.matchRune(character)) reached.push(instruction.out);
      }
      before = character;
      at += character > 0xffff ? 2 : 1;
      if (clock.isOver(1 + states.visited)) yield;
    }
  }
}

/** The instructions that are reached at one place of a text without a character being read. */
class States {
  /** Those that read one. */
  consuming: number[] = [];
  visited = 0;
  readonly #program: Program;
  readonly #seenIn: Uint32Array;
  #round = 0;
  #conditions = 0;
  #stack: number[] = [];

  constructor(program: Program) {
    this.#program = program;
    this.#seenIn = new Uint32Array(program.inst.length);
  }

  clear(conditions: number): void {
    this.consuming = [];
    this.visited = 0;
    this.#round += 1;
    this.#conditions = conditions;
  }

  /** Adds an instruction and all that it leads to. Returns whether the match is reached. */
  add(first: number): boolean {
    const stack = this.#stack;
    stack.length = 0;
    stack.push(first);
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (this.#seenIn[pc] === this.#round) continue;
      this.#seenIn[pc] = this.#round;
      this.visited += 1;
      const instruction = this.#program.inst[pc] as Instruction;
      if (instruction.op === op.match) return true;
      if (instruction.op > op.nothing) this.consuming.push(pc);
      else if (instruction.op === op.alternative || instruction.op === op.alternativeMatch)
        stack.push(instruction.arg, instruction.out);
      else if (instruction.op === op.capture || instruction.op === op.nothing) stack.push(instruction.out);
      else if (instruction.op === op.emptyWidth && (instruction.arg & ~this.#conditions) === 0)
        stack.push(instruction.out);
    }
    return false;
  }
}

const newline = 10;

/** Returns which assertions hold between two characters, of which -1 is none: as bits, begin and end of a line, of the text, a word's edge, and none. */
function conditionsBetween(before: number, after: number): number {
  const isEdge = isWordCharacter(before) !== isWordCharacter(after);
  return (
    (before === -1 ? 5 : before === newline ? 1 : 0) |
    (after === -1 ? 10 : after === newline ? 2 : 0) |
    (isEdge ? 16 : 32)
  );
}

function isWordCharacter(character: number): boolean {
  return (
    (character >= 97 && character <= 122) ||
    (character >= 65 && character <= 90) ||
    (character >= 48 && character <= 57) ||
    character === 95
  );
}

const repeat = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;
const unicodeClass = /\\[pP](?:\{[^}]*\}|.)/y;

/** What stands at one place of a pattern: where it ends, its instructions, and what putting its classes together costs once. */
interface Piece {
  readonly end: number;
  readonly size: number;
  readonly once: number;
}

/**
 * Returns at least the number of instructions that a pattern of RE2 compiles to, with what its classes cost; infinity for
 * groups that nest too deep. Its text is read as RE2 reads it: `\Q` quotes up to `\E`, and a `]` that comes first in a class is
 * one of its characters.
 */
export function sizeBound(source: string): number {
  const classSize = /\(\?[a-zA-Z]*i/.test(source) ? foldedClassSize : 1;
  const outer: number[] = [];
  let once = 3;
  // The size of the group that is open, and that of the last thing in it, to which a repetition applies.
  let sum = 0;
  let last = 0;
  for (let at = 0; at < source.length; ) {
    const character = source[at];
    const copies = character === "{" ? copiesAt(source, at) : null;
    if (copies !== null) {
      sum += (last + 1) * copies.count;
      last = (last + 1) * (copies.count + 1);
      at = copies.end;
    } else if (character === "*" || character === "+" || character === "?" || character === "|") {
      sum += 2;
      last += 2;
      at += 1;
    } else if (character === "(") {
      outer.push(sum);
      if (outer.length > groupDepthMax) return Number.POSITIVE_INFINITY;
      sum = 3;
      last = 0;
      at += 1;
    } else if (character === ")") {
      last = sum;
      sum += outer.pop() ?? 0;
      at += 1;
    } else {
      const piece = character === "\\" ? escapeAt(source, at, classSize) : characterAt(source, at, classSize);
      sum += piece.size;
      last = piece.size;
      once += piece.once;
      at = piece.end;
    }
  }
  return outer.reduce((all, size) => all + size, sum + once);
}

/** Returns how many copies more a repetition makes of what is before it; null where none stands. */
function copiesAt(source: string, at: number): { readonly count: number; readonly end: number } | null {
  repeat.lastIndex = at;
  const found = repeat.exec(source);
  if (found === null) return null;
  const [whole, least, most] = found;
  return { count: Math.max(Number(least), Number(most ?? 0), 1), end: at + whole.length };
}

function escapeAt(source: string, at: number, classSize: number): Piece {
  if (source[at + 1] === "Q") {
    const quoteEnd = source.indexOf("\\E", at + 2);
    const end = quoteEnd === -1 ? source.length : quoteEnd + 2;
    return { end, size: end - at, once: 0 };
  }
  unicodeClass.lastIndex = at;
  const found = unicodeClass.exec(source)?.[0];
  if (found !== undefined) return { end: at + found.length, size: 1, once: unicodeClassSize + classSize };
  return { end: at + 2, size: 1, once: classSize };
}

function characterAt(source: string, at: number, classSize: number): Piece {
  if (source[at] !== "[") return { end: at + 1, size: 1, once: 0 };
  let end = at + 1;
  let once = classSize;
  if (source[end] === "^") end += 1;
  if (source[end] === "]") end += 1;
  while (end < source.length && source[end] !== "]") {
    unicodeClass.lastIndex = end;
    const found = unicodeClass.exec(source)?.[0];
    const named = source.startsWith("[:", end) ? source.indexOf(":]", end + 2) : -1;
    if (found !== undefined) once += unicodeClassSize;
    if (found !== undefined) end += found.length;
    else if (named !== -1) end = named + 2;
    else end += source[end] === "\\" ? 2 : 1;
  }
  return { end: end + 1, size: 1, once };
}
