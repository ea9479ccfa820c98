import { expect, test } from "bun:test";
import { withoutCredentials } from "../../src/model/without-credentials.ts";

const key = "prov-0a1b2c3d4e5f";

test.each([
  [`The key ${key} is wrong.`, "The key [redacted] is wrong."],
  ["Key prov-0a1b... is wrong.", "Key [redacted]... is wrong."],
  ["It ends with 3d4e5f2c.", "It ends with 3d4e5f2c."],
  ["It ends with 2c3d4e5f.", "It ends with [redacted]."],
  ["Incorrect API key provided: sk-proj-********abcd.", "Incorrect API key provided: [redacted]"],
  ["Authorization: Bearer abc123.def456", "Authorization: Bearer [redacted]"],
  ["url https://me:pass@example.org/x", "url https://[redacted]@example.org/x"],
  ["?key=AIzaSyA1b2c3d4e5", "?key=[redacted]"],
  ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "token [redacted]"],
  ["api_key: hunter2hunter2", "api_key: [redacted]"],
  ["id 0123456789abcdef0123456789abcdef", "id [redacted]"],
])("%s", (text, shown) => {
  expect(withoutCredentials(text, key)).toBe(shown);
});

test("words stay", () => {
  for (const text of [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    "The model `gpt-4o-mini-2024-07-18` does not exist or you do not have access to it.",
    "max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
    "Invalid schema for function 'get_weather': None is not of type 'object'.",
    "models/gemini-2.5-flash is not found for API version v1beta",
  ])
    expect(withoutCredentials(text, key)).toBe(text);
});
