import type { ModelPart } from "../model-part.ts";
import type { FitTools } from "./fit-tools.ts";

type Renamed = ReadonlyMap<string, string>;

/**
 * Returns a stream in which the inputs of tools have their fields' own names, where the vendor was sent others. Such
 * an input is passed on in one piece, once it is whole.
 */
export function withOwnFields(stream: ReadableStream<ModelPart>, { offered }: FitTools): ReadableStream<ModelPart> {
  const renamed = new Map<string, Renamed>();
  for (const tool of offered) if (tool.renamed.size > 0) renamed.set(tool.definition.name, tool.renamed);
  if (renamed.size === 0) return stream;
  const held = new Map<string, { readonly fields: Renamed; text: string }>();
  return stream.pipeThrough(
    new TransformStream<ModelPart, ModelPart>({
      transform(part, controller) {
        const release = (id: string) => {
          const input = held.get(id);
          held.delete(id);
          if (input !== undefined && input.text !== "")
            controller.enqueue({ type: "tool-input-delta", id, delta: ownFields(input.text, input.fields) });
        };
        switch (part.type) {
          case "tool-input-start": {
            const fields = renamed.get(part.toolName);
            if (fields !== undefined) held.set(part.id, { fields, text: "" });
            break;
          }
          case "tool-input-delta": {
            const input = held.get(part.id);
            if (input === undefined) break;
            input.text += part.delta;
            return;
          }
          case "tool-input-end":
            release(part.id);
            break;
          case "tool-call": {
            release(part.toolCallId);
            const fields = renamed.get(part.toolName);
            if (fields === undefined) break;
            controller.enqueue({ ...part, input: ownFields(part.input, fields) });
            return;
          }
          case "finish":
            for (const id of [...held.keys()]) release(id);
        }
        controller.enqueue(part);
      },
    }),
  );
}

/** Returns the input that a model gave a tool, as JSON, with the fields' own names; as it is where it cannot be read. */
function ownFields(input: string, renamed: Renamed): string {
  try {
    const read: unknown = JSON.parse(input);
    if (typeof read !== "object" || read === null || Array.isArray(read)) return input;
    return JSON.stringify(
      Object.fromEntries(Object.entries(read).map(([name, value]) => [renamed.get(name) ?? name, value])),
    );
  } catch {
    return input;
  }
}
