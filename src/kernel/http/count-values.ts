import { ApiError } from "../errors.ts";
import { jsonExcess } from "../json-bounds.ts";
import { jsonValuesMax } from "../limits.ts";

/**
 * Counts the values of a JSON text, which may be malformed and come in pieces. Throws 413
 * `payload_too_large` for more than `jsonValuesMax`: parsing and checking that many would
 * hold up all requests of the process.
 */
export async function limitValues(pieces: readonly Uint8Array[]): Promise<void> {
  if ((await jsonExcess(pieces)) !== null)
    throw new ApiError("payload_too_large", { message: `The JSON has more than ${jsonValuesMax} values.` });
}
