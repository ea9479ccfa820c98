import { type Fields, fieldsOf, objectsIn, placeIn, textIn, wordIn } from "./fields.ts";

/** A tool call as it is told to a vendor's client. */
interface ChatCall {
  readonly place: number;
  readonly id: string | undefined;
  readonly name: string;
  readonly signature: object | undefined;
  /** Characters of its input that the client has. */
  told: number;
  /** The rest, in pieces. */
  held: string[];
  heldLength: number;
  isOpen: boolean;
}

/** What came of a call whose name has not come yet. */
interface NamelessCall {
  readonly id: string | undefined;
  input: string;
}

interface CallDelta {
  readonly at: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly input: string;
}

/** So much of a call's input goes to the client as it comes; of a longer one as much as it has already is held back first. */
const toldAtOnceMax = 4_096;

/**
 * Puts the tool calls of a Chat Completions stream in order, which servers number in ways of
 * their own: without `index`, all with 0, with ids and names repeated or `null`, with the name
 * after the input has begun. Each call gets the next place, its id and name are told once, and
 * what belongs to no call is passed over.
 *
 * The input of a long call is told in pieces that grow: OpenRouter's client (3.1.0) parses all
 * of it with each piece, which for 1 MiB in pieces of 100 bytes took 100 s.
 */
export class ChatCalls {
  readonly #calls: ChatCall[] = [];
  readonly #byIndex = new Map<number, ChatCall>();
  readonly #byId = new Map<string, ChatCall>();
  readonly #nameless = new Map<number, NamelessCall>();
  /** Whether `function_call` is read; null as long as neither field has named a tool. */
  #isBefore: boolean | null = null;

  /**
   * Returns the calls of a delta as the client is given them: its `tool_calls`, or the `function_call` of the protocol
   * before, which has one call and which some servers send beside them. The first that names a tool is read.
   */
  read(value: unknown, before: unknown): object[] {
    const deltas = listedCalls(value);
    const called = fieldsOf(before);
    if (this.#isBefore === null) {
      if (deltas.some((delta) => wordIn(fieldsOf(delta.function)?.name) !== undefined)) this.#isBefore = false;
      else if (wordIn(called?.name) !== undefined) this.#isBefore = true;
    }
    if (this.#isBefore !== true) return deltas.flatMap((delta) => this.#readOne(delta));
    return called === undefined ? [] : this.#readOne({ index: 0, function: called });
  }

  /** Returns what is still held back. */
  end(): object[] {
    return this.#calls.flatMap((call) => this.#tell(call));
  }

  #readOne(delta: Fields): object[] {
    const called = fieldsOf(delta.function);
    const said: CallDelta = {
      at: placeIn(delta.index),
      id: wordIn(delta.id),
      name: wordIn(called?.name),
      input: inputIn(called?.arguments),
    };
    const call = this.#find(said);
    if (call !== undefined) return this.#goOn(call, said.input);
    if (said.name === undefined) {
      this.#hold(said);
      return [];
    }
    return this.#begin(said, said.name, signatureIn(delta));
  }

  /** Returns the call that a delta goes on with; undefined when it begins one. */
  #find({ at, id, name, input }: CallDelta): ChatCall | undefined {
    const ofId = id === undefined ? undefined : this.#byId.get(id);
    if (ofId !== undefined && (name === undefined || name === ofId.name)) {
      // One id for several calls of a tool: another index says so.
      const isAnother = at !== undefined && name !== undefined && this.#byIndex.get(at) !== ofId;
      return isAnother ? undefined : ofId;
    }
    const ofIndex = at === undefined ? undefined : this.#byIndex.get(at);
    if (name === undefined) {
      if (at !== undefined && this.#nameless.has(at)) return undefined;
      return ofIndex ?? (at === undefined && id === undefined ? this.#calls.at(-1) : undefined);
    }
    if (ofIndex === undefined || name !== ofIndex.name) return undefined;
    // An id or a name that is repeated with each delta, or a further call of the same tool under the same index.
    const isAnother = id !== undefined && ofIndex.id !== undefined;
    return isAnother || (ofIndex.told + ofIndex.heldLength > 0 && /^\s*\{/.test(input)) ? undefined : ofIndex;
  }

  #hold({ at, id, input }: CallDelta): void {
    if (at === undefined) return;
    const held = this.#nameless.get(at);
    if (held === undefined) this.#nameless.set(at, { id, input });
    else held.input += input;
  }

  #begin({ at, id, input }: CallDelta, name: string, signature: object | undefined): object[] {
    const held = at === undefined ? undefined : this.#nameless.get(at);
    if (at !== undefined) this.#nameless.delete(at);
    const call: ChatCall = {
      place: this.#calls.length,
      id: id ?? held?.id,
      name,
      signature,
      told: 0,
      held: [],
      heldLength: 0,
      isOpen: false,
    };
    this.#calls.push(call);
    if (at !== undefined) this.#byIndex.set(at, call);
    if (call.id !== undefined) this.#byId.set(call.id, call);
    const whole = `${held?.input ?? ""}${input}`;
    call.held.push(whole);
    call.heldLength = whole.length;
    return this.#tell(call);
  }

  #goOn(call: ChatCall, input: string): object[] {
    if (input === "") return [];
    call.held.push(input);
    call.heldLength += input.length;
    return call.told < toldAtOnceMax || call.heldLength >= call.told ? this.#tell(call) : [];
  }

  #tell(call: ChatCall): object[] {
    if (call.isOpen && call.heldLength === 0) return [];
    const input = call.held.join("");
    call.told += call.heldLength;
    call.held = [];
    call.heldLength = 0;
    if (call.isOpen) return [{ index: call.place, function: { arguments: input } }];
    call.isOpen = true;
    const { place: index, id, name, signature } = call;
    return [{ index, id, type: "function", function: { name, arguments: input }, extra_content: signature }];
  }
}

/** Returns the deltas of `tool_calls`. Some servers send the only one without its list. */
function listedCalls(value: unknown): readonly Fields[] {
  const single = fieldsOf(value);
  return fieldsOf(single?.function) === undefined || single === undefined ? objectsIn(value) : [single];
}

/** Returns a piece of a call's input. Some servers send it as an object, whole. */
function inputIn(value: unknown): string {
  return textIn(value) ?? (fieldsOf(value) === undefined ? "" : JSON.stringify(value));
}

/** Returns the signature of a thought that Gemini wants back with the call. */
function signatureIn({ extra_content }: Fields): object | undefined {
  const signature = wordIn(fieldsOf(fieldsOf(extra_content)?.google)?.thought_signature);
  return signature === undefined ? undefined : { google: { thought_signature: signature } };
}
