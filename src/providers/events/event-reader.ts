import type { Fields } from "./fields.ts";

/**
 * Reads the events of one answer and returns those that the vendor's client is given in their
 * place. The AI SDK's clients check each event against a schema and give the whole answer up where
 * one does not fit, be it a ping, a `null` or a field that is not used.
 */
export interface EventReader {
  /** Returns the events for an event; none when it holds nothing of the answer. `name` is its name, or empty. */
  read(event: Fields, name: string): readonly object[];
  /** Returns the events for the end of the stream; `isMarked`: the protocol's mark `[DONE]` came before it. */
  end(isMarked: boolean): readonly object[];
}
