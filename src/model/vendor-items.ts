import type { ModelMessage } from "ai";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";

/**
 * OpenAI keeps what its models said, and is sent the id of it in place of the text
 * (`providerMetadata.openai.itemId`). Another account does not know that id and refuses the
 * whole request, in this turn or in any later one: so the ids of one account's answers are kept
 * from another's.
 */
const holdsIds = "openai";

/** Returns a part of an answer without the ids of its account. */
export function withoutItem<P extends AnswerPart | ModelCallEnd>(part: P): P {
  const { providerMetadata } = part as { readonly providerMetadata?: Record<string, unknown> };
  if (providerMetadata === undefined || !Object.hasOwn(providerMetadata, holdsIds)) return part;
  const { [holdsIds]: _, ...others } = providerMetadata;
  const { providerMetadata: __, ...rest } = part as P & { readonly providerMetadata?: unknown };
  return (Object.keys(others).length === 0 ? rest : { ...rest, providerMetadata: others }) as P;
}

/** Returns messages for the model without the ids of other accounts. */
export function withoutItems(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (typeof message.content === "string") return message;
    return { ...message, content: message.content.map(withoutOptions) } as ModelMessage;
  });
}

function withoutOptions<P extends object>(part: P): P {
  const { providerOptions, ...rest } = part as P & { readonly providerOptions?: Record<string, unknown> };
  if (providerOptions === undefined || !Object.hasOwn(providerOptions, holdsIds)) return part;
  const { [holdsIds]: _, ...others } = providerOptions;
  return { ...rest, providerOptions: others } as unknown as P;
}
