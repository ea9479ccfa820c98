import {
  jsonInA,
  type ShownContent,
  type ShownDocument,
  type ShownOperation,
  type ShownParameter,
} from "./document.ts";
import { type Html, html } from "./html.ts";
import { proseHtml } from "./prose.ts";
import { clientSample, curlSample } from "./samples.ts";
import { codeBlock, exampleBlock, fieldRow, fieldTable, typeHtml } from "./shape.ts";

/** What is the same for every operation, and said once: errors that each may respond with, and the header that chooses a form. */
const sharedCodes = new Set([
  "unauthorized",
  "subscription_required",
  "rate_limited",
  "internal",
  "service_unavailable",
]);
const sharedHeader = "API-Form";

/** An operation's part of the page: closed, one line; open, all that a caller needs. */
export function operationHtml(operation: ShownOperation, { components }: Pick<ShownDocument, "components">): Html {
  const { method, path, operationId, summary, description, parameters, requestBody } = operation;
  const client = clientSample(operation, components.schemas);
  const isSaid = description === `${summary}.`;
  return html`<details class="operation" id="${operationId}">
<summary><h3>${summary}</h3><span class="method ${method.toLowerCase()}">${method}</span><code class="path">${path}</code></summary>
<div class="operation-body">
${isSaid ? null : proseHtml(description)}${clientTokenNote(operation)}
${parameterTable(parameters.filter(({ name }) => name !== sharedHeader))}
${requestBody === undefined ? null : bodyHtml(requestBody.content, requestBody.required, components.schemas)}
<h4>With curl</h4>${codeBlock(curlSample(operation), "With curl")}
${client === null ? null : html`<h4>With the client</h4>${codeBlock(client, "With the client")}`}
<h4>Responses</h4>${successesHtml(operation)}
<h4>Errors</h4>${errorsHtml(operation)}
${inFormA(operation)}
</div></details>
`;
}

function clientTokenNote({ security = [] }: ShownOperation): Html | null {
  if (!security.some((scheme) => "clientToken" in scheme)) return null;
  const inQuery = security.some((scheme) => "clientTokenInQuery" in scheme) ? ", in the query too" : "";
  return html`<p>Takes <a href="#authentication">a client token</a>${inQuery}.</p>`;
}

function parameterTable(parameters: readonly ShownParameter[]): Html | null {
  if (parameters.length === 0) return null;
  const places = (["path", "query", "header"] as const).filter((place) =>
    parameters.some((field) => field.in === place),
  );
  const rows = places.map((place) => {
    const own = parameters.filter((field) => field.in === place);
    return html`<tbody><tr><th colspan="3" scope="rowgroup">${placeNames[place]}</th></tr>
${own.map(({ name, required, schema, description }) =>
  fieldRow({ name, isRequired: required, schema: description === undefined ? schema : { ...schema, description } }),
)}</tbody>`;
  });
  return html`<h4>Parameters</h4><table class="fields">
<thead><tr><th>Name</th><th>Type</th><th>What it is</th></tr></thead>${rows}</table>`;
}

const placeNames = { path: "In the path", query: "In the query", header: "Headers" } as const;

function bodyHtml(content: ShownContent, isRequired: boolean, schemas: ShownDocument["components"]["schemas"]): Html {
  const parts = Object.entries(content)
    .filter(([type]) => type !== jsonInA)
    .map(([type, { schema }]) => {
      const name = schema.$ref?.split("/").at(-1);
      const title = html`<p><code>${type}</code>${name === undefined ? null : html`: ${typeHtml(schema)}`}${isRequired ? null : ", may be left out"}.</p>`;
      const shape = name === undefined ? schema : (schemas[name] ?? {});
      return type === "application/octet-stream"
        ? html`<p><code>${type}</code>: the bytes of the file.</p>`
        : html`${title}${fieldTable(shape)}`;
    });
  return html`<h4>Body</h4>${parts}`;
}

function successesHtml({ responses }: ShownOperation): Html[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([status, { headers = {}, content }]) => {
      const named = Object.entries(headers).map(
        ([name, { description }]) => html`<li>Header <code>${name}</code>: ${description}</li>`,
      );
      const bodies = Object.entries(content ?? {}).filter(([type]) => type !== jsonInA);
      const shown = bodies.map(
        ([type, { schema, example }]) =>
          html`<li><code>${type}</code>: ${typeHtml(schema)}${example === undefined ? null : exampleBlock(example)}</li>`,
      );
      return html`<p><span class="status good">${status}</span>${bodies.length === 0 ? " No body." : null}</p>
<ul class="response">${named}${shown}</ul>`;
    });
}

/** The codes of a status in form B; those of form A have `(form A)` behind them. */
function codesOf(description: string, isInA: boolean): string[] {
  const all = [...description.matchAll(/`(\w+)`( \(form A\))?/g)];
  return all.filter((match) => (match[2] !== undefined) === isInA).map((match) => match[1] as string);
}

function errorsHtml({ responses }: ShownOperation): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => !status.startsWith("2"))
    .map(([status, { description }]) => ({
      status,
      codes: codesOf(description, false).filter((code) => !sharedCodes.has(code)),
    }))
    .filter(({ codes }) => codes.length > 0)
    .map(({ status, codes }) => {
      const links = codes.map(
        (code, at) => html`${at === 0 ? null : ", "}<a href="#error-${code}"><code>${code}</code></a>`,
      );
      return html`<li><span class="status bad">${status}</span> ${links}</li>
`;
    });
  return html`<ul class="errors">${rows}</ul><p class="faint">And <a href="#errors">those of every operation</a>.</p>`;
}

/** What differs in form A, closed: few need it. */
function inFormA(operation: ShownOperation): Html | null {
  const { requestBody, responses } = operation;
  const body = requestBody?.content[jsonInA];
  const shown = Object.values(responses).flatMap(({ content }) => content?.[jsonInA] ?? []);
  const codes = Object.entries(responses).flatMap(([status, { description }]) =>
    codesOf(description, true).map(
      (code) => html`<li><span class="status bad">${status}</span> <code>${code}</code></li>`,
    ),
  );
  if (body === undefined && shown.length === 0 && codes.length === 0) return null;
  return html`<details class="form-a"><summary>In form A</summary>
${body === undefined ? null : html`<p>Body: ${typeHtml(body.schema)}.</p>`}
${shown.map(({ schema }) => html`<p>Response: ${typeHtml(schema)}.</p>`)}
${codes.length === 0 ? null : html`<ul class="errors">${codes}</ul>`}</details>`;
}
