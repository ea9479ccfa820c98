import { type ReactNode, useMemo } from "react";
import { StatusBadge } from "../parts/badge.tsx";
import { ChangedLines } from "../parts/changed-lines.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { diffLines } from "../parts/line-diff.ts";
import { DecidedBy } from "./decided-by.tsx";
import { type CallPart, callName, callPreview, callStatus, todosOf } from "./parts-of.ts";

interface CallViewProps {
  readonly part: CallPart;
  readonly open: boolean;
  /** What waits for a person. */
  readonly children?: ReactNode;
}

/** A tool call in one line: its name, what it is about, and its state; unfolded what it was given and what it returned. */
export function CallView({ part, open, children }: CallViewProps) {
  const { text, status } = callStatus(part);
  return (
    // The key opens it anew when something begins to wait, and leaves what a person folded.
    <details className="call" open={open} key={String(open)}>
      <summary>
        <Icon name="tool" />
        <code>{callName(part)}</code>
        <span className="call-preview faint" dir="auto">
          {callPreview(part)}
        </span>
        <StatusBadge status={status} text={text} />
      </summary>
      <div className="call-body">
        <CallBody part={part} />
        {children}
      </div>
    </details>
  );
}

/** What a call was given and what it returned. */
export function CallBody({ part }: { readonly part: CallPart }) {
  const { input, output, errorText, approval } = part;
  const todos = todosOf(output) ?? todosOf(input);
  return (
    <>
      {todos === null ? (
        <>
          {input !== undefined && <CallInput tool={callName(part)} input={input} />}
          {output !== undefined && <CallOutput output={output} />}
        </>
      ) : (
        <Checklist todos={todos} />
      )}
      {errorText !== undefined && <JsonView label="Error" value={errorText} />}
      {approval?.approved !== undefined && !approval.isAutomatic && (
        <DecidedBy approvalId={approval.id} isApproved={approval.approved} reason={approval.reason} />
      )}
      {approval?.isAutomatic && approval.reason && <p className="hint">Reason: {approval.reason}</p>}
    </>
  );
}

interface FieldsOfInput {
  readonly command?: unknown;
  readonly content?: unknown;
  readonly oldText?: unknown;
  readonly newText?: unknown;
  readonly [field: string]: unknown;
}

interface CallInputProps {
  readonly tool: string;
  readonly input: unknown;
  /** Of a file that would be written: what it holds now, null where there is none; undefined where that is not known. */
  readonly present?: string | null | undefined;
}

/** What a tool is given: a command as one, a file and an edit as what goes and what comes, anything else as JSON. */
export function CallInput({ tool, input, present }: CallInputProps) {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return <JsonView label="Input" value={input} />;
  const { command, content, oldText: before, newText: after, ...rest } = input as FieldsOfInput;
  const path = Object.values(rest).find((value) => typeof value === "string") as string | undefined;
  const isRest = Object.keys(rest).length > (path === undefined ? 0 : 1);
  if (typeof command === "string" && Object.keys(rest).length === 0)
    return <CodeBlock label="Command" text={command} />;
  if (path === undefined || isRest) return <JsonView label="Input" value={input} />;
  if (typeof content === "string")
    return typeof present === "string" ? (
      <ChangeOfFile path={path} before={present} after={content} />
    ) : (
      <CodeBlock label={`${tool} ${path}${present === null ? ", a new file" : ""}`} text={content} />
    );
  if (typeof before === "string" && typeof after === "string")
    return <ChangeOfFile path={path} before={before} after={after} />;
  return <JsonView label="Input" value={input} />;
}

interface ChangeOfFileProps {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

function ChangeOfFile({ path, before, after }: ChangeOfFileProps) {
  const lines = useMemo(() => diffLines(before.split("\n"), after.split("\n")), [before, after]);
  return <ChangedLines label={`Change of ${path}`} changes={[{ field: path, lines }]} />;
}

/** What a command put out as a terminal shows it, anything else as JSON. */
function CallOutput({ output }: { readonly output: unknown }) {
  const { exitCode, stdout, stderr } = (output ?? {}) as { exitCode?: unknown; stdout?: unknown; stderr?: unknown };
  if (typeof exitCode !== "number" || typeof stdout !== "string" || typeof stderr !== "string")
    return <JsonView label="Output" value={output} />;
  return <JsonView label={`Output, exit code ${exitCode}`} value={`${stdout}${stderr}` || "(nothing)"} />;
}

const todoSigns: { readonly [status: string]: string } = { completed: "☑", in_progress: "◐", pending: "☐" };

function Checklist({ todos }: { readonly todos: NonNullable<ReturnType<typeof todosOf>> }) {
  return (
    <ul className="checklist">
      {todos.map(({ content, status }, at) => (
        <li key={at} data-status={status} dir="auto">
          <span aria-hidden="true">{todoSigns[status] ?? "☐"}</span> {content}
          <span className="unseen">, {status.replaceAll("_", " ")}</span>
        </li>
      ))}
    </ul>
  );
}
