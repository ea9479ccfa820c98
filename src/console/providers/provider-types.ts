/** The kinds of providers: how a request names one, and what people call it. */
export const providerChoices = [
  ["openai", "OpenAI"],
  ["anthropic", "Anthropic"],
  ["google", "Google"],
  ["openrouter", "OpenRouter"],
  ["gateway", "Vercel AI Gateway"],
  ["custom", "Custom (OpenAI's protocol)"],
] as const;

const labels: { readonly [type: string]: string } = {
  llm_vendor_a: "OpenAI",
  llm_vendor_b: "Anthropic",
  llm_vendor_c: "Google",
  router_vendor: "OpenRouter",
  gateway: "Vercel AI Gateway",
  custom: "Custom",
};

/** What people call a provider's kind. */
export function providerTypeText(type: string): string {
  return labels[type] ?? type;
}
