import { type JsonExcess, jsonCount, valuesOf } from "../kernel/json-bounds.ts";
import { answerValuesMax, toolInputDepthMax } from "../kernel/limits.ts";
import { FiledResult } from "../tools/filed-result.ts";

/** What may hold a call's input or result: a part of an answer, or a chunk of one. */
interface Holder {
  readonly input?: unknown;
  readonly output?: unknown;
}

/**
 * How many JSON values the inputs of an answer's tool calls have together, and their results. Each is bounded by itself, and
 * all of them by the answer's bytes; but 16 MiB of empty lists are five million values, and whatever reads or writes
 * the message as a whole would stop the process for half a second.
 */
export class CallValues {
  #inputsLeft = answerValuesMax;
  #resultsLeft = answerValuesMax;

  /** `shown` are parts or chunks of the answer that was begun before. */
  constructor(shown: Iterable<unknown>) {
    for (const { input, output } of shown as Iterable<Holder>) {
      this.#inputsLeft -= valuesOf(input, this.#inputsLeft);
      this.#resultsLeft -= valuesOf(output, this.#resultsLeft);
    }
  }

  /** Returns whether an input is JSON. One beyond a bound counts as such, and is refused for that. */
  async isWhole(input: string): Promise<boolean> {
    if ((await this.#count(input)).excess !== null) return true;
    try {
      JSON.parse(input);
      return true;
    } catch {
      return false;
    }
  }

  /** Makes room for an input. Returns why there is none; null when there is. */
  async takeInput(input: string): Promise<JsonExcess> {
    const { excess, values } = await this.#count(input);
    if (excess === null) this.#inputsLeft -= values;
    return excess;
  }

  /** Returns a result: one that there is no room for as a text of its JSON, which is one value and says the same. */
  admit(result: unknown): unknown {
    if (typeof result !== "object" || result === null || result instanceof FiledResult) return result;
    const values = valuesOf(result, this.#resultsLeft + 1);
    if (values > this.#resultsLeft) return JSON.stringify(result);
    this.#resultsLeft -= values;
    return result;
  }

  #count(input: string) {
    return jsonCount(input, { valuesMax: this.#inputsLeft, depthMax: toolInputDepthMax });
  }
}
