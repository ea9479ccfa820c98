import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { Component, example } from "../kernel/http/component.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Characters } from "../kernel/http/request-fields.ts";
import { Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { isBlank } from "../messages/blank.ts";

/** Questions that are kept of an agent. */
const questionsMax = 20;
/** A question has at most this many characters. */
const questionCharactersMax = 4_000;

const Question = example(Characters({ min: 1, max: questionCharactersMax }), "Where is my parcel?");
const SavedQuestionsUpdate = Component("SavedQuestionsUpdate", {
  questions: Type.Array(Question, { maxItems: questionsMax }),
});
const SavedQuestionsResponse = Component("SavedQuestions", {
  questions: example(Type.Array(Text), ["Where is my parcel?"]),
});

const params = pathIds({ agentId: Id("agent") });

/** Questions that a team asks an agent again and again: `/v1/agents/:agentId/saved-questions`. They are no part of its versions. */
export function savedQuestionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/saved-questions" })
    .get(
      "",
      operation(ctx, {
        id: "agents.getSavedQuestions",
        role: "reader",
        summary: "Read the questions that are kept with an agent",
        params,
        success: 200,
        response: SavedQuestionsResponse,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { agentId } }) => readQuestions(sql, tenantId, agentId),
      }),
    )
    .put(
      "",
      operation(ctx, {
        id: "agents.replaceSavedQuestions",
        role: "editor",
        stores: "body",
        audit: "agent.update_saved_questions",
        summary: "Replace the questions that are kept with an agent",
        description:
          "What a team asks again and again, to try an agent or to compare two of its versions. They make no new version, and no model is told of them.",
        params,
        body: SavedQuestionsUpdate,
        success: 200,
        response: SavedQuestionsResponse,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { agentId }, body }) => {
          const blank = body.questions.findIndex(isBlank);
          if (blank >= 0) throw invalid(`/questions/${blank}`, "must have a text that is not blank");
          return commit(async (inner, note) => {
            note.resourceId = agentId;
            note.before = await readQuestions(inner, tenantId, agentId, true);
            note.after = await replaceQuestions(inner, agentId, body.questions);
            return note.after;
          });
        },
      }),
    );
}

interface SavedQuestions {
  readonly questions: readonly string[];
}

/** Reads them, and where it is said keeps others from changing them until the transaction ends. Throws 404. */
async function readQuestions(sql: AnySql, tenantId: string, agentId: string, locks = false): Promise<SavedQuestions> {
  const [row] = await sql<SavedQuestions[]>`
    select saved_questions as questions from agents where id = ${agentId} and tenant_id = ${tenantId}
    ${locks ? sql`for no key update` : sql``}`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

async function replaceQuestions(inner: Tx, agentId: string, questions: readonly string[]): Promise<SavedQuestions> {
  await inner`update agents set saved_questions = ${json(inner, questions)} where id = ${agentId}`;
  return { questions };
}
