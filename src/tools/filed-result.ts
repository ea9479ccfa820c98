import type { Tool } from "ai";

/** A picture or a sound that a tool returned. */
export interface ResultFile {
  readonly mediaType: string;
  /** Its bytes, in base64. */
  readonly data: string;
}

/** What a tool returned that has files beside its text. The text says where they stand, and is never empty. */
export class FiledResult {
  readonly text: string;
  readonly files: readonly ResultFile[];

  constructor(text: string, files: readonly ResultFile[]) {
    this.text = text;
    this.files = files;
  }
}

type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;

/** Returns a tool's output as the model is given it, files included. */
export function filedOutput({ output }: { readonly output: unknown }): ModelOutput {
  if (!(output instanceof FiledResult))
    return typeof output === "string"
      ? { type: "text", value: output }
      : ({ type: "json", value: output ?? null } as ModelOutput);
  const files = output.files.map(({ mediaType, data }) => ({
    type: "file" as const,
    mediaType,
    data: { type: "data" as const, data },
  }));
  // One text: Google's client makes a separate result of each.
  return { type: "content", value: [{ type: "text", text: output.text }, ...files] };
}
