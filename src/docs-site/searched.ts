import { operationsOf, type ShownDocument, titleOf } from "./document.ts";
import { errorRows } from "./error-codes.ts";

/** One thing that the search finds. */
export interface Searched {
  readonly url: string;
  readonly title: string;
  /** What it is part of. */
  readonly from: string;
  readonly text: string;
}

/** What the search finds on the page of operations: operations, shapes and errors. */
export function searchedOperations(document: ShownDocument): Searched[] {
  const operations = operationsOf(document);
  return [
    ...operations.map(({ method, path, operationId, tags, summary, description, parameters, responses }) => ({
      url: `/docs#${operationId}`,
      title: summary,
      from: `${titleOf(tags[0] ?? "")} · ${method} ${path}`,
      text: [
        ...[operationId, description, ...parameters.map(({ name }) => name)],
        ...Object.values(responses).map((response) => response.description),
      ].join(" "),
    })),
    ...Object.entries(document.components.schemas).map(([name, { properties = {} }]) => ({
      url: `/docs#shape-${name}`,
      title: name,
      from: "Shapes",
      text: Object.keys(properties).join(" "),
    })),
    ...codesOnce(operations).map(({ status, code, messages }) => ({
      url: `/docs#error-${code}`,
      title: `${status} ${code}`,
      from: "Errors",
      text: [...messages].join(" "),
    })),
  ];
}

function codesOnce(operations: Parameters<typeof errorRows>[0]) {
  const rows = errorRows(operations);
  return rows.filter(({ code }, at) => rows.findIndex((row) => row.code === code) === at);
}
