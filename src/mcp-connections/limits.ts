/** Live validation of a connection, with all its requests, takes at most this long; less than a database transaction may. */
export const validateTimeoutMs = 6_000;
/** A turn waits this long for the tools of its MCP servers; a server that is slower than this costs its own tools only. */
export const toolsAtStartMs = 5_000;
/** Opening an MCP session takes at most this long. */
export const connectTimeoutMs = 5_000;
/** Listing a server's tools, one page, takes at most this long. */
export const listTimeoutMs = 5_000;
/** One tool call may run this long; tools that work for five minutes are common. */
export const callTimeoutMs = 10 * 60_000;
/** A message that expects no answer, and the end of a session, takes at most this long. */
export const noticeTimeoutMs = 5_000;
/** One request to an authorization server takes at most this long. */
export const grantTimeoutMs = 5_000;
/** Starting or finishing a sign-in, with all its requests, takes at most this long. */
export const signInTimeoutMs = 15_000;

/** One response of an MCP server may weigh this much. */
export const responseBytesMax = 8 * 1024 * 1024;
/** One response of an authorization server may weigh this much. */
export const oauthResponseBytesMax = 256 * 1024;
/** What a tool answers reaches the model up to this size. */
export const resultBytesMax = 256 * 1024;

/** A server's tool list has at most this many pages, */
export const toolPagesMax = 20;
/** and this many tools; what comes after is left out. */
export const toolsMax = 512;
/** A tool list is asked for again after this long. */
export const toolsFreshMs = 30_000;

/** A process keeps at most this many MCP sessions open, */
export const sessionsMax = 256;
/** each for at most this long after its last use. */
export const sessionIdleMs = 5 * 60_000;
/** Idle sessions are looked for this often. */
export const sessionSweepMs = 60_000;
/** An interrupted response is resumed at most this often, however soon the server wants it. */
export const resumePauseMs = 500;

/** A process that renews tokens has this long before another one may try. */
export const renewLeaseMs = 15_000;
/** A process waits this long for tokens that another one renews, */
export const renewWaitMs = 8_000;
/** and looks this often. */
export const renewLookMs = 100;

/** A link to sign in is good for this long, and so is the sign-in that it starts. */
export const signInMinutes = 10;
