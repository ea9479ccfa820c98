/**
 * A client of the service for Bun, Deno, Node and browsers: `fetch` and web streams,
 * nothing else. Its types and calls are made from the OpenAPI document (`npm run client`).
 */
import { Nouns } from "./generated/nouns.ts";
import { type ParleyOptions, Transport } from "./transport.ts";

export { ParleyError } from "./error.ts";
export type * from "./generated/schemas.ts";
export type { CallOptions, ParleyOptions } from "./transport.ts";
export { TurnStream } from "./turn-stream.ts";

/** The service, as its operations: `parley.agents.create({ name: "Support" })`. */
export class Parley extends Nouns {
  constructor(options: ParleyOptions) {
    super(new Transport(options));
  }
}
