import { Type } from "@sinclair/typebox";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Failure, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schemas of operations on skills, for the OpenAPI document. */

const File = Closed({ path: Text, sizeBytes: Type.Integer() });
const files = { files: Type.Array(File) };
const skill = { id: Id("skill"), name: Text, description: Text, metadata: Metadata, ...times };
const ofAgent = { ...skill, tenantId: Id("tenant"), agentId: Id("agent") };
const ofLibrary = {
  ...skill,
  ownerKind: OneOf("platform", "tenant"),
  tenantId: Nullable(Id("tenant")),
  userId: Text,
};

export const SkillListResponse = pageOf(Closed(ofAgent));
export const SkillResponse = Closed({ ...ofAgent, ...files });
export const LibrarySkillListResponse = listOf("skills", Closed(ofLibrary));
export const LibrarySkillResponse = Closed({ ...ofLibrary, meta: Metadata, ...files });
export const SkillCopiesResponse = Type.Array(
  Type.Union([
    Closed({ agentId: Id("agent"), status: Type.Literal("created"), skill: SkillResponse }),
    Closed({ agentId: Id("agent"), status: Type.Literal("failed"), error: Failure }),
  ]),
);
