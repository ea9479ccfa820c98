/**
 * The grammar of a script, which a user message carries to tell the simulated
 * model what to do:
 *
 *     script  = "[[sim:" step { ";" step } "]]"
 *     step    = { name [ "=" value ] }             separated by blanks
 *     value   = JSON string | JSON object | JSON array | bare word
 *
 * A script is only read at the start or the end of the message. Anywhere else the
 * characters are plain text, so that a transcript quoted inside a prompt plays nothing.
 * `script.ts` defines what the names mean.
 */

/** One `name=value` of a step; `value` is `true` for a bare name. */
export interface Setting {
  readonly name: string;
  readonly value: unknown;
}

/** A script that cannot be read; the message says where and why. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
}

const opening = "[[sim:";
const closing = "]]";

/** Returns the script in `text` as steps of settings, in order; `null` when the text has none. Throws ScriptError. */
export function readScript(text: string): ReadonlyArray<ReadonlyArray<Setting>> | null {
  const trimmed = text.trim();
  if (trimmed.startsWith(opening)) return new Reader(trimmed, opening.length).steps();
  if (!trimmed.endsWith(closing)) return null;
  const at = trimmed.lastIndexOf(opening);
  return at < 0 ? null : new Reader(trimmed, at + opening.length).steps();
}

/** Returns the JSON object that starts at the first `{` in `text`; `null` when there is none or it is not JSON. */
export function readFirstObject(text: string): Record<string, unknown> | null {
  const at = text.indexOf("{");
  if (at < 0) return null;
  try {
    return new Reader(text, at).json() as Record<string, unknown>;
  } catch {
    return null;
  }
}

class Reader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  steps(): Setting[][] {
    const steps: Setting[][] = [[]];
    for (;;) {
      this.#skipBlanks();
      if (this.#text.startsWith(closing, this.#at)) return steps;
      if (this.#at >= this.#text.length) throw this.#fail(`the script has no closing ${closing}`);
      if (this.#text[this.#at] === ";") {
        this.#at += 1;
        steps.push([]);
      } else steps.at(-1)!.push(this.#setting());
    }
  }

  json(): unknown {
    const start = this.#at;
    this.#at = this.#text[start] === '"' ? this.#endOfString(start) : this.#endOfNest(start);
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch (cause) {
      this.#at = start;
      throw this.#fail(`the value is not JSON (${(cause as Error).message})`);
    }
  }

  #setting(): Setting {
    const name = this.#match(/[A-Za-z]+/y);
    if (name === "") throw this.#fail("a setting's name was expected");
    if (this.#text[this.#at] !== "=") return { name, value: true };
    this.#at += 1;
    if (/["{[]/.test(this.#text[this.#at] ?? "")) return { name, value: this.json() };
    const word = this.#match(/[^\s;"{}[\]]+/y);
    if (word === "") throw this.#fail(`a value was expected after ${name}=`);
    return { name, value: word };
  }

  #endOfString(start: number): number {
    for (let at = start + 1; at < this.#text.length; at += 1) {
      if (this.#text[at] === "\\") at += 1;
      else if (this.#text[at] === '"') return at + 1;
    }
    throw this.#fail("a string has no closing quote");
  }

  #endOfNest(start: number): number {
    let depth = 0;
    for (let at = start; at < this.#text.length; at += 1) {
      const char = this.#text[at]!;
      if (char === '"') at = this.#endOfString(at) - 1;
      else if (char === "{" || char === "[") depth += 1;
      else if (char === "}" || char === "]") {
        depth -= 1;
        if (depth === 0) return at + 1;
      }
    }
    throw this.#fail("an object or array has no end");
  }

  #skipBlanks(): void {
    this.#match(/\s+/y);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #fail(why: string): ScriptError {
    const near = this.#text.slice(this.#at, this.#at + 20);
    return new ScriptError(
      `Script error at character ${this.#at}: ${why}${near === "" ? "" : `, near ${JSON.stringify(near)}`}.`,
    );
  }
}
