import { describe, expect, test } from "bun:test";
import { missingCalls, refusedCalls, seccompFilter } from "../../../src/workspaces/bubblewrap/seccomp.ts";

const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const allow = 0x7fff0000;
const killed = 0x80000000;
const refused = (errno: number) => 0x50000 | errno;

/** What the kernel does with the filter: runs it over a call's number, architecture and first two arguments. */
function run(filter: Uint8Array, call: { nr: number; arch: number; args?: readonly number[] }): number {
  const view = new DataView(filter.buffer);
  const data = new Map([
    [0, call.nr],
    [4, call.arch],
    [16, call.args?.[0] ?? 0],
    [24, call.args?.[1] ?? 0],
  ]);
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    if (at * 8 >= filter.byteLength) throw new Error("The filter runs past its end.");
    const [code, ifTrue, ifFalse, value] = [
      view.getUint16(at * 8, true),
      view.getUint8(at * 8 + 2),
      view.getUint8(at * 8 + 3),
      view.getUint32(at * 8 + 4, true),
    ];
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = (data.get(value) as number) >>> 0;
    else if (code === 0x15) at += accumulator === value ? ifTrue : ifFalse;
    else if (code === 0x35) at += accumulator >= value ? ifTrue : ifFalse;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? ifTrue : ifFalse;
    else throw new Error(`There is no instruction ${code}.`);
  }
}

for (const [name, arch, place] of [
  ["x64", x64, 0],
  ["arm64", arm64, 1],
] as const) {
  describe(`the filter of system calls for ${name}`, () => {
    const filter = seccompFilter(name);
    const result = (nr: number, ...args: number[]) => run(filter, { nr, arch, args });
    const number = (x64Number: number, arm64Number: number) => (place === 0 ? x64Number : arm64Number);

    test("refuses what is shut, and hides what programs have another way for", () => {
      for (const call of Object.values(refusedCalls))
        if (call[place] !== null) expect(result(call[place])).toBe(refused(1));
      for (const call of Object.values(missingCalls)) expect(result(call[place])).toBe(refused(38));
    });

    test("lets usual calls through", () => {
      const usual = [
        [0, 63],
        [1, 64],
        [257, 56],
        [59, 221],
        [9, 222],
        [202, 98],
        [318, 278],
        [62, 129],
        [439, 439],
      ] as const;
      for (const [x64Number, arm64Number] of usual) expect(result(number(x64Number, arm64Number))).toBe(allow);
    });

    test("looks at the flags of clone, the family of a socket and the request of an ioctl", () => {
      const clone = number(56, 220);
      expect(result(clone, 0x1200011)).toBe(allow);
      for (const flag of [0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80])
        expect([flag, result(clone, flag | 17)]).toEqual([flag, refused(1)]);
      const socket = number(41, 198);
      for (const family of [1, 2, 10, 16]) expect(result(socket, family)).toBe(allow);
      for (const family of [0, 3, 17, 29, 31, 38, 40, 44, 45, 0xffffffff])
        expect([family, result(socket, family)]).toEqual([family, refused(97)]);
      const ioctl = number(16, 29);
      expect(result(ioctl, 0, 0x5401)).toBe(allow);
      for (const request of [0x5412, 0x541c]) expect(result(ioctl, 0, request)).toBe(refused(1));
    });

    test("kills another architecture's calls, and has no calls that are not known", () => {
      for (const other of [0x40000003, 0x40000028, place === 0 ? arm64 : x64])
        expect(run(filter, { nr: 1, arch: other })).toBe(killed);
      for (const nr of [470, 1_000, 0x40000001, 0xffffffff]) expect(result(nr)).toBe(refused(38));
    });
  });
}
