import type { TObject } from "@sinclair/typebox";
import { ApiError, defaultMessage } from "../errors.ts";

/** What names the kinds of things in an operation's path. */
interface NamedPath {
  readonly id: string;
  readonly params?: TObject;
}

/** Returns an error; a 404 that does not say what is missing names the kind of thing that the path ends with. */
export function namingMissing({ id, params }: NamedPath, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.reason !== "not_found" || error.message !== defaultMessage("not_found"))
    return error;
  const [noun = ""] = id.split(".");
  const kinds = Object.keys(params?.properties ?? {}).map((name) =>
    wordsOf(name === "id" ? noun.replace(/s$/, "") : name.replace(/Id$/, "")),
  );
  const missing = kinds.at(-1);
  if (missing === undefined) return error;
  const owner = kinds.at(-2);
  const message = `There is no such ${missing}${owner === undefined ? "" : ` of this ${owner}`}.`;
  return new ApiError("not_found", {
    message,
    headers: error.headers,
    ...(error.details === undefined ? {} : { details: error.details }),
  });
}

function wordsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.replace(/\b(mcp|api)\b/g, (word) => (word === "api" ? "API" : "MCP"));
}
