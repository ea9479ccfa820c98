import type { Sql } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { commitOutcome } from "../../src/sessions/end/commit.ts";
import { endTurn } from "../../src/sessions/end/end.ts";
import { outcomeOf } from "../../src/sessions/end/outcome.ts";
import type { ClaimedTurn } from "../../src/sessions/state/claimed-turn.ts";
import type { TurnStatus } from "../../src/sessions/state/turn.ts";
import { noUsage, type TurnOutcome, type TurnUsage } from "../../src/sessions/state/turn-end.ts";
import { noCost, noTokens } from "../../src/usage/tokens.ts";
import { everyChoice, type Scene } from "./scene.ts";

const question: UiMessage = { id: "question", role: "user", parts: [{ type: "text", text: "Hello" }] };
const answer: UiMessage = { id: "answer", role: "assistant", parts: [{ type: "text", text: "Hello!" }] };
const error = { code: "provider_error", message: "The model failed." };
const used: TurnUsage = {
  ...noUsage,
  provider: "provider",
  providerType: "llm_vendor_a",
  model: "model",
  inputTokens: 1,
  outputTokens: 1,
  modelCalls: 1,
};
const usedOther: TurnUsage = {
  ...used,
  others: [
    {
      ...noTokens,
      ...noCost,
      provider: null,
      providerType: null,
      model: "other",
      inputTokens: 1,
      outputTokens: 1,
      estimated: false,
    },
  ],
};

const call = { id: newId("approval"), toolCallId: "call", tool: "tool", input: {} };

/** What kind of turn a claim is of. */
interface Kind {
  readonly kind: ClaimedTurn["kind"];
  readonly continues: boolean;
  readonly regenerates: boolean;
}

function blank(usage: TurnUsage): TurnOutcome {
  const reached = { message: null };
  const turn = { sessionId: null, continuationId: null, keepSeq: null, input: null };
  return outcomeOf(turn, { why: "refused", reached, usage });
}

/** What a claim reached: the outcomes that `end/outcome.ts` makes. */
function outcomesOf({ kind, continues, regenerates }: Kind): { title: string; outcome: Partial<TurnOutcome> }[] {
  const inSession = kind !== "generate";
  const extends_ = continues && !regenerates;
  const whole = !inSession
    ? { answer }
    : extends_
      ? { replaced: answer, preview: "Hello!" }
      : { messages: regenerates ? [answer] : [question, answer], preview: "Hello!" };
  const asks = {
    status: "waiting" as const,
    continuationId: newId("continuation"),
    ...(regenerates ? { answer } : whole),
  };
  const asked = [
    { title: "stops to ask a person", outcome: { ...asks, approvals: [call] } },
    { title: "stops to ask for a client tool's result", outcome: { ...asks, clientCalls: [call] } },
  ];
  const good = [
    { title: "succeeded", outcome: { status: "succeeded" as const, ...whole } },
    ...(inSession ? asked : []),
  ];
  const bad = [
    { title: "failed", outcome: { status: "failed" as const, error } },
    { title: "canceled", outcome: { status: "canceled" as const, preview: continues ? "" : null } },
  ];
  const kept = !inSession
    ? []
    : [
        { title: "failed, and is kept", outcome: { status: "failed" as const, error, ...whole } },
        { title: "canceled, and is kept", outcome: { status: "canceled" as const, ...whole } },
        // The question alone.
        ...(extends_ || regenerates
          ? []
          : [
              {
                title: "canceled before it answered, and is kept",
                outcome: { status: "canceled" as const, messages: [question], preview: "Hello" },
              },
            ]),
      ];
  return [...good, ...bad, ...kept];
}

const nouns = {
  session: "a turn of a session",
  generate: "a stateless generation",
  task: "a task's run",
  chat: "a chat's turn",
};

/** How each claim ends that its worker ends. */
function claimedScenes(): Scene[] {
  const kinds: Kind[] = [
    { kind: "generate", continues: false, regenerates: false },
    ...everyChoice<Kind>({ kind: ["session", "task", "chat"], continues: [false, true], regenerates: [false, true] }),
  ];
  const choices = everyChoice({
    kind: kinds,
    hasFallbacks: [false, true],
    usage: [used, noUsage, usedOther],
    toolsLeftOut: [[], [{ tool: "tool", reason: "too long" }]],
  }).filter(({ hasFallbacks, usage }) => hasFallbacks || usage !== usedOther);
  return choices.flatMap(({ kind, hasFallbacks, usage, toolsLeftOut }) =>
    outcomesOf(kind).map(({ title, outcome }) => {
      const turn = { ...claimOf(kind), hasFallbacks };
      const whole = {
        ...blank(usage),
        ...outcome,
        relayEvents: 3,
        record: { steps: [], firstTextAt: null, toolsLeftOut },
      };
      const isUsual = !hasFallbacks && usage === used && toolsLeftOut.length === 0;
      return {
        title: isUsual && !kind.continues && !kind.regenerates ? `${nouns[kind.kind]}: ${title}` : null,
        run: (sql: Sql) => commitOutcome(sql, turn, whole),
      };
    }),
  );
}

/** How plain claims end together. */
function togetherScenes(): Scene[] {
  return [used, noUsage].map((usage) => ({
    title: usage === used ? "several turns of sessions at once" : null,
    run: (sql: Sql) =>
      Promise.all(
        [1, 2, 3].map(() => {
          const turn = claimOf({ kind: "session", continues: false, regenerates: false });
          const outcome: TurnOutcome = {
            ...blank(usage),
            status: "succeeded",
            messages: [question, answer],
            preview: "Hello!",
            relayEvents: 3,
            record: { steps: [], firstTextAt: null, toolsLeftOut: [] },
          };
          return commitOutcome(sql, turn, outcome);
        }),
      ),
  }));
}

/** How a turn ends that no worker has. */
function unclaimedScenes(): Scene[] {
  const states: TurnStatus[][] = [
    ["enqueued"],
    ["queued"],
    ["waiting"],
    ["enqueued", "queued", "waiting"],
    ["running"],
  ];
  const kinds = everyChoice<Kind>({
    kind: ["session", "generate"],
    continues: [false, true],
    regenerates: [false, true],
  });
  const choices = everyChoice({ statuses: states, kind: kinds, usage: [noUsage, used], usageKnown: [true, false] });
  return choices.flatMap(({ statuses, kind, usage, usageKnown }) =>
    outcomesOf(kind)
      .filter(({ outcome: { status } }) => status === "failed" || status === "canceled")
      .map(({ title, outcome }) => {
        const whole = { ...blank(usage), ...outcome, usageKnown, relayEvents: 2 };
        const isUsual =
          kind.kind === "session" && !kind.regenerates && !kind.continues && usage === noUsage && usageKnown;
        return {
          title:
            isUsual && statuses.length === 3 ? `a turn that no worker has, ${statuses.join(" or ")}: ${title}` : null,
          run: (sql: Sql) => endTurn(sql, { turnId: newId("turn"), attempt: 1, statuses }, whole),
        };
      }),
  );
}

function claimOf({ kind, continues, regenerates }: Kind): ClaimedTurn {
  return {
    id: newId("turn"),
    tenantId: newId("tenant"),
    agentId: newId("agent"),
    sessionId: kind === "generate" ? null : newId("session"),
    kind,
    continuationId: continues ? newId("continuation") : null,
    keepSeq: regenerates ? 1 : null,
    hasFallbacks: false,
    attempt: 1,
  } as unknown as ClaimedTurn;
}

/** Every way in which a claim, or a turn that has none, ends or stops to ask. */
export const endingScenes: readonly Scene[] = [...claimedScenes(), ...togetherScenes(), ...unclaimedScenes()];
