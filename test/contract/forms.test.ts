import { afterAll, describe, expect, test } from "bun:test";
import { formRoundtrips, playRoundtrip } from "./form-roundtrips.ts";
import { Scene } from "./scene.ts";
import { useWorld } from "./world.ts";

let compared = 0;
const w = await useWorld();
const s = await Scene.open(w);
afterAll(() => {
  process.stdout.write(
    `contract: ${compared} of ${2 * formRoundtrips.length} formRoundtrips: written in one form, read in both\n`,
  );
});

/** Fields that the forms spell differently (docs/forms.md, "Fields"), or that pass with time. */
const spelledDifferently = ["tools", "id", "avatarUrl"];

/** The fields that both have. */
function common(one: Record<string, unknown>, other: Record<string, unknown>) {
  const names = Object.keys(one).filter((name) => name in other && !spelledDifferently.includes(name));
  const pick = (fields: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, fields[name]]));
  return [pick(one), pick(other)] as const;
}

/** An id without its prefix, which a workspace and a sandbox do not share. */
const bodyOf = (id: unknown) => (typeof id === "string" ? id.split("_").at(-1) : id);

describe("what is written in one form is read in both", () => {
  for (const roundtrip of formRoundtrips)
    for (const form of ["a", "b"] as const)
      test(`${roundtrip.what}, written in form ${form}`, async () => {
        const { written, a, b } = await playRoundtrip(s, roundtrip, form);
        expect([written.status < 300, a.status, b.status]).toEqual([true, 200, 200]);
        const [inA, inB] = common(a.resource, b.resource);
        expect(Object.keys(inA).length).toBeGreaterThan(1);
        expect(inA).toEqual(inB);
        expect(bodyOf(a.resource.id)).toEqual(bodyOf(b.resource.id));
        const same = form === "a" ? a.resource : b.resource;
        const [then, now] = common(written.resource, same);
        expect({ ...then, updatedAt: now.updatedAt }).toEqual({ ...now, updatedAt: now.updatedAt });
        expect([same.tools, same.id]).toEqual([written.resource.tools ?? same.tools, written.resource.id ?? same.id]);
        compared += 1;
      });
});
