import type { LanguagePrompt } from "./language-prompt.ts";
import type { ToolDefinition } from "./sending/fit-tools.ts";
import type { VendorRules } from "./sending/rules.ts";

/** How a turn's requests use the caches of vendors (docs/decisions/prompt-caching.md). */
export interface PromptCache {
  /** What the system text begins with in every turn, as long as the agent is not changed. */
  readonly fixed: string;
  /** Says which requests begin alike: those of one session. */
  readonly key: string;
}

/** Anthropic's mark, which OpenRouter's client and the gateway take too; and Bedrock's, for a model that the gateway calls there. */
const mark = {
  anthropic: { cacheControl: { type: "ephemeral" } },
  bedrock: { cachePoint: { type: "default" } },
} as const;

/** Returns whether a vendor caches only what is marked. */
function wantsMarks({ name }: VendorRules): boolean {
  return name === "anthropic" || name === "bedrock";
}

/** What a request is made of, as far as caches go by it. */
interface Sent {
  readonly prompt: LanguagePrompt;
  readonly tools: readonly ToolDefinition[];
}

/**
 * Returns a request with marks for a vendor that wants them: behind the tools, behind what the system text begins with in every
 * turn, and behind the newest message. These are three; Anthropic takes four. For any other vendor it is as it was.
 */
export function withMarks({ prompt, tools }: Sent, rules: VendorRules, { fixed }: PromptCache): Sent {
  if (!wantsMarks(rules)) return { prompt, tools };
  const [first, ...others] = prompt;
  const isSystem = first?.role === "system";
  const messages = isSystem ? others : prompt;
  return {
    prompt: [...(isSystem ? systemBlocks(first.content, fixed) : []), ...withLast(messages)],
    tools: withLast(tools),
  };
}

function systemBlocks(text: string, fixed: string): LanguagePrompt {
  const block = (content: string) => ({ role: "system", content }) as const;
  const marked = (content: string) => ({ ...block(content), providerOptions: mark });
  if (fixed === "" || !text.startsWith(fixed)) return [marked(text)];
  const rest = text.slice(fixed.length).trimStart();
  return [marked(fixed), ...(rest === "" ? [] : [block(rest)])];
}

/** Returns a list with its last one marked. */
function withLast<T extends { readonly providerOptions?: object | undefined }>(list: readonly T[]): T[] {
  return list.map((one, index) =>
    index < list.length - 1 ? one : { ...one, providerOptions: { ...one.providerOptions, ...mark } },
  );
}

/** Returns the options by which OpenAI sends requests that begin alike to where their beginning is cached. */
export function cacheKeyOptions(
  provider: string,
  { key }: PromptCache,
): Readonly<Record<string, { promptCacheKey: string }>> {
  // At another address than OpenAI's own a field that a server does not know may be refused.
  return provider === "openai.responses" ? { openai: { promptCacheKey: key } } : {};
}
