import { DownloadError } from "ai";
import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import { readBounded } from "../../kernel/bounded-read.ts";
import type { Config } from "../../kernel/config.ts";
import { type Fetch, tenantFetch } from "../../kernel/outbound/fetch.ts";
import type { DownloadFiles } from "../../model/model-call-request.ts";
import { ModelBoundsError } from "../../providers/bounds-error.ts";

/** The size limit of a picture that a message gives as a URL. */
const imageBytesMax = 10 * 1024 * 1024;
/** The size limit of all pictures together that a turn fetches. */
const turnImageBytesMax = 50 * 1024 * 1024;
/** A turn fetches at most this many pictures at once. */
const imagesAtOnceMax = 4;
/** Fetching a picture takes at most this long. */
const imageWaitMs = 15_000;

interface FetchedImage {
  readonly data: Uint8Array;
  readonly mediaType: string | undefined;
}

/**
 * Returns the function that fetches pictures for providers that take no URLs, from public
 * addresses only: the URL comes from an end user. It is one turn's: it fetches each
 * picture once, however many steps the turn has, and stops when `signal` aborts. It
 * rejects with the AI SDK's DownloadError, whose cause is a `ModelBoundsError` when the
 * pictures are too large together.
 */
export function imageDownload(
  config: Pick<Config, "allowPrivateNetwork">,
  tenantId: string,
  signal: AbortSignal,
): DownloadFiles {
  const fetchGuarded = tenantFetch(config, tenantId);
  const slots = new SharedSlots(imagesAtOnceMax, imagesAtOnceMax);
  const fetched = new Map<string, Promise<FetchedImage>>();
  // The first failure fails the turn, so the others are not fetched any more.
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  let bytes = 0;

  const fetchOne = async (url: URL): Promise<FetchedImage> => {
    const image = await fetchImage(fetchGuarded, url, stop);
    bytes += image.data.byteLength;
    if (bytes > turnImageBytesMax) {
      const limit = `${turnImageBytesMax / 1024 / 1024} MiB`;
      throw new ModelBoundsError(`The pictures of the conversation are larger than ${limit} together.`);
    }
    return image;
  };
  const once = (url: URL): Promise<FetchedImage> => {
    const known = fetched.get(url.href);
    if (known !== undefined) return known;
    const image = slots
      .run("", stop, () => fetchOne(url))
      .catch((cause) => {
        failed.abort(cause);
        throw new DownloadError({ url: url.href, cause });
      });
    fetched.set(url.href, image);
    return image;
  };
  return (files) =>
    Promise.all(files.map(({ url, isUrlSupportedByModel }) => (isUrlSupportedByModel ? null : once(url))));
}

async function fetchImage(fetchGuarded: Fetch, url: URL, stop: AbortSignal): Promise<FetchedImage> {
  const response = await fetchGuarded(url, { signal: AbortSignal.any([stop, AbortSignal.timeout(imageWaitMs)]) });
  if (!response.ok) throw new Error(`The picture's server answered with status ${response.status}.`);
  const data = await readBounded(response.body, imageBytesMax);
  return { data, mediaType: response.headers.get("content-type")?.split(";")[0] ?? undefined };
}
