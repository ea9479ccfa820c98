/** eve: a session is a durable workflow, each model call of it a step. As it is for others here, the agent has no tools. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { defineAgent } from "eve";

const provider = createOpenAICompatible({ name: "eve", baseURL: process.env.MODEL_URL, includeUsage: true });

export default defineAgent({
  model: provider("simulated/model"),
  modelContextWindowTokens: 128_000,
  defaultTools: false,
});
