import { CodeBlock } from "./code-block.tsx";

/** This many characters are shown; the rest is copied with them. */
const shownMax = 20_000;

/** A value of a model, a tool or a client, as text. A text stays one, with its lines. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label?: string }) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const shown =
    text.length > shownMax ? `${text.slice(0, shownMax)}\n… ${text.length - shownMax} more characters` : text;
  return <CodeBlock text={shown} {...(label !== undefined && { label })} />;
}
