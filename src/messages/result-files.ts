/**
 * Pictures and sounds that a tool returned are file parts of the answer, so that readers see
 * them. Each names the call it came from, because it goes back to a model as a part of that
 * call's result and of nothing else.
 */

/** What such a part has in its `providerMetadata`. */
export interface ResultFileMetadata {
  readonly [scope: string]: { readonly toolCallId: string };
}

const scope = "parley";

/** Returns the `providerMetadata` of a file that a call returned. */
export function resultFileMetadata(toolCallId: string): ResultFileMetadata {
  return { [scope]: { toolCallId } };
}

/** A file that a call returned, as a part of a message or a chunk has it. */
export interface ResultFilePart {
  readonly type: "file";
  readonly mediaType: string;
  /** A data URL. */
  readonly url: string;
  readonly toolCallId: string;
}

/** Returns a part or a chunk as the file that a call returned; null when it is anything else. */
export function asResultFile(part: unknown): ResultFilePart | null {
  const { type, mediaType, url, providerMetadata } = part as {
    readonly type?: unknown;
    readonly mediaType?: unknown;
    readonly url?: unknown;
    readonly providerMetadata?: Readonly<Record<string, { readonly toolCallId?: unknown } | undefined>>;
  };
  const toolCallId = providerMetadata?.[scope]?.toolCallId;
  if (type !== "file" || typeof mediaType !== "string" || typeof url !== "string") return null;
  return typeof toolCallId === "string" ? { type, mediaType, url, toolCallId } : null;
}

/** Returns the base64 of a file's data URL. */
export function base64Of({ url }: Pick<ResultFilePart, "url">): string {
  return url.slice(url.indexOf(",") + 1);
}

/** Returns how many bytes a text in base64 stands for. */
export function base64Bytes(base64: string): number {
  return Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);
}
