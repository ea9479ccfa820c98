import type { TestTenant } from "../harness/harness.ts";
import { dereference } from "./dereference.ts";
import { invalidValues } from "./invalid-values.ts";

interface Variant {
  readonly properties: { readonly type: { readonly const?: string; readonly pattern?: string } };
}

/** The components of the document that are a choice by `type`. */
type Choice = "UIMessageChunk" | "MessagePart";

/** Returns what says in words which of some values, as JSON, are not in the document, or have a field that is not. */
export async function readUndocumented(t: TestTenant) {
  const document = dereference((await t.call("GET", "/openapi.json", { token: null })).body);
  return (choice: Choice, values: readonly object[]): string[] =>
    (JSON.parse(JSON.stringify(values)) as { type: string }[]).flatMap((value) => {
      const variants: readonly Variant[] = document.components.schemas[choice].anyOf;
      const variant = variants.find(({ properties }) => isOf(properties, value.type));
      if (variant === undefined) return [`${choice} ${value.type} is of no type in the document`];
      const schema = () => ({ ...variant, additionalProperties: false });
      const faults = invalidValues(`${choice} ${JSON.stringify(variant.properties.type)}`, schema, value);
      return faults.map((fault) => `${choice} ${value.type}: ${fault}`);
    });
}

function isOf({ type }: Variant["properties"], name: string): boolean {
  return type.pattern === undefined ? type.const === name : new RegExp(type.pattern).test(name);
}
