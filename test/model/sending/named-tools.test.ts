import { expect, test } from "bun:test";
import type { FitTool } from "../../../src/model/sending/fit-tools.ts";
import { namedTools } from "../../../src/model/sending/named-tools.ts";

const tool = (name: string) => ({ name, key: name, definition: { name } }) as FitTool;
const offered = ["read", "bad_one", "code", "a-b"].map(tool);
const named = (words: string, never = offered) => namedTools(words, offered, never).map(({ name }) => name);

test.each([
  [
    "OpenAI",
    `{"error":{"message":"Invalid 'tools[1].function.description': string too long.","param":"tools[1].function.description","code":"string_above_max_length"}}`,
    ["bad_one"],
  ],
  [
    "OpenAI",
    `Invalid schema for function 'bad_one': In context=('properties', 'x'), array schema missing items.`,
    ["bad_one"],
  ],
  [
    "Anthropic",
    "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    ["bad_one"],
  ],
  ["Bedrock", "The value at toolConfig.tools.1.member.toolSpec.description is too long", ["bad_one"]],
  [
    "Google",
    "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.",
    ["bad_one"],
  ],
  [
    "Google's Vertex AI",
    "Unable to submit request because `bad_one` functionDeclaration `parameters.x` schema is wrong",
    ["bad_one"],
  ],
  ["Mistral", `{"detail":[{"type":"string_too_long","loc":["body","tools",1,"function","description"]}]}`, ["bad_one"]],
  ["a proxy", String.raw`{"error":"{\"loc\":[\"body\",\"tools\",3,\"function\"]}"}`, ["a-b"]],
  ["a server", "Unable to generate a parser for tool a-b", ["a-b"]],
  ["two at once", "tools[1] and tools[3] are wrong", ["bad_one", "a-b"]],
  ["a field of JSON that has a tool's name", `{"message":"No.","code":"invalid","type":"x"}`, []],
  ["no place that was offered", "tools[17].function", []],
  ["a request that is said again", "'read' 'bad_one' 'code' 'a-b'", []],
  ["no word", "Bad request", []],
])("%s: %s", (_vendor, words, names) => {
  expect(named(words)).toEqual(names);
});

test("a name of a tool that was taken before is there for another reason", () => {
  expect(named("A function call 'read' has no thought_signature.", [tool("bad_one")])).toEqual([]);
});

test("long words are read in no time", () => {
  const words = ["'", '"tools', "tools[", "function ", "\\"].map((part) => part.repeat(10_000 / part.length)).join("");
  const began = process.cpuUsage();
  named(words);
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1_000).toBeLessThan(250);
});
