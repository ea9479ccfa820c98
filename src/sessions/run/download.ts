import { DownloadError } from "ai";
import { readBounded } from "../../kernel/bounded-read.ts";
import type { Config } from "../../kernel/config.ts";
import { type Fetch, tenantFetch } from "../../kernel/outbound/fetch.ts";
import type { DownloadFiles } from "../../model/model-call.ts";

/** The size limit of a picture that a message gives as a URL. */
const imageBytesMax = 10 * 1024 * 1024;
/** Fetching a picture takes at most this long. */
const imageWaitMs = 15_000;

/**
 * Returns the function that fetches pictures for providers that take no URLs, from public
 * addresses only: the URL comes from an end user. It rejects with the AI SDK's
 * DownloadError.
 */
export function imageDownload(config: Pick<Config, "allowPrivateNetwork">, tenantId: string): DownloadFiles {
  const fetchGuarded = tenantFetch(config, tenantId);
  return (files) =>
    Promise.all(
      files.map(async ({ url, isUrlSupportedByModel }) => {
        if (isUrlSupportedByModel) return null;
        try {
          return await fetchImage(fetchGuarded, url);
        } catch (cause) {
          throw new DownloadError({ url: url.href, cause });
        }
      }),
    );
}

async function fetchImage(fetchGuarded: Fetch, url: URL): Promise<{ data: Uint8Array; mediaType: string | undefined }> {
  const response = await fetchGuarded(url, { signal: AbortSignal.timeout(imageWaitMs) });
  if (!response.ok) throw new Error(`The picture's server answered with status ${response.status}.`);
  const data = await readBounded(response.body, imageBytesMax);
  return { data, mediaType: response.headers.get("content-type")?.split(";")[0] ?? undefined };
}
