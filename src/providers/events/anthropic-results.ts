import { type Fields, fieldsOf, numberIn, objectsIn, textIn, wordIn } from "./fields.ts";

/** The result of a tool that Anthropic runs itself, as its client reads it. */
interface ServerToolResult {
  readonly type: string;
  readonly tool_use_id: string;
  readonly content: unknown;
}

/** Returns a block that is such a result with what can be read of it; null for any other block. */
export function serverToolResult(block: Fields): ServerToolResult | null {
  const type = wordIn(block.type);
  const tool_use_id = wordIn(block.tool_use_id);
  if (type === undefined || tool_use_id === undefined) return null;
  if (type === "mcp_tool_result") {
    const is_error = block.is_error === true;
    return { type, tool_use_id, is_error, content: mcpContent(block.content) } as ServerToolResult;
  }
  const content = contentOf(type, block.content);
  return content === null ? null : { type, tool_use_id, content };
}

function contentOf(type: string, value: unknown): unknown {
  const content = fieldsOf(value);
  const error = wordIn(content?.error_code);
  if (error !== undefined && typeof content?.type === "string" && content.type.endsWith("_error"))
    return { type: `${type}_error`, error_code: error };
  switch (type) {
    case "web_search_tool_result":
      return objectsIn(value).flatMap(pageOf);
    case "web_fetch_tool_result":
      return content === undefined ? null : fetchedOf(content);
    case "code_execution_tool_result":
    case "bash_code_execution_tool_result":
      return content === undefined ? null : { ...ranOf(content), type: type.replace(/_tool_result$/, "_result") };
    default:
      return null;
  }
}

function pageOf(page: Fields): object[] {
  const url = wordIn(page.url);
  if (url === undefined) return [];
  const encrypted_content = textIn(page.encrypted_content) ?? "";
  const page_age = textIn(page.page_age);
  return [{ type: "web_search_result", url, title: textIn(page.title) ?? null, encrypted_content, page_age }];
}

function fetchedOf(content: Fields): object | null {
  const url = wordIn(content.url);
  const document = fieldsOf(content.content);
  const source = fieldsOf(document?.source);
  const data = textIn(source?.data);
  if (url === undefined || data === undefined) return null;
  const isPdf = source?.type === "base64";
  return {
    type: "web_fetch_result",
    url,
    retrieved_at: textIn(content.retrieved_at) ?? null,
    content: {
      type: "document",
      title: textIn(document?.title) ?? null,
      source: { type: isPdf ? "base64" : "text", media_type: isPdf ? "application/pdf" : "text/plain", data },
    },
  };
}

function ranOf(content: Fields): object {
  return {
    stdout: textIn(content.stdout) ?? "",
    stderr: textIn(content.stderr) ?? "",
    return_code: numberIn(content.return_code) ?? 0,
    content: [],
  };
}

function mcpContent(content: unknown): unknown {
  if (typeof content === "string") return content;
  return objectsIn(content).flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [{ type, text }] : [],
  );
}
