/**
 * Limits and times that several files share, with the unit last in the name. A
 * slice's own limits are in its `schema.ts` or `limits.ts`.
 */

/** The most bytes of a JSON body. */
export const jsonBodyBytesMax = 8 * 1024 * 1024;
/** JSON nests at most this deep, so that no walk over it exhausts the stack. */
export const jsonDepthMax = 64;
/** A JSON body has at most this many values: texts, keys, numbers, words, objects and arrays. */
export const jsonValuesMax = 100_000;
/** A request whose body sends no byte for this long is given up. */
export const bodySilenceMsMax = 30_000;
/** A body that comes before it is known who sends it is waited for so long in all. */
export const strangeBodyMsMax = 10_000;
/** The body of a refused request, which is not read, is dropped as it comes; without a byte for this long, its connection is closed. */
export const unreadBodySilenceMsMax = 1_000;
/** An unread body is waited for this long in all; then its connection is closed. */
export const unreadBodyMsMax = 10_000;
/** The most bytes of a resource's metadata as JSON. */
export const metadataBytesMax = 64 * 1024;
/** A cursor has at most this many characters. */
export const cursorLengthMax = 1_024;

/** A request waits this long for a pooled connection or a statement, then 503. */
export const databaseWaitMs = 10_000;
/** `Retry-After` of a 503, in seconds. */
export const unavailableRetryAfterSeconds = 2;
/** A readiness probe gives each dependency this long. */
export const readinessTimeoutMs = 2_000;
/** Its response waits this long for each of them; one that takes longer counts as away. */
export const readinessWaitMs = 400;
/** A process that has had no Postgres for this long is not ready. */
export const readinessAwayMs = 30_000;
/** A stopping HTTP process still takes requests for this long: connections that are kept alive are answered once more, and balancers see that it is not ready. */
export const lastRequestsMs = 5_000;

/** A scrape of the metrics gives Postgres this long; then what Postgres knows is left out. */
export const scrapeTimeoutMs = 2_000;

/** An Idempotency-Key is remembered this long. */
export const idempotencyKeepHours = 24;
/** The key of a request whose process died is free for a repeat after this long; a living request renews it. */
export const idempotencyLeaseMs = 30_000;
/** A user id, the caller's label for whose something is, has at most this many characters. */
export const userIdLengthMax = 256;
/** An Idempotency-Key has at most this many characters. */
export const idempotencyKeyLengthMax = 255;

/** How often a comment is sent on a stream without events (the contract allows 15 s). */
export const streamPingMs = 10_000;
/** A stream that has nothing to say yet sends its first line after this long, and its headers with it. */
export const streamHeadMs = 100;
/** What a stream says of how long a reader waits before it reconnects. */
export const streamRetryMs = 500;
/** How often a follower asks Postgres about its turn, in case the end does not come through the relay. */
export const turnWatchMs = 1_000;
/** The same while the relay is away. */
export const turnWatchAwayMs = 100;
/** A process that runs a turn or waits for its end waits this long for a database that went away meanwhile. */
export const turnPatienceMs = 60_000;
/** The most bytes of one answer: its texts, and its tools' inputs and results. */
export const answerBytesMax = 16 * 1024 * 1024;
/** One answer comes in at most this many chunks, each of which costs about a hundred bytes beside its text. */
export const answerChunksMax = 500_000;
/** A turn reads at most this much of its session's transcript, as JSON, the newest messages. */
export const transcriptBytesMax = 32 * 1024 * 1024;
/** And this many parts of messages. A vendor's client converts all of them in one step, which for 100,000 calls takes 0.2 to 0.4 s. */
export const transcriptPartsMax = 40_000;
/** The transcripts of long sessions that a worker process caches take about this much memory. */
export const cachedTranscriptsBytesMax = 32 * 1024 * 1024;
/** Those of one tenant take at most this part of it. */
export const cachedTranscriptsTenantPart = 1 / 4;
/** A message counts for that as its JSON and this many bytes: what it takes as objects, as it is stored and as the model is sent it. */
export const cachedMessageBytes = 512;
/** A cached transcript that is not used for this long is dropped. */
export const cachedTranscriptMs = 60_000;
/** A turn makes at most this many model calls. */
export const modelCallsPerTurnMax = 50;
/** Models that an agent may name to be called where its own fails. */
export const fallbackModelsMax = 3;
/** A provider may say at most this many input tokens, and as many output tokens, of one model call; more counts as not said. */
export const callTokensMax = 2_147_483_647;
/** A turn makes at most this many of its tool calls at once; the others wait. */
export const toolCallsAtOnceMax = 8;
/** One step of a turn makes at most this many tool calls; each further one gets an error. */
export const toolCallsPerStepMax = 128;
/** The record of a turn's steps has at most this many tool calls, the first ones; later ones are not in it. */
export const recordedCallsMax = 1_000;
/** And at most this many failures of the model's calls, the first ones. */
export const recordedFailuresMax = 50;
/** A tool's name, and the id of a call, are kept in that record up to this many UTF-16 units: a provider chooses them. */
export const recordedNameLengthMax = 256;
/** The record of the tools that a turn's vendors were not offered has at most this many, the first ones. */
export const recordedToolsMax = 1_000;
/** A tenant has at most this many API keys where the operator set nothing else; the column `api_keys_max` of `tenants` begins with it. */
export const apiKeysDefault = 5;
/** For each slot of a worker that stays free, a tenant of weight 1 may hold this many (docs/workers.md, "Slots"). */
export const heldPerFree = 4;
/** This many turns of a tenant may be queued where the operator set nothing else; the column `queued_turns` of `tenants` begins with it. */
export const queuedTurnsDefault = 10_000;
/** This many turns of a session wait at once until the one before them has ended. */
export const lineTurnsMax = 100;
/** A turn whose worker lost its hold is run at most this often in one step; then it fails. Runs whose worker was stopped in order, or died, do not count. */
export const turnAttemptsMax = 3;
/** A turn whose worker died is run again this often; what has killed more workers than this fails. */
export const turnCrashesMax = 1;
/** A chat message or a run whose turn cannot be accepted for a reason that passes by itself (such as a merchant's provider that does not answer) is tried again after this long. */
export const passingPauseMs = 5_000;
/** After this long the turn is refused. */
export const passingMsMax = 10 * 60 * 1000;
/** One statement accepts at most this many turns, and this many characters of their messages. */
export const acceptGroupMax = 100;
export const acceptGroupCharsMax = 1024 * 1024;
/** The next turns to accept wait this long for the statement before theirs; then they are accepted in parallel to it. */
export const acceptPatienceMs = 50;
/** One statement claims at most this many turns: the transcripts of all of them come with it. */
export const claimGroupMax = 25;
/** One statement ends at most this many turns, with this many characters of their messages. */
export const endGroupMax = 100;
export const endGroupCharsMax = 1024 * 1024;
/** The next turns to end wait this long for the statement before theirs; then they are ended in parallel to it. */
export const endPatienceMs = 50;
/** While many turns come at once, those of the next statement are collected this long behind the one before. With 50 clients groups become half as large again, and Postgres computes a tenth less for each turn. */
export const groupPauseMs = 5;
/** A turn may run this long; a healthy one of 20 minutes is common, so the limit is far above. */
export const turnRunMsMax = 6 * 60 * 60 * 1000;

/** How often a worker process updates its row (its beat). */
export const workerBeatMs = 1_000;
/** A worker whose beat is this old and whose locks are gone is dead. */
export const workerDeadMs = 4_000;
/** A worker whose beat is this old is frozen: its connections are ended, locks and all. */
export const workerFrozenMs = 30_000;
/** How often the reaper scans. */
export const reapEveryMs = 1_500;
/** The reaper ends at most this many turns in one scan, so that a large backlog is worked off in steps. */
export const reapBatchRows = 500;
/** A queued turn whose job is gone gets a new one after this long. */
export const queuedTurnStaleMs = 5_000;
/** A worker tries this long to take a session's lock, in a slot that other turns could have; then the turn is parked. */
export const lockTryMs = 250;
/** A connection that is just ending holds its locks for so long at most. */
export const lockWaitMs = 2_000;

/** The input of a tool call that a model writes has at most this many bytes, counted as UTF-16 units, and nests at most this deep; the model is told of one that is larger. */
export const toolInputBytesMax = 1024 * 1024;
export const toolInputDepthMax = 256;
/** The inputs of an answer's tool calls have at most this many JSON values together, and so have their results: parsing 100,000 takes 5 to 30 ms. A call beyond it is not made, and a result beyond it is kept as text. */
export const answerValuesMax = 100_000;
/** An answer has at most this many parts: texts, thoughts, tool calls, files, sources and steps. */
export const answerPartsMax = 10_000;
/** The most bytes of a tool's result as JSON; a longer one is cut, with a note. */
export const toolResultBytesMax = 256 * 1024;
/** A picture or a sound that a tool returns has at most this many bytes; of a larger one the model and the reader get a note. */
export const toolFileBytesMax = 3 * 1024 * 1024;
/** All of those of a turn have at most this many bytes: a client that sends the answer back, with a decision on a call, has to fit it into a body (`jsonBodyBytesMax`) as base64. */
export const turnFilesBytesMax = 5 * 1024 * 1024;
/** A turn has at most this many of them. */
export const turnFilesMax = 20;
