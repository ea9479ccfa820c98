import fc from "fast-check";

/** Values that have broken services before: of the wrong kind, at the edges, too long, too deep, or misread by a layer below. */

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

const hostileTexts: readonly string[] = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00x",
  "\u202e",
  "😀".repeat(81),
  "x".repeat(81),
  "x".repeat(10_241),
  "\r\ndata: [DONE]\r\n\r\n",
  "'; drop table tenants; --",
  "{{x}}{{",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "/",
  "null",
  "NaN",
  "-1",
  "0",
  "1e309",
  "9007199254740993",
  "2147483648",
  "0x10",
  "true",
  "2026-02-30",
  "2026-02-30T00:00:00Z",
  "0000-01-01",
  "+275760-09-13",
  "9999-12-31T23:59:59.999999999+23:59",
  "a,b",
  "failed,failed",
  "http://127.0.0.1:9/",
  "http://[::1]:9/",
  "ftp://127.0.0.1/",
  "javascript:alert(1)",
  "data:image/png;base64,AAAA",
  "* * * * *",
  "Europe/Berlin",
  "bm9uZQ",
  Buffer.from('["agents","x","y"]').toString("base64url"),
];

const hostileNumbers: readonly number[] = [
  0,
  -0,
  -1,
  0.5,
  1e21,
  -1e308,
  2 ** 31,
  2 ** 31 - 1,
  2 ** 53,
  2 ** 63,
  59_999,
];

/** Any JSON value that somebody hostile, or a broken client, may send. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...hostileTexts),
  fc.constantFrom<unknown>(...hostileNumbers),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { "": "" }, { "\0": 1 }, { toString: 1 }),
  fc.constantFrom<unknown>(
    nested(63),
    nested(70),
    Array.from({ length: 2_001 }, () => "x"),
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
);

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: "binary", maxLength: 20 }),
);
