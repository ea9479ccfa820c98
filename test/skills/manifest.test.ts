import { describe, expect, test } from "bun:test";
import { readManifest } from "../../src/skills/manifest.ts";

const read = (frontmatter: string) => readManifest(new TextEncoder().encode(`---\n${frontmatter}\n---\nBody\n`));
const described = (value: string) => read(`name: tea\ndescription: ${value}\nlicense: MIT`).description;

/** The message of a refusal. */
function refusal(frontmatter: string): string {
  try {
    read(frontmatter);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("frontmatter that YAML refuses is read by its lines", () => {
  test.each([
    ["Make it production-ready: error handling"],
    ["Use when X. Keywords: foo, bar"],
    ["妈妈唠叨模式 — Triggers on: '/pua:mama', '/pua mama'"],
    ["`git` for people"],
    ["@claude reviews"],
    ["[beta] Tool: for x"],
    ["*Important* for x"],
    ["!important for x"],
    ["!!! Use this first"],
    ["!<b> text"],
    ["% of sales"],
    ["- item"],
    ["| text"],
    ["> text: a"],
    ['"review my plan". Pairs with: tea'],
    ['"a" and "b": c'],
  ])("description: %s", (value) => {
    expect(described(value)).toBe(value);
  });

  test.each([
    ["[a, b", "[", "]"],
    ["{a: 1, b", "{", "}"],
    ["[a, [b]", "[", "]"],
    ['[a, "b]', "[", "]"],
    ['"MIT', '"', '"'],
  ])("refused, for it is no text: tags: %s", (value, sign, end) => {
    expect(refusal(`name: tea\ndescription: Makes tea.\ntags: ${value}\nlicense: MIT`)).toContain(
      `line 4, column 7: ${sign} is not closed; end the value with ${end}`,
    );
    expect(refusal(`name: tea\ndescription: Makes tea.\nmetadata: ${value}`)).toContain("line 4, column 11");
  });

  test.each(["[a, b] c", "[@x, b]", '"a" b', "a [b, c", "it's: so"])("still a text: tags: %s", (value) => {
    expect(read(`name: tea\ndescription: Makes tea.\ntags: ${value}`).meta).toEqual({
      name: "tea",
      description: "Makes tea.",
      tags: value,
    });
  });

  test("a description may begin with a bracket that nothing closes", () => {
    expect(described("[beta: for x")).toBe("[beta: for x");
  });

  test("quotes around a text are no part of it, whatever stands between them", () => {
    expect(described('"Reads C:\\Users\\new"')).toBe("Reads C:\\Users\\new");
    expect(described('"He said "hi" there"')).toBe('He said "hi" there');
    expect(described('"a \\"b\\" c\\d"')).toBe('a "b" c\\d');
    expect(described("'It's a tool'")).toBe("It's a tool");
  });

  test("lines below a field belong to it, with spaces or tabs", () => {
    expect(described("Spring Data\n  CLI: Cypher via Bolt,\n  and more")).toBe(
      "Spring Data CLI: Cypher via Bolt, and more",
    );
    expect(described('\n  "review it". Pairs with tea: first,\n  second')).toBe(
      '"review it". Pairs with tea: first, second',
    );
    expect(described("|\n\ta: b\n\tc")).toBe("a: b\nc\n");
    expect(described(">-\n  a: b\n  c\nx: y: z")).toBe("a: b c");
  });

  test("what cannot be read of other fields costs itself", () => {
    const { meta, metadata } = read(
      "name: tea\ndescription: y\nallowed-tools: *\nargument-hint: [a] [— venue: b]\nmetadata:\n\tauthor: Ada",
    );
    expect(meta).toEqual({
      name: "tea",
      description: "y",
      "allowed-tools": "*",
      "argument-hint": "[a] [— venue: b]",
      metadata: { author: "Ada" },
    });
    expect(metadata).toEqual({ author: "Ada" });
    expect(read("name: tea\ndescription: y\nallowed-tools:\n- Read\n- Bash(git: *)").meta["allowed-tools"]).toBe(
      "- Read\n- Bash(git: *)",
    );
    expect(read("name: tea\ndescription: y\nmetadata: [a] b").metadata).toEqual({});
  });

  test("CRLF, an indentation of everything, keys in quotes, no space after the colon, comments", () => {
    expect(read("name: tea\r\ndescription: a: b\r\n")).toMatchObject({ name: "tea", description: "a: b" });
    expect(read("  name: tea\n  description: a: b")).toMatchObject({ name: "tea", description: "a: b" });
    expect(read("\tname: tea\n\tdescription: a: b")).toMatchObject({ name: "tea", description: "a: b" });
    expect(read("\"name\": tea\n'description': a: b")).toMatchObject({ name: "tea", description: "a: b" });
    expect(read("name:tea\ndescription:a")).toMatchObject({ name: "tea", description: "a" });
    expect(read("# a: b: c\nname: tea\ndescription: a: b\n# x")).toMatchObject({ name: "tea", description: "a: b" });
  });

  test("a number is a text, as it was written", () => {
    expect(read("name: 2024\ndescription: 1.10")).toMatchObject({ name: "2024", description: "1.10" });
    expect(read("name: 0x1F\ndescription: true")).toMatchObject({ name: "0x1F", description: "true" });
  });
});

describe("refusals name line, column and cure", () => {
  test.each([
    ["name: tea", "line 2, column 1: description is missing; add a line description:"],
    ["name: tea\ndescription: [Beta]", "line 3, column 14: description must be a text; put it in double quotes"],
    ["name: tea\ndescription: {{TEXT}}", "line 3, column 14: description must be a text"],
    ['name: tea\ndescription: "no end', "line 3, column 14: a quote is not closed"],
    ["name: tea\nname: coffee\ndescription: a: b", "line 3, column 7: name stands there twice"],
    ["name: tea\ndescription: a: b\ncontinued", "line 4, column 1: this line has no key"],
    ["title: a: b\ndescription: y", "line 2, column 8: this is not valid YAML"],
    ["name: tea\ndescription: y\nmetadata: [1]", "line 4, column 11: metadata must be a map"],
    ["name: tea\ndescription: y\nmetadata: { a: !own x }", "line 4, column 16: a tag is not one of YAML's"],
    ["- name: tea", "line 2, column 1: this is not valid YAML"],
    ["name: [x\ndescription: y", "line 2, column 7: [ is not closed; end the value with ]"],
    ["name: {x\ndescription: y", "line 2, column 7: { is not closed; end the value with }"],
    ["", "line 2, column 1: the frontmatter is empty; write a line name: and a line description:"],
    ["# name: tea", "line 2, column 1: the frontmatter is empty; write a line name: and a line description:"],
  ])("%j", (frontmatter, message) => {
    expect(refusal(frontmatter)).toContain(`SKILL.md is not valid: ${message}`);
  });
});

test.each([
  ["commas", `name: x\ndescription: y\nm: [${",".repeat(3_900)}]`],
  ["lists", `name: x\ndescription: y\nm: [${"[],".repeat(1_300)}]`],
  ["directives", `${"%TAG !a! x\n".repeat(1_300)}--- \nname: x\ndescription: y`],
])("%s count as more than words, because the parser takes longer for them", (_, frontmatter) => {
  expect(refusal(frontmatter)).toContain("too many fields and signs");
});

test("no frontmatter keeps the process for long", () => {
  const fill = (unit: string) => unit.repeat(Math.ceil(16_000 / unit.length)).slice(0, 16_000);
  const lines = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join("\n");
  const worst = [
    ...["[", "{", "{a: ", "[{a: ", "? ", "- ", ": ", "&a ", "a,", '"" ', "%a\n", "#\n", "\n", "-\n", "a: b # c\n"].map(
      fill,
    ),
    ...["[", "{", "{a: ", "{? "].map((unit) => `m: ${fill(unit)}`),
    `m: ${"[".repeat(7_000)}${"]".repeat(7_000)}`,
    `m: ${lines(25, (index) => `m${index}: ${"[".repeat(60)}${"]".repeat(60)}`)}`,
    `m: {${lines(3_000, (index) => `${index}: 1,`)}}`,
    lines(700, (index) => `k${index}: a: b`),
    lines(700, (index) => `k${index}: *a${index}`),
    `a: "${fill("\\x")}"`,
    `a: "${fill("\n")}"`,
    `a: |\n${fill(" \n")}`,
  ];
  for (const frontmatter of worst)
    for (const start of ["name: x\ndescription: y\n", "name: x\ndescription: y: z\n", ""]) {
      const before = process.cpuUsage();
      refusal(`${start}${frontmatter}`.slice(0, 16_300));
      const { user, system } = process.cpuUsage(before);
      // Without a bound on tokens, `? ` took 1.9 s and `[` 2 s; now nothing takes more than 40 ms.
      expect([frontmatter.slice(0, 20), (user + system) / 1_000 < 400]).toEqual([frontmatter.slice(0, 20), true]);
    }
});
