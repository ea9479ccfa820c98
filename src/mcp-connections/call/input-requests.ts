import { ToolError } from "../../tools/error.ts";
import { asFields, type JsonFields } from "../wire/fields.ts";

/** A call may ask so often for input before it is given up. */
const inputRoundsMax = 3;

/** What a call is repeated with, after the server asked for input. */
interface InputAnswer {
  readonly inputResponses?: Record<string, { readonly action: "decline" }>;
  readonly requestState?: string;
}

/**
 * Makes a call until its server asks for no more input (revision 2026-07-28). No person can be
 * asked from within a tool call: a question to a person is declined, which lets the server
 * go on or not as it likes. Throws `ToolError` for anything else it asks for, and when it does
 * not stop asking.
 */
export async function declineInput(call: (answer: InputAnswer) => Promise<unknown>): Promise<unknown> {
  let answer: InputAnswer = {};
  for (let round = 0; round <= inputRoundsMax; round++) {
    const result = await call(answer);
    const fields = asFields(result);
    if (fields?.resultType !== "input_required") return result;
    const { requestState } = fields;
    const asked = questionsIn(asFields(fields.inputRequests) ?? {});
    answer = {
      ...(asked.length === 0 ? {} : { inputResponses: declined(asked) }),
      ...(typeof requestState === "string" ? { requestState } : {}),
    };
  }
  throw new ToolError("The MCP server asks a person again and again, and nobody can be asked here.");
}

/** Returns the keys of a server's questions to a person. Throws `ToolError` when it asks for anything else. */
export function questionsIn(inputRequests: JsonFields): string[] {
  const asked = Object.entries(inputRequests);
  if (asked.some(([, request]) => asFields(request)?.method !== "elicitation/create"))
    throw new ToolError("The MCP server asks for something that this client does not do.");
  return asked.map(([key]) => key);
}

/** Returns the answer to questions that no person can be asked. */
export function declined(keys: readonly string[]): Record<string, { readonly action: "decline" }> {
  return Object.fromEntries(keys.map((key) => [key, { action: "decline" as const }]));
}
