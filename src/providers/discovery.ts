import type { ProviderType } from "../kernel/config.ts";
import { ApiError } from "../kernel/errors.ts";
import { readForeignJson } from "../kernel/json-bounds.ts";
import type { Fetch } from "../kernel/outbound/fetch.ts";
import { type Fields, fieldsOf, objectsIn, wordIn } from "./events/fields.ts";

/** Reading a whole model list, with all its pages, takes at most this long; less than a database transaction may. */
const listTimeoutMs = 6_000;
/** The size limit of one page of a model list: OpenRouter's, the longest that is known, has one page of some 700 KiB. */
const pageBytesMax = 2 * 1024 * 1024;
/** A model list has at most this many pages. */
const pagesMax = 20;
/** Models of a list; the rest is left out. */
const modelsMax = 20_000;
/** Models requested per page from vendors that have pages: the maximum of each. */
const pageRows = 1_000;
/** Vercel AI Gateway's public catalogue; it takes no key. */
const gatewayCatalogUrl = "https://ai-gateway.vercel.sh/v1/models";

/** The address of a model list, and the credential for it. */
export interface ListSource {
  readonly providerType: ProviderType;
  /** Without a trailing slash. */
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** One request of a list, and how to read its response. */
interface ListProtocol {
  url(source: ListSource, pageToken: string | null): string;
  headers(source: ListSource): Record<string, string>;
  /** The ids of a page, and the token of the next one. */
  read(body: Fields): { ids: string[]; nextPage: string | null };
}

/** `{ data: [{ id }] }`, in one page: OpenAI's list, which the router and the gateway have too. */
const openAiList: ListProtocol = {
  url: ({ baseUrl }) => `${baseUrl}/models`,
  headers: ({ apiKey }) => ({ authorization: `Bearer ${apiKey}` }),
  read: (body) => ({ ids: fieldOfEach(body.data, "id"), nextPage: null }),
};

const protocols: Partial<Record<ProviderType, ListProtocol>> = {
  llm_vendor_a: openAiList,
  router_vendor: openAiList,
  gateway: { ...openAiList, url: () => gatewayCatalogUrl, headers: () => ({}) },
  llm_vendor_b: {
    url: ({ baseUrl }, page) => `${baseUrl}/models?${query({ limit: String(pageRows), after_id: page })}`,
    headers: ({ apiKey }) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    read: (body) => ({
      ids: fieldOfEach(body.data, "id"),
      nextPage: body.has_more === true ? (wordIn(body.last_id) ?? null) : null,
    }),
  },
  llm_vendor_c: {
    url: ({ baseUrl }, page) => `${baseUrl}/models?${query({ pageSize: String(pageRows), pageToken: page })}`,
    headers: ({ apiKey }) => ({ "x-goog-api-key": apiKey }),
    read: (body) => ({
      ids: fieldOfEach(body.models, "name").map((name) => name.replace(/^models\//, "")),
      nextPage: wordIn(body.nextPageToken) ?? null,
    }),
  },
};

/** Statuses of a server that has no list of models, as proxies in front of a vendor often have not. */
const withoutListStatuses = new Set([404, 405, 501]);

/**
 * Returns a provider's model ids, as the provider spells them: trimmed, deduplicated,
 * sorted, at most `modelsMax`. Makes no model call. Throws 422 `model_discovery_unsupported` for a type or a
 * server that has no list, and 503 `model_validation_unavailable` for whatever keeps the list from
 * being read.
 */
export async function fetchModelIds(fetch: Fetch, source: ListSource): Promise<string[]> {
  const protocol = protocols[source.providerType];
  if (protocol === undefined) throw new ApiError("model_discovery_unsupported");
  const signal = AbortSignal.timeout(listTimeoutMs);
  const ids = new Set<string>();
  let page: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const { ids: found, nextPage }: ReturnType<ListProtocol["read"]> = protocol.read(
      await readPage(fetch, protocol.url(source, page), protocol.headers(source), signal),
    );
    for (const id of found) if (ids.size < modelsMax) ids.add(id);
    if (nextPage === null || nextPage === page || ids.size >= modelsMax) break;
    page = nextPage;
  }
  return [...ids].sort();
}

async function readPage(
  fetch: Fetch,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Fields> {
  // The error's own text is not passed on: it may hold the address, the key or what the provider wrote.
  const response = await fetch(url, { headers: { accept: "application/json", ...headers }, signal }).catch(() => {
    throw unavailable("The provider cannot be reached.");
  });
  if (!response.ok) {
    await response.body?.cancel().catch(() => {});
    if (withoutListStatuses.has(response.status)) throw new ApiError("model_discovery_unsupported");
    throw unavailable(`The provider answered ${response.status} when asked for its models.`);
  }
  const body = await readJson(response).catch(() => undefined);
  if (body === undefined) throw unavailable(notAList);
  return body;
}

const notAList = "The provider's answer is not a list of models, or is too long.";

/** Reads a JSON object of at most `pageBytesMax`. Throws when it is larger; undefined when it is none, or has too many values. */
async function readJson(response: Response): Promise<Fields | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > pageBytesMax) throw new Error("The list is too large.");
    pieces.push(piece);
  }
  const read = await readForeignJson(pieces);
  return read.outcome === "read" ? fieldsOf(read.value) : undefined;
}

function unavailable(message: string): ApiError {
  return new ApiError("model_validation_unavailable", { message });
}

/** Returns a text of each row of a list; a row without it costs itself alone. */
function fieldOfEach(list: unknown, field: string): string[] {
  if (!Array.isArray(list)) throw unavailable(notAList);
  return objectsIn(list).flatMap((row) => wordIn(row[field])?.trim() ?? []);
}

function query(fields: Record<string, string | null>): string {
  return new URLSearchParams(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== null),
  ).toString();
}
