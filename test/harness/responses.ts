import OpenAI from "openai";
import type { Harness, TestTenant } from "./harness.ts";

/** OpenAI's own client as a tenant uses it: another address and another key, and nothing else. */
export function openaiOf(h: Harness, { token }: TestTenant, options: { readonly maxRetries?: number } = {}): OpenAI {
  return new OpenAI({
    baseURL: "http://parley.test/v1",
    apiKey: token,
    maxRetries: 0,
    fetch: (url, init) => h.app(new Request(url as string, init as RequestInit)),
    ...options,
  });
}
