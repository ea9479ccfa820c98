import { DefaultGeneratedFile } from "ai";
import { turnFilesBytesMax, turnFilesMax } from "../kernel/limits.ts";
import { asResultFile, base64Bytes, base64Of, resultFileMetadata } from "../messages/result-files.ts";
import { FiledResult } from "../tools/filed-result.ts";
import type { AnswerPart } from "./step-record.ts";

/** The pictures and sounds that the tools of one turn return: how many there may be. */
export class TurnFiles {
  #count = 0;
  #bytes = 0;

  /** `shown` are parts or chunks of the answer that was begun before. */
  constructor(shown: Iterable<unknown>) {
    for (const part of shown) {
      const file = asResultFile(part);
      if (file !== null) this.#add(base64Bytes(base64Of(file)));
    }
  }

  /** Returns a result with those of its files that the turn has room for; its text says how many were left out. */
  admit({ text, files }: FiledResult): FiledResult {
    const admitted = files.filter(({ data }) => {
      const bytes = base64Bytes(data);
      if (this.#count >= turnFilesMax || this.#bytes + bytes > turnFilesBytesMax) return false;
      this.#add(bytes);
      return true;
    });
    const left = files.length - admitted.length;
    if (left === 0) return new FiledResult(text, files);
    const bound = `${turnFilesMax} with ${turnFilesBytesMax / 1024 / 1024} MiB together`;
    const note = `[The last ${left} of these files are left out: the tools of one turn return at most ${bound}.]`;
    return new FiledResult(`${text}\n${note}`, admitted);
  }

  #add(bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
  }
}

/** Returns the parts that a reader gets in the place of this one: a result's files come as separate parts, before its text. */
export function readerParts(part: AnswerPart): readonly AnswerPart[] {
  if (part.type !== "tool-result" || !((part.output as unknown) instanceof FiledResult)) return [part];
  const { text, files } = part.output as unknown as FiledResult;
  const providerMetadata = resultFileMetadata(part.toolCallId);
  return [
    ...files.map((file) => ({ type: "file" as const, file: new DefaultGeneratedFile(file), providerMetadata })),
    { ...part, output: text },
  ] as readonly AnswerPart[];
}
