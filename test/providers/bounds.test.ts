import { afterAll, describe, expect, test } from "bun:test";
import { constants, deflateRawSync } from "node:zlib";
import { boundedModelFetch } from "../../src/providers/bounds.ts";
import { findBoundsError } from "../../src/providers/bounds-error.ts";
import {
  modelErrorBytesMax,
  modelEventBytesMax,
  modelResponseBytesMax,
  modelWholeAnswerBytesMax,
} from "../../src/providers/limits.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { play, textOf } from "../harness/turns.ts";
import { type FloodAnswer, startFlood } from "../servers/flood.ts";

const MiB = 1024 * 1024;
/** What the buffers between a server and its client hold at most: those of the sockets and of both programs. */
const buffersMax = 16 * MiB;

function* endless(first: string | Uint8Array, piece: string | Uint8Array): Generator<string | Uint8Array> {
  yield first;
  for (;;) yield piece;
}

/** An event of a model's answer that has so many bytes up to the empty line. */
function eventOf(bytes: number, delta: object = { content: "" }): string {
  const event = (pad: string) => `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta }], pad })}\n`;
  return `${event("p".repeat(bytes - event("").length))}\n`;
}

const lastEvents = [
  `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content: "Fine." } }] })}\n\n`,
  `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`,
  "data: [DONE]\n\n",
];

/** 64 MiB of one line in 64 KiB, without an end, so that it can be repeated. */
const packed = deflateRawSync(Buffer.alloc(64 * MiB, "a"), { finishFlush: constants.Z_FULL_FLUSH });
const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);

const answers: Record<string, () => FloodAnswer> = {
  "an endless line": () => ({ pieces: endless('data: "', "a".repeat(65_536)) }),
  "an endless line that says it is JSON": () => ({
    headers: { "content-type": "application/json" },
    pieces: endless('{"a":"', "a".repeat(65_536)),
  }),
  "an endless event of short lines": () => ({ pieces: endless("", "data: a\n".repeat(8_192)) }),
  "small events without end": () => ({ pieces: endless("", eventOf(1_024).repeat(64)) }),
  "a gzip bomb": () => ({ headers: { "content-encoding": "gzip" }, pieces: endless(gzipHeader, packed) }),
  "an endless error": () => ({ status: 500, pieces: endless('{"error":{"message":"', "a".repeat(65_536)) }),
  "an error that is a gzip bomb": () => ({
    status: 500,
    headers: { "content-encoding": "gzip" },
    pieces: endless(gzipHeader, packed),
  }),
  "an event of 1 MiB - 1": () => ({ pieces: [eventOf(modelEventBytesMax - 1), ...lastEvents] }),
  "an event of 1 MiB + 1": () => ({ pieces: [eventOf(modelEventBytesMax + 1), ...lastEvents] }),
};

describe("a turn", async () => {
  const { h, t } = await useAgent({ worker: true });
  const flood = await startFlood((what) => (answers[what] as () => FloodAnswer)());
  afterAll(() => flood.stop());
  const provider = await t.call("POST", "/v1/providers", {
    body: { name: "flood", providerType: "custom", baseUrl: flood.url, apiKey: "sk-0123456789abcdef" },
  });
  const agentId = await makeAgent(h, t, { providerId: provider.body.id });
  const ask = (what: string) => {
    flood.flows.length = 0;
    return play(t, agentId, null, { message: userMessage(what) });
  };

  const event = /^An event of the model provider's answer is larger than 1 MiB\.$/;
  const failures: [what: string, error: RegExp, sentMax: number, requests: number][] = [
    ["an endless line", event, modelEventBytesMax, 1],
    ["an endless line that says it is JSON", event, modelEventBytesMax, 1],
    ["an endless event of short lines", event, modelEventBytesMax, 1],
    ["an event of 1 MiB + 1", event, modelEventBytesMax, 1],
    ["small events without end", /^The model provider's answer is larger than 64 MiB\.$/, modelResponseBytesMax, 1],
    ["a gzip bomb", /^The model provider's answer is compressed, which was not asked for\.$/, 0, 1],
    ["an endless error", /^The model provider answered with status 500\.$/, modelErrorBytesMax, 2],
    ["an error that is a gzip bomb", /^The model provider answered with status 500\.$/, modelErrorBytesMax, 2],
  ];
  test.each(failures)(
    "provider_error: %s; the turn fails, and the connection is closed",
    async (what, error, sentMax, requests) => {
      const played = await ask(what);
      expect(played.chunks.at(-1)).toEqual({ type: "error", errorText: expect.stringMatching(error) });
      await eventually(() => flood.flows.every(({ closed }) => closed));
      expect(flood.flows).toHaveLength(requests);
      for (const { written, acceptedEncoding } of flood.flows) {
        expect(acceptedEncoding).toBe("identity");
        expect(written).toBeLessThanOrEqual(sentMax + buffersMax);
      }
      const turns = await h.sql`select status, attempt, error->>'code' as code from turns where id = ${played.turnId}`;
      expect([...turns]).toEqual([{ status: "failed", attempt: 1, code: "provider_error" }]);
    },
  );

  test("an event of 1 MiB - 1 is read", async () => {
    expect(textOf((await ask("an event of 1 MiB - 1")).chunks)).toBe("Fine.");
  });
});

describe("boundedModelFetch", () => {
  /** Reads a response of these pieces; returns how many bytes came, and the bounds' error. */
  async function read(pieces: Iterable<string | Uint8Array>, body = '{"stream":true}', init: ResponseInit = {}) {
    const source = pieces[Symbol.iterator]();
    let isCanceled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = source.next();
        if (done) controller.close();
        else controller.enqueue(new Uint8Array(Buffer.from(value)));
      },
      cancel() {
        isCanceled = true;
      },
    });
    const fetch = boundedModelFetch(() => Promise.resolve(new Response(stream as unknown as BodyInit, init)), {
      idleMs: 60_000,
      tenantId: null,
      providerType: "custom",
    });
    let bytes = 0;
    try {
      const response = await fetch("http://model.test/", { method: "POST", body });
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.byteLength;
      return { bytes, isCanceled, error: null };
    } catch (error) {
      return { bytes, isCanceled, error: findBoundsError(error)?.message ?? "another error" };
    }
  }
  const tooLong = "An event of the model provider's answer is larger than 1 MiB.";

  test.each(["\n", "\r", "\r\n"])(
    "an event of 1 MiB passes, one byte more does not; lines end with %j",
    async (end) => {
      const line = (bytes: number) => `${"a".repeat(bytes - 1)}${end}`;
      const half = modelEventBytesMax / 2;
      const fits = [`${line(half)}${line(half)}`, end, line(half), `${line(half)}${end}`, end, line(half), end];
      expect(await read(fits)).toMatchObject({ error: null, isCanceled: false });
      expect(await read([...fits, line(half), line(half + 1), end])).toMatchObject({
        error: tooLong,
        isCanceled: true,
      });
    },
  );

  test("a stream may have 64 MiB, and not a byte more", async () => {
    const pieces = Array.from({ length: 64 }, () => Buffer.alloc(MiB, `${"a".repeat(1_023)}\n`));
    pieces[0]?.fill(" ", 0, MiB - 2);
    const spaced = pieces.flatMap((piece) => [piece.subarray(0, -2), "\n\n"]);
    expect(await read(spaced)).toMatchObject({ error: null, isCanceled: false });
    const over = await read([...spaced, "a", "b"]);
    expect(over).toMatchObject({ error: "The model provider's answer is larger than 64 MiB.", isCanceled: true });
    expect(modelResponseBytesMax).toBe(64 * MiB);
  });

  test("an answer that is asked for in one piece has at most 1 MiB and 100,000 values", async () => {
    const said = (content: string, more = "") =>
      `{"choices":[{"message":{"content":${JSON.stringify(content)}},"finish_reason":"stop"}]${more}}`;
    const whole = said("a".repeat(modelWholeAnswerBytesMax - said("").length));
    expect(await read([whole], "{}")).toMatchObject({ error: null, isCanceled: false });
    const larger = "The model provider's answer is larger than 1 MiB.";
    expect(await read([whole, " "], "{}")).toMatchObject({ error: larger });
    const values = said("a", `,"more":[${"[],".repeat(100_000)}[]]`);
    const error = "The model provider's answer has more than 100000 values, or nests too deep.";
    expect(await read([values], "{}")).toMatchObject({ error });
  });

  test("of an error's body 64 KiB are read", async () => {
    const status = { status: 500 };
    const whole = await read(["a".repeat(modelErrorBytesMax - 1)], "{}", status);
    expect(whole).toEqual({ bytes: modelErrorBytesMax - 1, error: null, isCanceled: false });
    const cut = await read(endless("", "a".repeat(1_000)), "{}", status);
    expect(cut).toEqual({ bytes: modelErrorBytesMax, error: null, isCanceled: true });
  });
});
