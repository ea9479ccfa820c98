import { ToolError } from "../tools/error.ts";
import { isInputRequiredResult } from "./sdk.ts";

/** A call may ask so often for input before it is given up. */
const inputRoundsMax = 3;

/** What a call is repeated with, after the server asked for input. */
interface InputAnswer {
  readonly inputResponses?: Record<string, { readonly action: "decline" }>;
  readonly requestState?: string;
}

/**
 * Makes a call until its server asks for no more input (revision 2026-07-28). Nobody can be
 * asked from within a tool call: a question to a person is declined, which lets the server
 * go on or not as it likes. Throws `ToolError` for anything else it asks for, and when it does
 * not stop asking.
 */
export async function declineInput<T>(call: (answer: InputAnswer) => Promise<T>): Promise<T> {
  let answer: InputAnswer = {};
  for (let round = 0; round <= inputRoundsMax; round++) {
    const result = await call(answer);
    if (!isInputRequiredResult(result)) return result;
    const asked = Object.entries(result.inputRequests ?? {});
    const other = asked.find(([, { method }]) => method !== "elicitation/create");
    if (other !== undefined) throw new ToolError("The MCP server asks for something that this client does not do.");
    answer = {
      ...(asked.length === 0
        ? {}
        : { inputResponses: Object.fromEntries(asked.map(([key]) => [key, { action: "decline" as const }])) }),
      ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
    };
  }
  throw new ToolError("The MCP server asks a person again and again, and nobody can be asked here.");
}
