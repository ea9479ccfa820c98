import { jsonExcess } from "../../kernel/json-bounds.ts";
import { jsonValuesMax } from "../../kernel/limits.ts";
import { ModelBoundsError } from "../bounds-error.ts";
import type { EventReader } from "./event-reader.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { EventDivider, type ServerEvent } from "./server-events.ts";

/** The mark with which Chat Completions ends, and many others too. */
const endMark = "[DONE]";
/** An event that cannot be read and has one of these fields held something of the answer. */
const answerField = /"(choices|delta|content|text|arguments|partial_json|parts|candidates)"/;

/**
 * Returns the stream of a model's answer as its vendor's client can read it. An event that holds
 * nothing of the answer costs itself alone: it is left out. One that held something of it and
 * cannot be read ends the stream with a `ModelBoundsError`, because an answer with a gap is none.
 */
export function readableEvents(body: ReadableStream<Uint8Array>, reader: EventReader): ReadableStream<Uint8Array> {
  const source = body.getReader();
  const answer = new Answer(reader);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await source.read();
            const told = done ? await answer.end() : await answer.push(value);
            if (told !== null) controller.enqueue(told);
            if (done) return controller.close();
            if (told !== null) return;
          }
        } catch (error) {
          controller.error(error);
          await source.cancel(error).catch(() => {});
        }
      },
      cancel: (reason) => source.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const encoder = new TextEncoder();

class Answer {
  readonly #reader: EventReader;
  readonly #divider = new EventDivider();
  #isMarked = false;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  async push(bytes: Uint8Array): Promise<Uint8Array | null> {
    return asBytes(await this.#read(this.#divider.push(bytes)));
  }

  async end(): Promise<Uint8Array | null> {
    const left = await this.#read(this.#divider.end());
    return asBytes([...left, ...this.#reader.end(this.#isMarked)]);
  }

  async #read(events: readonly ServerEvent[]): Promise<object[]> {
    const told: object[] = [];
    for (const { name, data } of events) {
      if (data.trim() === endMark) {
        this.#isMarked = true;
        continue;
      }
      // Each value has a byte at least, so a short event is within the bound.
      if (data.length > jsonValuesMax && (await jsonExcess(data)) !== null)
        throw new ModelBoundsError(`An event of the model provider's answer has more than ${jsonValuesMax} values.`);
      const event = parsed(data);
      if (event !== null) for (const read of this.#reader.read(event, name)) told.push(read);
    }
    return told;
  }
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

function asBytes(events: readonly object[]): Uint8Array | null {
  if (events.length === 0) return null;
  let text = "";
  for (const event of events) text += `data: ${withoutForbidden(JSON.stringify(event))}\n\n`;
  return encoder.encode(text);
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
