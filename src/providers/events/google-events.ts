import { EndReason } from "./end-reason.ts";
import type { EventReader } from "./event-reader.ts";
import {
  countsIn,
  type Fields,
  failureIn,
  fieldsOf,
  numberIn,
  numbersIn,
  objectsIn,
  textIn,
  wordIn,
} from "./fields.ts";

/** Token counts that Google says. */
const googleCounts = [
  "promptTokenCount",
  "candidatesTokenCount",
  "toolUsePromptTokenCount",
  "totalTokenCount",
] as const;

/** Returns the counts among what Google says of a usage. Its parts are counts or left out: the client adds thoughts to the output. */
export function googleUsageIn(value: unknown): object | undefined {
  const said = numbersIn(value, googleCounts);
  return said && { ...said, ...countsIn(value, ["thoughtsTokenCount", "cachedContentTokenCount"]) };
}

/** Reads the stream of Google's `streamGenerateContent`. */
export class GoogleEvents implements EventReader {
  readonly #reason = new EndReason();

  read(event: Fields): readonly object[] {
    const failure = failureIn(event.error);
    if (failure !== undefined) return [{ error: googleFailure(failure, fieldsOf(event.error)) }];
    const candidate = objectsIn(event.candidates)[0];
    const usageMetadata = googleUsageIn(event.usageMetadata);
    const blockReason = wordIn(fieldsOf(event.promptFeedback)?.blockReason);
    if (candidate === undefined && usageMetadata === undefined && blockReason === undefined) return [];
    return [
      {
        responseId: wordIn(event.responseId),
        ...(candidate === undefined
          ? {}
          : { candidates: [candidateOf(candidate, this.#reason.read(candidate.finishReason))] }),
        usageMetadata,
        ...(blockReason === undefined ? {} : { promptFeedback: { blockReason } }),
      },
    ];
  }

  end(): readonly object[] {
    return this.#reason.isBlank ? [{ candidates: [{ finishReason: "" }] }] : [];
  }
}

function googleFailure({ message }: { readonly message: string }, error: Fields | undefined): object {
  return { code: numberIn(error?.code) ?? null, message, status: textIn(error?.status) ?? "" };
}

function candidateOf(candidate: Fields, finishReason: string | undefined): object {
  const parts = objectsIn(fieldsOf(candidate.content)?.parts).flatMap(partOf);
  const sources = objectsIn(fieldsOf(candidate.groundingMetadata)?.groundingChunks).flatMap(sourceOf);
  return {
    ...(parts.length === 0 ? {} : { content: { parts } }),
    finishReason,
    continuationToken: wordIn(candidate.continuationToken),
    ...(sources.length === 0 ? {} : { groundingMetadata: { groundingChunks: sources } }),
  };
}

/** Returns a part with the fields that are used, if it is of a kind that is known. */
function partOf(part: Fields): object[] {
  const thoughtSignature = wordIn(part.thoughtSignature);
  const call = fieldsOf(part.functionCall);
  if (call !== undefined) return callOf(call).map((functionCall) => ({ functionCall, thoughtSignature }));
  const more = { thought: part.thought === true ? true : undefined, thoughtSignature };
  const file = fieldsOf(part.inlineData);
  const data = wordIn(file?.data);
  if (file !== undefined)
    return data === undefined
      ? []
      : [{ inlineData: { mimeType: wordIn(file.mimeType) ?? "application/octet-stream", data }, ...more }];
  const ran = fieldsOf(part.executableCode);
  const code = textIn(ran?.code);
  if (code !== undefined)
    return [{ executableCode: { language: textIn(ran?.language) ?? "", code }, thoughtSignature }];
  const result = fieldsOf(part.codeExecutionResult);
  if (result !== undefined) {
    const outcome = textIn(result.outcome) ?? "";
    return [{ codeExecutionResult: { outcome, output: textIn(result.output) ?? "" }, thoughtSignature }];
  }
  const served = servedOf(part, thoughtSignature);
  if (served !== null) return [served];
  const text = textIn(part.text) ?? (thoughtSignature === undefined ? undefined : "");
  return text === undefined ? [] : [{ text, ...more }];
}

function callOf(call: Fields): object[] {
  const name = wordIn(call.name);
  const args = fieldsOf(call.args) ?? wordIn(call.args);
  const partialArgs = Array.isArray(call.partialArgs) ? objectsIn(call.partialArgs).flatMap(pieceOf) : undefined;
  const willContinue = call.willContinue === true ? true : undefined;
  // Input without a name that nothing goes on with belongs to no call.
  if (name === undefined && args !== undefined) return [];
  return [{ id: wordIn(call.id), name, args, partialArgs, willContinue }];
}

function pieceOf(piece: Fields): object[] {
  const jsonPath = wordIn(piece.jsonPath);
  if (jsonPath === undefined) return [];
  const { boolValue } = piece;
  const isNull = Object.hasOwn(piece, "nullValue");
  return [
    {
      jsonPath,
      stringValue: textIn(piece.stringValue),
      numberValue: numberIn(piece.numberValue),
      boolValue: typeof boolValue === "boolean" ? boolValue : undefined,
      ...(isNull ? { nullValue: "NULL_VALUE" } : {}),
      willContinue: piece.willContinue === true ? true : undefined,
    },
  ];
}

/** Returns a call, or its result, of a tool that Google runs itself. */
function servedOf(part: Fields, thoughtSignature: string | undefined): object | null {
  for (const [name, content] of [
    ["toolCall", "args"],
    ["toolResponse", "response"],
  ] as const) {
    const served = fieldsOf(part[name]);
    const toolType = wordIn(served?.toolType);
    if (served !== undefined && toolType !== undefined)
      return {
        [name]: { toolType, id: textIn(served.id) ?? "", [content]: fieldsOf(served[content]) },
        thoughtSignature,
      };
  }
  return null;
}

/** Returns where a part of the answer was found: a page of the web, or one of a map or a store. */
function sourceOf(chunk: Fields): object[] {
  const web = fieldsOf(chunk.web);
  const uri = wordIn(web?.uri);
  if (uri !== undefined) return [{ web: { uri, title: textIn(web?.title) } }];
  for (const name of ["maps", "retrievedContext"] as const) {
    const found = fieldsOf(chunk[name]);
    const at = wordIn(found?.uri);
    if (at !== undefined) return [{ [name]: { uri: at, title: textIn(found?.title) } }];
  }
  return [];
}
