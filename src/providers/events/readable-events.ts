import { jsonExcess } from "../../kernel/json-bounds.ts";
import { jsonValuesMax } from "../../kernel/limits.ts";
import type { BodyRewrite } from "../../kernel/outbound/watched-body.ts";
import { ModelBoundsError } from "../bounds-error.ts";
import type { EventReader } from "./event-reader.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { EventDivider, type ServerEvent } from "./server-events.ts";

/** The mark with which Chat Completions ends, and many others too. */
const endMark = "[DONE]";
/** An event with the mark and some blanks is shorter. */
const markedMax = 64;
/** An event that cannot be read and has one of these fields held something of the answer. */
const answerField = /"(choices|delta|content|text|arguments|partial_json|parts|candidates)"/;

const encoder = new TextEncoder();

/**
 * Makes of the stream of a model's answer one that its vendor's client can read. An event that holds
 * nothing of the answer costs itself alone: it is left out. One that held something of it and
 * cannot be read ends the stream with a `ModelBoundsError`, because an answer with a gap is none.
 */
export class ReadableEvents implements BodyRewrite {
  readonly #reader: EventReader;
  readonly #divider = new EventDivider();
  #isMarked = false;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  push(bytes: Uint8Array): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#read(this.#divider.push(bytes), false);
  }

  end(): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#read(this.#divider.end(), true);
  }

  /** Reads at once what has no long event, which is nearly everything: a promise takes longer than an event. */
  #read(events: readonly ServerEvent[], isEnd: boolean): Uint8Array | null | Promise<Uint8Array | null> {
    // Each value has a byte at least, so a short event is within the bound.
    const long = events.filter(({ data }) => data.length > jsonValuesMax);
    return long.length === 0 ? this.#tell(events, isEnd) : bounded(long).then(() => this.#tell(events, isEnd));
  }

  #tell(events: readonly ServerEvent[], isEnd: boolean): Uint8Array | null {
    let text = "";
    for (const { name, data } of events) {
      if (data.length < markedMax && data.trim() === endMark) {
        this.#isMarked = true;
        continue;
      }
      const event = parsed(data);
      if (event !== null) text += asEvents(this.#reader.read(event, name));
    }
    if (isEnd) text += asEvents(this.#reader.end(this.#isMarked));
    return text === "" ? null : encoder.encode(text);
  }
}

/** Throws where one of these events has too many values. */
async function bounded(events: readonly ServerEvent[]): Promise<void> {
  for (const { data } of events)
    if ((await jsonExcess(data)) !== null)
      throw new ModelBoundsError(`An event of the model provider's answer has more than ${jsonValuesMax} values.`);
}

/** Returns an event's object; null when it is none. Throws where it was part of the answer. */
function parsed(data: string): Fields | null {
  try {
    return fieldsOf(JSON.parse(data)) ?? null;
  } catch {
    if (answerField.test(data))
      throw new ModelBoundsError("An event of the model provider's answer is not valid JSON.");
    return null;
  }
}

function asEvents(events: readonly object[]): string {
  let text = "";
  for (const event of events) text += `data: ${withoutForbidden(JSON.stringify(event))}\n\n`;
  return text;
}

/**
 * Returns an event without the fields for which `@ai-sdk/provider-utils` 5 gives the whole answer up: `__proto__`, and
 * a `constructor` with a `prototype`. Google's models write inputs of tools as objects, in which these may be.
 */
function withoutForbidden(event: string): string {
  if (!event.includes('"__proto__":') && !event.includes('"prototype":')) return event;
  return JSON.stringify(JSON.parse(event), (name, value: unknown) => {
    if (name === "__proto__") return undefined;
    const isForbidden = name === "constructor" && Object.hasOwn(fieldsOf(value) ?? {}, "prototype");
    return isForbidden ? undefined : value;
  });
}
