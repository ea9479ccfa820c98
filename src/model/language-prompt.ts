import type { ModelMessage } from "ai";
import { convertToLanguageModelPrompt } from "ai/internal";

type SdkRequest = Parameters<typeof convertToLanguageModelPrompt>[0];
type LanguagePrompt = Awaited<ReturnType<typeof convertToLanguageModelPrompt>>;

interface PromptRequest extends Omit<SdkRequest, "prompt"> {
  /** The system text; none where it is empty. */
  readonly instructions: string;
  readonly messages: ModelMessage[];
}

/**
 * Returns what a vendor's client is given for some messages, as the AI SDK's
 * `convertToLanguageModelPrompt` does. That leaves a message that holds nothing but text as it is,
 * so those before the first other one are not handed to it: for 2,000 of them it took 1 ms.
 */
export async function languagePrompt({ instructions, messages, ...rest }: PromptRequest): Promise<LanguagePrompt> {
  const mixedFrom = messages.findIndex((message) => !isPlain(message));
  const plain = (mixedFrom === -1 ? messages : messages.slice(0, mixedFrom)) as LanguagePrompt;
  const prompt = { instructions: undefined, messages: messages.slice(plain.length) };
  const mixed = prompt.messages.length === 0 ? [] : await convertToLanguageModelPrompt({ prompt, ...rest });
  return [...(instructions === "" ? [] : [{ role: "system" as const, content: instructions }]), ...plain, ...mixed];
}

/** Returns whether a message of a user or of the assistant holds texts and nothing else. The SDK drops an empty text. */
function isPlain({ role, content, providerOptions }: ModelMessage): boolean {
  if ((role !== "user" && role !== "assistant") || providerOptions !== undefined || typeof content === "string")
    return false;
  for (const part of content)
    if (part.type !== "text" || part.text === "" || part.providerOptions !== undefined) return false;
  return true;
}
