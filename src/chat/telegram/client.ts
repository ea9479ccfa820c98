import { Api, GrammyError, HttpError } from "grammy/web";
import { sentFields, textAt, wholeAt } from "../../kernel/outbound/sent-fields.ts";
import { type Endpoint, PlatformError } from "../platform.ts";
import { limited, networkFailure, platformFetch } from "../transport.ts";

/** The client's own limit, in seconds; the endpoint's signal ends a call earlier. */
const clientTimeoutSeconds = 60;

/** Runs one call of Telegram's Bot API, once. Rejects with `PlatformError`. */
export type CallTelegram = <T>(call: (api: Api) => Promise<T>) => Promise<T>;

/** Returns what calls Telegram's Bot API with a bot's token. */
export function telegramCaller(endpoint: Endpoint, botToken: string): CallTelegram {
  return async (call) => {
    // The token is part of the URL; with other characters it would be another path.
    if (!/^[A-Za-z0-9:_-]+$/.test(botToken)) throw new PlatformError("refused", "unauthorized");
    const api = new Api(botToken, {
      apiRoot: endpoint.url.replace(/\/+$/, ""),
      fetch: platformFetch(endpoint.signal) as typeof fetch,
      timeoutSeconds: clientTimeoutSeconds,
    });
    try {
      return await call(api);
    } catch (error) {
      throw telegramFailure(error);
    }
  };
}

function telegramFailure(error: unknown): PlatformError {
  if (error instanceof HttpError) return networkFailure(error.error);
  if (!(error instanceof GrammyError)) return networkFailure(error);
  const parameters = sentFields(error.parameters) ?? {};
  const description = textAt(error.description) ?? "";
  if (error.error_code === 429) return limited(numberAt(parameters.retry_after));
  const code = codeOf(description);
  const movedTo = wholeAt(parameters.migrate_to_chat_id);
  if (movedTo !== null) return new PlatformError("moved", code, null, String(movedTo));
  if (!(wholeAt(error.error_code) !== null && error.error_code < 500)) return new PlatformError("unsure", code);
  return new PlatformError(description.includes("can't parse entities") ? "unformatted" : "refused", code);
}

const numberAt = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** Returns "Forbidden: bot was blocked by the user" as `bot_was_blocked_by_the_user`; Telegram has no shorter codes. */
function codeOf(description: string): string {
  const words = description.replace(/^[A-Za-z ]+: /, "").toLowerCase();
  return (
    words
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replaceAll(/^_|_$/g, "")
      .slice(0, 64) || "refused"
  );
}
