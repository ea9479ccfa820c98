/** One event of a model's stream has at most this many bytes, decoded. */
export const modelEventBytesMax = 1024 * 1024;
/** One response of a provider has at most this many bytes, decoded. */
export const modelResponseBytesMax = 64 * 1024 * 1024;
/** An answer that was asked for without a stream, which a summary of a transcript is, has at most this many bytes. */
export const modelWholeAnswerBytesMax = 1024 * 1024;
/** One model call lasts at most this long. */
export const modelCallMsMax = 30 * 60 * 1000;
/** Of the body of a provider's error this many bytes are read; the rest is dropped. */
export const modelErrorBytesMax = 64 * 1024;
