import { expect, test } from "bun:test";
import { WriteAllowance } from "../../src/workspaces/allowance.ts";
import { bashTool } from "../../src/workspaces/bash.ts";
import { editTool } from "../../src/workspaces/edit.ts";
import { turnWrittenBytesMax } from "../../src/workspaces/limits.ts";
import { useTenant } from "../harness/fixture.ts";
import { execute, failure, filesOf, newScope, upload } from "../harness/workspace-scope.ts";

const { h, t } = await useTenant();
const refusal = "One turn writes at most 512 MiB";

test("takes up to 512 MiB, and refuses what is beyond without counting it", () => {
  const allowance = new WriteAllowance();
  allowance.take(turnWrittenBytesMax - 5);
  expect(() => allowance.take(6)).toThrow(refusal);
  allowance.take(5);
  expect(() => allowance.take(1)).toThrow(refusal);
});

test("an edit and a command count the whole files that they write anew, and change nothing beyond", async () => {
  const scope = await newScope(h, t);
  await upload(t, scope, "a.txt", "0123456789");
  const allowance = new WriteAllowance();
  allowance.take(turnWrittenBytesMax - 30);
  const working = { ...scope, allowance };
  const edit = (oldText: string, newText: string) => execute(editTool(working), { path: "a.txt", oldText, newText });
  const bash = (command: string) => execute(bashTool(working), { command });
  expect(await edit("0", "x")).toMatchObject({ sizeBytes: 10 });
  expect(await bash("printf 0123456789 > b.txt")).toMatchObject({ exitCode: 0 });
  expect(await edit("1", "y")).toMatchObject({ sizeBytes: 10 });
  expect(await failure(edit("2", "z"))).toContain(refusal);
  expect(await failure(bash("printf 1 > b.txt"))).toContain(refusal);
  expect(await bash("cat a.txt")).toMatchObject({ stdout: "xy23456789" });
  expect(await filesOf(scope)).toEqual({ "a.txt": "xy23456789", "b.txt": "0123456789" });
});
