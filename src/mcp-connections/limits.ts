/** Validating a connection at its server, with all requests, takes at most this long; less than a database transaction may. */
export const validateTimeoutMs = 6_000;
/** A turn waits this long for the tools of its MCP servers; of a slower server, it goes without the tools. */
export const toolsAtStartMs = 5_000;
/** Opening an MCP session takes at most this long. */
export const connectTimeoutMs = 5_000;
/** Listing a server's tools, all pages together, takes at most this long; for a turn no longer than the turn waits. */
export const listTimeoutMs = 5_000;
/** A tool's call of which nothing is heard for this long is given up; tools that run for five minutes are common. Progress is something heard. */
export const callSilenceMs = 10 * 60_000;
/** One call lasts at most this long, whatever is heard of it; a server is asked to keep a task for twice as long. */
export const callMsMax = 60 * 60_000;
/** A task is asked for as often as its server says, and no more often than this. */
export const taskPollMsMin = 200;
/** However long a pause a server asks for, a task is asked for this often. */
export const taskPollMsMax = 30_000;
/** A task whose server says nothing of it is asked for this often. */
export const taskPollMsDefault = 1_000;
/** One request about a task takes at most this long, but for that for its result. */
export const taskRequestMs = 30_000;
/** This many requests about a task may fail one after another because the server is out of reach; then the call fails. */
export const taskFailuresMax = 5;
/** A job looks this often whether the turn whose call became a task still runs. */
export const taskWatchMs = 60_000;
/** The longest id of a task that such a job takes. */
export const taskIdCharactersMax = 1_000;
/** A message that expects no response, and the end of a session, take at most this long. */
export const noticeTimeoutMs = 5_000;
/** One request to an authorization server takes at most this long. */
export const grantTimeoutMs = 5_000;
/** Starting or finishing a sign-in, with all its requests, takes at most this long. */
export const signInTimeoutMs = 15_000;

/** One response of an MCP server has at most this many bytes; of a stream of events, one line of it. */
export const responseBytesMax = 8 * 1024 * 1024;
/** A stream of events has at most this many bytes in all: an hour of progress is in it. */
export const streamBytesMax = 64 * 1024 * 1024;
/** So is one of more events than this: 138 a second for an hour. Each takes 4 µs, of which 64 MiB hold millions. */
export const streamEventsMax = 500_000;
/** Of the body of a refusal this many bytes are looked at. */
export const refusalBytesMax = 64 * 1024;
/** One response of an authorization server has at most this many bytes. */
export const oauthResponseBytesMax = 256 * 1024;
/** The model gets at most this many bytes of a tool's result. */
export const resultBytesMax = 256 * 1024;

/** A server's tool list has at most this many pages; the rest is left out. */
export const toolPagesMax = 20;
/** A server's tool list has at most this many tools, and as many that are left out. */
export const toolsMax = 512;
/** A server's tool list has at most this many bytes as JSON, all pages together; the rest is left out. */
export const toolListBytesMax = 8 * 1024 * 1024;
/** A tool's name has at most this many characters; the protocol suggests 128. */
export const toolNameLengthMax = 256;
/** A process keeps tool lists of this many bytes in all; beyond that the least recently used are read again when they are needed. */
export const toolListsBytesMax = 64 * 1024 * 1024;
/** A tool list is used for this long, then read again. */
export const toolsFreshMs = 30_000;

/** A process keeps at most this many MCP sessions open. */
export const sessionsMax = 256;
/** An MCP session is kept open for at most this long after its last use. */
export const sessionIdleMs = 5 * 60_000;
/** Idle sessions are closed in scans this far apart. */
export const sessionSweepMs = 60_000;
/** At least this long passes between two resumptions of interrupted responses, whatever pause the server suggests. */
export const resumePauseMs = 500;

/** A process that renews tokens has this long before another process may try. */
export const renewLeaseMs = 15_000;
/** A process waits this long for tokens that another process renews. */
export const renewWaitMs = 8_000;
/** A process that waits for tokens looks for them this often. */
export const renewPollMs = 100;

/** A link to sign in is valid for this long, and so is the sign-in that it starts. */
export const signInMinutes = 10;
/** The button of a link is pressed at most this often: each press asks the servers of the connection, and may register a client. */
export const linkPressesMax = 10;
