import {
  APICallError,
  DownloadError,
  InvalidPromptError,
  InvalidResponseDataError,
  LoadAPIKeyError,
  RetryError,
  UnsupportedFunctionalityError,
} from "ai";
import { isUnchecked } from "../kernel/json-schema.ts";
import { findBoundsError } from "../providers/bounds-error.ts";
import { EndedWrongError } from "./ended-wrong.ts";
import { AnswerMisfitError } from "./response-format.ts";

/**
 * Returns the message about a failed model call that readers may see: with the status,
 * but never with the provider's own text, which has been seen to quote keys and prompts.
 */
export function describeModelError(error: unknown): string {
  const cause = RetryError.isInstance(error) ? error.lastError : error;
  const beyond = findBoundsError(cause);
  if (beyond !== null) return beyond.message;
  if (cause instanceof AnswerMisfitError || cause instanceof EndedWrongError) return cause.message;
  if (isUnchecked(cause)) return "The model's answer could not be checked against its schema in time.";
  if (DownloadError.isInstance(cause)) return "A picture of the message cannot be fetched.";
  if (InvalidResponseDataError.isInstance(cause)) return brokenOff;
  const call = findCallError(cause);
  if (call === null) return "The model provider failed.";
  if (call.statusCode === undefined) return "The model provider cannot be reached.";
  return call.statusCode < 400 ? brokenOff : `The model provider answered with status ${call.statusCode}.`;
}

const brokenOff = "The model provider's answer broke off.";

const failuresOfPrompt = [DownloadError, InvalidPromptError, LoadAPIKeyError, UnsupportedFunctionalityError];

/** Returns whether a call failed by what is asked, before anything was sent: another model would not answer that either. */
export function failsBeforeSending(error: unknown): boolean {
  return failuresOfPrompt.some((kind) => kind.isInstance(error));
}

/** Returns the failed request in an error, or null; the gateway's client wraps it, and so do tries that were repeated. */
export function findCallError(error: unknown): APICallError | null {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < 5; depth++) {
    if (APICallError.isInstance(link)) return link;
    link = RetryError.isInstance(link) ? link.lastError : link.cause;
  }
  return null;
}
