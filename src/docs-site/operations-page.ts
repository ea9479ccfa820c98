import { GiveWay } from "../kernel/async/give-way.ts";
import { operationsOf, type ShownDocument, type ShownOperation, titleOf } from "./document.ts";
import { errorCodesTable } from "./error-codes.ts";
import { framed } from "./frame.ts";
import { type Html, html } from "./html.ts";
import { operationHtml } from "./operation.ts";
import { proseHtml } from "./prose.ts";
import { codeBlock, exampleBlock, fieldTable } from "./shape.ts";

/** The page of operations, of the service's own OpenAPI document. It is whole without a script. */
export async function operationsPage(document: ShownDocument): Promise<string> {
  const { info, tags } = document;
  const operations = operationsOf(document);
  const { opening, sections } = describedSections(document, operations);
  const groups: Section[] = [];
  // When it is made first, all of it takes 0.1 s.
  const way = new GiveWay();
  for (const { name, description } of tags) {
    const below = operations.filter((operation) => operation.tags.includes(name));
    const shown: Html[] = [];
    for (const operation of below) {
      shown.push(operationHtml(operation, document));
      await way.next();
    }
    groups.push({ id: name, title: titleOf(name), body: html`<p>${description}</p>\n${shown}`, below });
  }
  // Few need form A: what tells the forms apart comes last.
  const early = sections.filter(({ id }) => id !== "forms");
  const late = sections.filter(({ id }) => id === "forms");
  const all = [...early, ...groups, shapesSection(document), ...late];
  const main = html`<h1>Operations</h1>
${proseHtml(opening)}
<p>Version ${info.version}. For programs: <a href="/openapi.json">/openapi.json</a>.</p>
${all.map(({ id, title, body }) => html`<section id="${id}"><h2>${title}</h2>${body}</section>\n`)}`;
  return framed({ title: "Operations", place: "operations", contents: html`<ul>${all.map(contentsEntry)}</ul>`, main });
}

interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
  /** The operations in it. */
  readonly below?: readonly ShownOperation[];
}

function contentsEntry({ id, title, below }: Section): Html {
  if (below === undefined) return html`<li><a href="#${id}">${title}</a></li>\n`;
  const entries = below.map(({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>\n`);
  return html`<li><details><summary>${title}</summary><ul>${entries}</ul></details></li>\n`;
}

/** The document's description: each paragraph that begins with a bold word is a section; that of the credentials is the first. */
function describedSections(document: ShownDocument, operations: readonly ShownOperation[]) {
  const paragraphs = document.info.description.split("\n\n");
  const sections = paragraphs.flatMap((paragraph): Section[] => {
    const [, word, text] = /^\*\*(\w+)\.\*\* ([\s\S]*)$/.exec(paragraph) ?? [];
    if (word === undefined || text === undefined) return [];
    const body = proseHtml(text);
    switch (word) {
      case "Credentials":
        return [{ id: "authentication", title: "Authentication", body: html`${body}${credentialSamples(document)}` }];
      case "Errors":
        return [{ id: "errors", title: word, body: html`${body}${errorCodesTable(operations)}` }];
      default:
        return [{ id: word.toLowerCase(), title: word, body }];
    }
  });
  return { opening: paragraphs[0] ?? "", sections };
}

function shapesSection({ components }: ShownDocument): Section {
  const shapes = Object.entries(components.schemas).map(
    ([name, schema]) => html`<details class="shape" id="shape-${name}"><summary><h3>${name}</h3></summary>
${schema.description === undefined ? null : html`<p>${schema.description}</p>`}${fieldTable(schema)}${schema.examples?.map(exampleBlock) ?? null}</details>
`,
  );
  return { id: "shapes", title: "Shapes", body: html`<p>Bodies and parts of them that have a name.</p>\n${shapes}` };
}

function credentialSamples({ servers }: ShownDocument): Html {
  const url = servers[0]?.url ?? "";
  const shell = `export PARLEY_URL=${url}
export PARLEY_API_KEY=parley_…   # what \`npm start\` prints, or a key that the console made
curl "$PARLEY_URL/v1/agents" -H "Authorization: Bearer $PARLEY_API_KEY"`;
  const client = `import { Parley } from "@parley-runtime/client";

const parley = new Parley({ baseUrl: ${JSON.stringify(url)}, apiKey: "parley_…" });`;
  return html`<h3>With curl</h3>${codeBlock(shell, "With curl")}
<h3>With the client</h3><p>In TypeScript and JavaScript; <a href="/docs/client">its page</a> says where it comes from.</p>${codeBlock(client, "With the client")}
<p>All samples below go on from these.</p>`;
}
