import type { FileUIPart } from "ai";
import { isDraft, versionText } from "../api/versions.ts";
import { Button } from "../parts/button.tsx";
import { toastError } from "../parts/toasts.tsx";
import { usePlaygroundAddress } from "./address.ts";
import { AnswerDiff } from "./answer-diff.tsx";
import { Composer } from "./composer.tsx";
import { asMessage, lastAnswer, lastQuestion } from "./last-said.ts";
import { PastTalks } from "./past.tsx";
import type { TalkPhase } from "./phase.ts";
import { SavedQuestions } from "./saved-questions.tsx";
import { readMetadata } from "./session-fields.tsx";
import type { Talk } from "./talk.ts";
import { TalkView } from "./talk-view.tsx";
import { type PlayedColumn, useColumns } from "./use-columns.ts";
import { useDraft } from "./use-draft.ts";
import { Workbench } from "./workbench.tsx";

/** The one or two conversations with what is beside them, and the field for what is said to all of them. */
export function Conversations({ begun }: { readonly begun: number }) {
  const [{ agentId, columns, isComparing, metadata }, change] = usePlaygroundAddress();
  const shown = useColumns();
  const first = shown[0]?.talk;
  const { tried, askOnDraft } = useDraft(first);
  if (agentId === null || first === undefined) return null;
  const all = (act: (talk: Talk) => Promise<unknown>) => {
    for (const { talk } of shown) void act(talk).catch(toastError);
  };
  const is = (phase: TalkPhase) => shown.some((column) => column.phase === phase);
  function send(text: string, files: FileUIPart[]): boolean | Promise<boolean> {
    const said = { text, files };
    const asked = askOnDraft(said);
    if (asked === null) all((talk) => talk.chat.sendMessage(asMessage(said)));
    return asked ?? true;
  }
  function regenerate(): void {
    const question = lastQuestion(first?.chat.messages ?? []);
    const asked = question && askOnDraft(question);
    if (asked === null) all((talk) => talk.chat.regenerate());
  }
  const isMetadataWrong = first.sessionId === null && readMetadata(metadata) === null;
  const wrong = isMetadataWrong ? "The metadata is no object of JSON" : null;
  return (
    <div className="playground" data-columns={shown.length}>
      {!isComparing && (
        <PastTalks
          agentId={agentId}
          sessionId={columns[0]?.sessionId ?? null}
          onChoose={(session) => change({ session, version: null }, true)}
        />
      )}
      <Workbench agentId={agentId} tried={tried}>
        <SavedQuestions
          key={agentId}
          agentId={agentId}
          compared={isComparing ? [columns[0]?.version ?? null, columns[1]?.version ?? null] : null}
          lastAsked={() => lastQuestion(first.chat.messages)?.text ?? ""}
          onAsk={(question) => void send(question, [])}
        />
      </Workbench>
      <div className="columns">
        {shown.map((column, at) => (
          // biome-ignore lint/a11y/useSemanticElements: the two columns are a group each, not fields.
          <div key={column.session} role="group" aria-label={isComparing ? ["First", "Second"][at] : "Talk"}>
            {isComparing && <h2>{titleOf(column.talk.version)}</h2>}
            <TalkView
              key={column.talk.id}
              talk={column.talk}
              renew={column.renew}
              onPhase={column.onPhase}
              onFork={(forked) => change({ [column.session]: forked }, true)}
            />
          </div>
        ))}
      </div>
      {isComparing && <LastAnswers shown={shown} />}
      <Composer
        key={agentId}
        fresh={begun}
        hindrance={is("waiting") ? "Decide first, or stop the turn" : wrong}
        onSend={send}
      >
        {(is("running") || is("waiting")) && (
          <Button icon="stop" onClick={() => stop(shown)}>
            Stop
          </Button>
        )}
        {!is("running") && !is("waiting") && is("over") && (
          <Button icon="again" onClick={regenerate}>
            Regenerate
          </Button>
        )}
      </Composer>
    </div>
  );
}

function stop(shown: readonly PlayedColumn[]): void {
  for (const { talk, phase, renew } of shown)
    if (phase === "running") void talk.chat.stop();
    else if (phase === "waiting") void talk.cancel().then(renew, toastError);
}

/** In what the last answers of two conversations differ, once both are there. */
function LastAnswers({ shown }: { readonly shown: readonly PlayedColumn[] }) {
  const [one = "", other = ""] = shown.map(({ talk, phase }) =>
    phase === "over" ? lastAnswer(talk.chat.messages) : "",
  );
  if (one === "" || other === "") return null;
  return (
    <section className="last-answers" aria-label="What differs">
      <h2>What differs between the last answers</h2>
      <AnswerDiff answers={[one, other]} />
    </section>
  );
}

function titleOf(version: number | null): string {
  if (version === null) return "Latest version";
  return isDraft(version) ? `D${versionText(version).slice(1)}` : `Version ${version}`;
}
