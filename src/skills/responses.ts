import { Type } from "@sinclair/typebox";
import { Component, component, example } from "../kernel/http/component.ts";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Failure, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on skills respond with, for the OpenAPI document. */

const File = Component("SkillFile", { path: example(Text, "SKILL.md"), sizeBytes: example(Type.Integer(), 640) });
const files = { files: Type.Array(File) };
const skill = {
  id: Id("skill"),
  name: example(Text, "refunds"),
  description: example(Text, "How refunds are decided and booked."),
  metadata: Metadata,
  ...times,
};
const ofAgent = { ...skill, tenantId: Id("tenant"), agentId: Id("agent") };
const ofLibrary = {
  ...skill,
  ownerKind: example(OneOf("platform", "tenant"), "tenant"),
  tenantId: Nullable(Id("tenant")),
  userId: example(Text, ""),
};

export const SkillListResponse = pageOf("SkillPage", Component("SkillSummary", ofAgent));
export const SkillResponse = Component("Skill", { ...ofAgent, ...files });
export const LibrarySkillListResponse = listOf(
  "LibrarySkillList",
  "skills",
  Component("LibrarySkillSummary", ofLibrary),
);
export const LibrarySkillResponse = Component("LibrarySkill", {
  ...ofLibrary,
  meta: example(Metadata, { name: "refunds", description: "How refunds are decided and booked." }),
  ...files,
});
export const SkillCopiesResponse = component(
  "SkillCopyList",
  Type.Array(
    component(
      "SkillCopy",
      Type.Union([
        Closed({ agentId: Id("agent"), status: Type.Literal("created"), skill: SkillResponse }),
        Closed({ agentId: Id("agent"), status: Type.Literal("failed"), error: Failure }),
      ]),
    ),
  ),
);
