import type { ModelMessage } from "ai";

/** A model, as far as it says who made it. */
interface NamedModel {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const sounds = ["wav", "x-wav", "mpeg", "mp3", "aac", "ogg", "flac", "aiff"].map((format) => `audio/${format}`);

/**
 * The media types that a vendor takes in a tool's result, by the name of its client. OpenAI's
 * Chat Completions (`openai.chat`, `custom.chat`) take text alone there.
 */
const takenBy: Readonly<Record<string, readonly string[]>> = {
  "openai.responses": pictures,
  "anthropic.messages": pictures,
  "google.generative-ai": ["image/png", "image/jpeg", "image/webp", ...sounds],
  openrouter: [...pictures, ...sounds],
  "gateway:openai": pictures,
  "gateway:anthropic": pictures,
  "gateway:google": ["image/png", "image/jpeg", "image/webp", ...sounds],
};

const notGiven =
  "[The person is shown these files. You are not: your provider does not take files of these types in a tool's result.]";

type ToolMessage = Extract<ModelMessage, { readonly role: "tool" }>;
type ResultPart = Extract<ToolMessage["content"][number], { readonly type: "tool-result" }>;
type ContentPart = Extract<ResultPart["output"], { readonly type: "content" }>["value"][number];

/** Returns messages with those files in the results of tools that a model takes, in words where it does not; `refuses`: it takes none at all. */
export function withTakenFiles(messages: readonly ModelMessage[], model: NamedModel, refuses: boolean): ModelMessage[] {
  const types = refuses ? [] : typesTakenBy(model);
  return messages.map((message) => {
    if (message.role !== "tool" || !message.content.some(holdsFiles)) return message;
    return { ...message, content: message.content.map((part) => (holdsFiles(part) ? fitted(part, types) : part)) };
  });
}

/** Returns messages without the files of people and models; a person's are named in words. */
export function withoutFiles(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message): ModelMessage => {
    if (message.role === "user" && typeof message.content !== "string" && message.content.some(isFilePart))
      return { ...message, content: message.content.map(inWords) };
    if (message.role === "assistant" && typeof message.content !== "string" && message.content.some(isFilePart))
      return { ...message, content: message.content.filter((part) => !isFilePart(part)) };
    return message;
  });
}

/** Returns whether people sent files in these messages, or models made some. */
export function haveOwnFiles(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    ({ role, content }) =>
      (role === "user" || role === "assistant") && typeof content !== "string" && content.some(isFilePart),
  );
}

type UserContent = Exclude<Extract<ModelMessage, { readonly role: "user" }>["content"], string>;

function isFilePart({ type }: { readonly type: string }): boolean {
  return type === "file" || type === "image" || type === "reasoning-file";
}

function inWords(part: UserContent[number]): UserContent[number] {
  if (part.type === "text") return part;
  const [kind = ""] = part.type === "image" ? ["image"] : part.mediaType.split("/", 1);
  const named = ["image", "audio", "video"].includes(kind) ? kind : "file";
  return { type: "text", text: `[${named}: not shown, your provider did not take it]` };
}

/** Returns whether a tool's result in these messages has files. */
export function haveFiles(messages: readonly ModelMessage[]): boolean {
  return messages.some(({ role, content }) => role === "tool" && (content as ToolMessage["content"]).some(holdsFiles));
}

function typesTakenBy({ provider, modelId }: NamedModel): readonly string[] {
  return takenBy[provider === "gateway" ? `gateway:${modelId.split("/", 1)[0]}` : provider] ?? [];
}

function holdsFiles(part: ToolMessage["content"][number]): part is ResultPart {
  return part.type === "tool-result" && part.output.type === "content" && part.output.value.some(isFile);
}

function isFile(part: ContentPart): part is Extract<ContentPart, { readonly type: "file" }> {
  return part.type === "file";
}

function fitted(part: ResultPart, types: readonly string[]): ResultPart {
  const value = part.output.type === "content" ? part.output.value : [];
  const taken = value.filter((content) => !isFile(content) || types.includes(content.mediaType));
  if (taken.length === value.length) return part;
  const [first, ...rest] = taken;
  const text = `${first?.type === "text" ? first.text : ""}\n${notGiven}`.trim();
  const output: ResultPart["output"] =
    rest.length === 0 ? { type: "text", value: text } : { type: "content", value: [{ type: "text", text }, ...rest] };
  return { ...part, output };
}
