/** Ids of calls as one request sends them: each once, and the same for a call and its result. */
export class CallIds {
  readonly #fits: RegExp;
  readonly #taken = new Set<string>();
  /** How often each id was replaced: a transcript may have one id for all of its calls. */
  readonly #rounds = new Map<string, number>();

  /** `fits` is what the vendor takes. */
  constructor(fits: RegExp) {
    this.#fits = fits;
  }

  /**
   * Returns the id for the next call of a transcript. One that fits stays; any other one, and one that an earlier
   * call has, becomes nine letters and digits that are made of it, so that the same transcript is sent the same way
   * in every turn.
   */
  take(callId: string): string {
    let id = callId;
    while (!this.#fits.test(id) || this.#taken.has(id)) {
      const round = this.#rounds.get(callId) ?? 0;
      this.#rounds.set(callId, round + 1);
      id = nineCharacters(`${callId}\n${round}`);
    }
    this.#taken.add(id);
    return id;
  }
}

/** Names of tools as one vendor is sent them. Those of offered tools stand for the tool; any other one is only made to fit. */
export class ToolNames {
  readonly #fits: RegExp;
  readonly #sent = new Map<string, string>();
  readonly #real = new Map<string, string>();

  /** `fits` is what the vendor takes. Of the tools those keep their names that fit; each other one gets a new one. */
  constructor(fits: RegExp, tools: readonly string[] = []) {
    this.#fits = fits;
    for (const name of tools) if (this.#isFit(name)) this.#set(name, name);
    for (const name of tools) if (!this.#sent.has(name)) this.#set(name, this.#distinct(name));
  }

  /** Returns the name that a call in the transcript is sent with. */
  sentOf(name: string): string {
    return this.#sent.get(name) ?? this.#fitting(name);
  }

  /** Returns the tool that the model means with a name. */
  realOf(sent: string): string {
    return this.#real.get(sent) ?? sent;
  }

  #set(name: string, sent: string): void {
    this.#sent.set(name, sent);
    this.#real.set(sent, name);
  }

  #distinct(name: string): string {
    let sent = this.#fitting(name);
    for (let round = 0; this.#real.has(sent); round++)
      sent = `${this.#fitting(name).slice(0, distinctLength)}_${nineCharacters(`${name}\n${round}`)}`;
    return sent;
  }

  #fitting(name: string): string {
    return this.#isFit(name) ? name : fittingName(name);
  }

  #isFit(name: string): boolean {
    return this.#fits.test(name) && !inherited.has(name);
  }
}

/**
 * What every object has. The clients of `@ai-sdk/provider-utils` 5 look names of tools up in objects: `__proto__` was
 * sent as `{}`, and `constructor` not at all.
 */
const inherited: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Returns the name that a client read in an answer; it gives what an object has by that name in place of some (see `inherited`). */
export function nameAsSaid(read: unknown): string {
  if (typeof read === "string") return read;
  const found = [...inherited].find((name) => Reflect.get(Object.prototype, name) === read);
  return found ?? "";
}

const nameLengthMax = 64;
const idLength = 9;
/** What of a name is left beside what tells it from another one. */
const distinctLength = nameLengthMax - idLength - 1;
/** The fewest characters of a name that any vendor asks for. */
const nameLengthMin = 3;

/** Returns a name that every vendor takes: letters, digits, `_` and `-`, a letter or `_` first. */
function fittingName(name: string): string {
  const letters = name.slice(0, nameLengthMax).replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const led = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`;
  if (inherited.has(led)) return `${led}_`;
  return led.slice(0, nameLengthMax).padEnd(nameLengthMin, "_");
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * Returns nine letters and digits that are made of a text. Not a cryptographic digest, which takes ten times as long:
 * two texts with the same nine are told apart by the caller.
 */
function nineCharacters(text: string): string {
  // Two runs of FNV-1a with other beginnings, each mixed at its end.
  let low = 0x811c9dc5;
  let high = 0x5bd1e995;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit ^ (low >>> 15), 0x01000193);
  }
  let rest = BigInt(mixed(low)) * 0x100000000n + BigInt(mixed(high));
  let made = "";
  for (let count = 0; count < idLength; count++) {
    made += alphabet[Number(rest % 62n)];
    rest /= 62n;
  }
  return made;
}

/** The last step of MurmurHash3: each bit of the word then changes about half of all bits. */
function mixed(word: number): number {
  const half = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  const whole = Math.imul(half ^ (half >>> 13), 0xc2b2ae35);
  return (whole ^ (whole >>> 16)) >>> 0;
}
