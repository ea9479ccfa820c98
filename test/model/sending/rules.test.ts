import { describe, expect, test } from "bun:test";
import type { ModelMessage } from "ai";
import { CallIds, ToolNames } from "../../../src/model/sending/call-names.ts";
import { fitMessages } from "../../../src/model/sending/fit-prompt.ts";
import { fitSchema } from "../../../src/model/sending/fit-schema.ts";
import { rowOf, rulesOf, type VendorName } from "../../../src/model/sending/rules.ts";

/** A row of the table in docs/vendors.md each. */
const long = (count: number) => "a".repeat(count);
const rows: readonly {
  readonly vendor: VendorName;
  readonly ids: readonly string[];
  readonly notIds: readonly string[];
  readonly names: readonly string[];
  readonly notNames: readonly string[];
  readonly toolsMax: number | null;
}[] = [
  {
    vendor: "openai.chat",
    ids: ["call_1", long(40)],
    notIds: ["a b", "a|b", "", long(41)],
    names: ["1-a", long(64)],
    notNames: ["a.b", "", long(65)],
    toolsMax: 128,
  },
  {
    vendor: "openai.responses",
    ids: ["call_1", long(64)],
    notIds: ["a|b", long(65)],
    names: ["1-a"],
    notNames: ["a.b"],
    toolsMax: 128,
  },
  {
    vendor: "anthropic",
    ids: ["toolu_01-A", long(64)],
    notIds: ["functions.read:0"],
    names: ["1-a"],
    notNames: ["a b"],
    toolsMax: null,
  },
  { vendor: "google", ids: ["call_1"], notIds: ["a b"], names: ["_a-b"], notNames: ["1a", "-a"], toolsMax: 128 },
  {
    vendor: "mistral",
    ids: ["abcDEF123"],
    notIds: ["call_1234", "abc", long(10)],
    names: ["1-a"],
    notNames: ["a.b"],
    toolsMax: null,
  },
  {
    vendor: "moonshot",
    ids: ["functions.read:0"],
    notIds: ["a|b"],
    names: ["abc"],
    notNames: ["ab", "1abc"],
    toolsMax: 128,
  },
  { vendor: "deepseek", ids: ["call_1"], notIds: ["a.b"], names: ["a"], notNames: ["a.b"], toolsMax: 128 },
  { vendor: "xai", ids: ["call_1"], notIds: ["a.b"], names: ["a"], notNames: ["a.b"], toolsMax: 128 },
  { vendor: "groq", ids: ["call_1"], notIds: ["a.b"], names: ["a"], notNames: ["a.b"], toolsMax: 128 },
  { vendor: "bedrock", ids: ["tooluse_a-1"], notIds: ["a.b"], names: ["a"], notNames: ["a.b"], toolsMax: null },
  {
    vendor: "common",
    ids: ["abcDEF123"],
    notIds: ["call_1", "functions.read:0"],
    names: ["_ab", "a-1"],
    notNames: ["1a", "a.b", "x", "go", "-a"],
    toolsMax: 128,
  },
  {
    vendor: "azure",
    ids: ["call_1", long(40)],
    notIds: ["a b", long(41)],
    names: ["1-a"],
    notNames: ["a.b"],
    toolsMax: 128,
  },
];
const inherited = Object.getOwnPropertyNames(Object.prototype);

describe.each(rows)("$vendor", ({ vendor, ids, notIds, names, notNames, toolsMax }) => {
  const rules = rowOf(vendor);
  test("ids of calls", () => {
    expect(ids.map((id) => new CallIds(rules.callId).take(id))).toEqual([...ids]);
    for (const id of notIds) expect(new CallIds(rules.callId).take(id)).toMatch(/^[a-zA-Z0-9]{9}$/);
    const taken = new CallIds(rules.callId);
    const same = Array.from({ length: 100 }, () => taken.take(ids[0] as string));
    expect(new Set(same).size).toBe(100);
    for (const id of same) expect(id).toMatch(rules.callId);
  });
  test("names of tools, each offered tool by its own, and back", () => {
    expect(names.map((name) => new ToolNames(rules.toolName, [name]).sentOf(name))).toEqual([...names]);
    const all = [...new Set([...notNames, "a b", "a.b", "a_b"])];
    const offered = new ToolNames(rules.toolName, all);
    const sent = all.map((name) => offered.sentOf(name));
    expect(offered.sentOf("a_b")).toBe("a_b");
    expect(new Set(sent).size).toBe(sent.length);
    for (const name of sent) expect(name).toMatch(rules.toolName);
    expect(sent.map((name) => offered.realOf(name))).toEqual(all);
  });
  test("names that every object has are sent as others, and mapped back", () => {
    // The vendors' clients look names up in objects.
    const offered = new ToolNames(rules.toolName, [...inherited, "constructor_"]);
    const sent = inherited.map((name) => offered.sentOf(name));
    for (const name of sent) expect([name, rules.toolName.test(name), name in {}]).toEqual([name, true, false]);
    expect(sent.map((name) => offered.realOf(name))).toEqual(inherited);
    expect(offered.realOf(offered.sentOf("constructor_"))).toBe("constructor_");
    for (const name of inherited) expect(new ToolNames(rules.toolName).sentOf(name) in {}).toBe(false);
  });
  test("so many tools", () => {
    expect(rules.toolsMax).toBe(toolsMax);
  });
});

test.each([
  ["openai.chat", "gpt-4o", "openai.chat", "nobody"],
  ["openai.responses", "gpt-5", "openai.responses", "openai"],
  ["anthropic.messages", "claude", "anthropic", "anthropic"],
  ["google.generative-ai", "gemini", "google", "google"],
  ["custom.chat", "mistral/large", "common", "chat"],
  ["openrouter", "mistralai/large", "mistral", "openrouter"],
  ["openrouter", "somebody/else", "common", "openrouter"],
  ["gateway", "anthropic/claude", "anthropic", "anthropic"],
  ["gateway", "openai/gpt-5", "openai.chat", "openai"],
  ["gateway", "azure/gpt-4o", "azure", "openai"],
  ["gateway", "amazon/nova", "bedrock", "anthropic"],
  ["gateway", "xai/grok", "xai", "chat"],
  ["gateway", "constructor/x", "common", "chat"],
] as const)("a model of %s called %s has the row %s, and thoughts of %s", (provider, modelId, name, thoughts) => {
  expect(rulesOf({ provider, modelId })).toMatchObject({ name, thoughts });
});

const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });
const assistant = (...texts: readonly string[]): ModelMessage => ({
  role: "assistant",
  content: texts.map((text) => ({ type: "text", text })),
});
const sent = (vendor: VendorName, messages: readonly ModelMessage[]) => {
  const rules = rowOf(vendor);
  return fitMessages(messages, { rules, names: new ToolNames(rules.toolName), thoughts: "own" });
};
const inWords = (messages: readonly ModelMessage[]) =>
  messages.map(({ role, content }) => [role, ...(content as { text?: string }[]).map(({ text }) => text)]);

describe("the order of messages", () => {
  test.each([
    [
      "common",
      [user("a"), user("b")],
      [
        ["user", "a"],
        ["assistant", "(no answer)"],
        ["user", "b"],
      ],
    ],
    [
      "openai.chat",
      [user("a"), user("b")],
      [
        ["user", "a"],
        ["user", "b"],
      ],
    ],
    [
      "common",
      [assistant("a"), user("b")],
      [
        ["user", "(the conversation began earlier)"],
        ["assistant", "a"],
        ["user", "b"],
      ],
    ],
    [
      "anthropic",
      [user("a"), assistant("b"), assistant("c"), user("d")],
      [
        ["user", "a"],
        ["assistant", "b\n\n", "c"],
        ["user", "d"],
      ],
    ],
    [
      "google",
      [user("a"), assistant("b")],
      [
        ["user", "a"],
        ["assistant", "b"],
        ["user", "(go on)"],
      ],
    ],
    [
      "mistral",
      [user("a"), assistant("\u00a0", "\n"), user("b")],
      [
        ["user", "a"],
        ["assistant", "(no answer)"],
        ["user", "b"],
      ],
    ],
    ["xai", [user(" ")], [["user", "(go on)"]]],
  ] as const)("%s", async (vendor, messages, words) => {
    expect(inWords(await sent(vendor, messages))).toEqual(words as never);
  });

  test("a plain transcript is sent as it is: the same objects", async () => {
    const messages = Array.from({ length: 2_001 }, (_, index) => (index % 2 === 0 ? user("q") : assistant("a")));
    for (const { vendor } of rows) {
      if (vendor === "openai.chat") continue;
      const fit = await sent(vendor, messages);
      expect(fit.every((message, index) => message === messages[index])).toBe(true);
    }
    const many = [...messages, assistant("a"), ...messages];
    const newest = await sent("openai.chat", many);
    expect([newest.length <= 2_048, newest[0]?.role, newest.at(-1)]).toEqual([true, "user", many.at(-1) as never]);
  });
});

describe("the schema of a tool", () => {
  const fit = (schema: unknown, vendor: VendorName = "openai.chat") => fitSchema(schema, rowOf(vendor).schemas);

  test("is not offered whose references are long and many", () => {
    const $ref = `#/${"properties/a0/".repeat(30)}`;
    const of = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, { $ref }]));
    expect(fit({ type: "object", properties: of(15_000) })).toEqual({
      reason: "The references of its input schema have more than 20000 steps together.",
    });
    expect(fit({ type: "object", properties: of(100) })).toHaveProperty("schema");
  });

  test.each([
    [{ type: "object" }, { type: "object", properties: {} }],
    [{ properties: { a: { type: "array" } } }, { type: "object", properties: { a: { type: "array", items: {} } } }],
    [
      { type: "object", properties: { a: { type: "object" } }, required: ["b"] },
      { type: "object", properties: { a: { type: "object", properties: {} }, b: {} }, required: ["b"] },
    ],
    [
      { type: "object", title: null, properties: { a: { minimum: 1, exclusiveMinimum: true, type: "number" } } },
      { type: "object", properties: { a: { exclusiveMinimum: 1, type: "number" } } },
    ],
    [
      { type: "object", properties: { a: { type: "array", items: [{ type: "string" }], additionalItems: false } } },
      { type: "object", properties: { a: { type: "array", prefixItems: [{ type: "string" }], items: { not: {} } } } },
    ],
    [
      {
        $ref: "#/definitions/A",
        definitions: { A: { type: "object", properties: { b: { $ref: "#/definitions/B" } } }, B: { type: "string" } },
      },
      { type: "object", properties: { b: { $ref: "#/$defs/B" } }, $defs: { B: { type: "string" } } },
    ],
    [
      {
        type: "object",
        properties: { a: { type: "string" }, b: { $ref: "#/properties/a" }, c: { $ref: "#/properties/c" } },
      },
      { type: "object", properties: { a: { type: "string" }, b: { type: "string" }, c: {} } },
    ],
    [
      { allOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { properties: { b: {} } }] },
      { type: "object", properties: { a: {}, b: {} }, required: ["a"] },
    ],
  ])("%j", (schema, fitting) => {
    expect(fit(schema)).toMatchObject({ schema: fitting });
    expect(JSON.parse(JSON.stringify((fit(schema) as { schema: object }).schema))).toEqual(fitting);
  });
  test.each([
    [{ type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }],
    [
      {
        oneOf: [
          { type: "object", properties: { a: {} } },
          { type: "object", properties: { b: {} } },
        ],
      },
    ],
    [{ type: "object", not: { required: ["a"] } }],
    [{ type: "string" }],
    [{ type: "array", items: {} }],
  ])("%j cannot be said", (schema) => {
    expect(fit(schema)).toEqual({ reason: expect.stringContaining("Its input schema") });
  });
  test("fields that Anthropic does not take are renamed, and required by that name", () => {
    const { schema, renamed } = fit(
      { type: "object", properties: { $filter: {}, _filter: {} }, required: ["$filter"] },
      "anthropic",
    ) as { schema: object; renamed: Map<string, string> };
    expect(schema).toEqual({ type: "object", properties: { _filter_2: {}, _filter: {} }, required: ["_filter_2"] });
    expect([...renamed]).toEqual([["_filter_2", "$filter"]]);
  });
  test("one that is too large, too deep, or has a name of the prototype harms nobody", () => {
    const deep = (levels: number): object => (levels === 0 ? {} : { type: "array", items: deep(levels - 1) });
    expect(fit({ type: "object", properties: { a: deep(1_000) } })).toHaveProperty("reason");
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: "string" }]));
    expect(fit({ type: "object", properties: wide })).toHaveProperty("reason");
    expect(
      fit(
        JSON.parse(
          '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"],"__proto__":1}',
        ),
      ),
    ).toHaveProperty("schema");
  });
});
