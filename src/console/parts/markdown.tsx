import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type JSX, memo, type ReactNode } from "react";
import { CodeBlock } from "./code-block.tsx";
import { isSafeLink } from "./safe-link.ts";

/** A longer text is shown as it is: reading it as Markdown would hold up the page. */
const textMax = 100_000;
/** Deeper nesting is shown as text. */
const depthMax = 24;

/**
 * What a model wrote. Only known Markdown becomes elements: HTML stays text, a picture is
 * a link to it, and a link leads to `http`, `https` or `mailto` only. So no request goes
 * to another origin before a person asks for it.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return <div className="markdown">{parsed(text)}</div>;
});

function parsed(text: string): ReactNode {
  if (text.length > textMax)
    return (
      <p className="as-written" dir="auto">
        {text}
      </p>
    );
  try {
    return <Blocks tokens={lexer(text, { gfm: true, breaks: true })} depth={0} />;
  } catch {
    return (
      <p className="as-written" dir="auto">
        {text}
      </p>
    );
  }
}

interface TokensProps {
  readonly tokens: readonly Token[] | undefined;
  readonly depth: number;
}

function Blocks({ tokens = [], depth }: TokensProps) {
  // Tokens are only ever added at the end, so the place is their key.
  return tokens.map((token, at) => <Fragment key={at}>{blockOf(token as Tokens.Generic, depth)}</Fragment>);
}

function blockOf(token: Tokens.Generic, depth: number): ReactNode {
  if (depth > depthMax) return token.raw;
  const inner = () => <Blocks tokens={token.tokens} depth={depth + 1} />;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "paragraph":
      return <p dir="auto">{inner()}</p>;
    case "blockquote":
      return <blockquote dir="auto">{inner()}</blockquote>;
    case "code":
      return <CodeBlock text={token.text} language={token.lang} />;
    case "heading":
      return <Heading depth={token.depth}>{inner()}</Heading>;
    case "list":
      return <List list={token as Tokens.List} depth={depth + 1} />;
    case "table":
      return <Table table={token as Tokens.Table} depth={depth + 1} />;
    default:
      return inlineOf(token, depth);
  }
}

function inlineOf(token: Tokens.Generic, depth: number): ReactNode {
  const inner = () => <Blocks tokens={token.tokens} depth={depth + 1} />;
  switch (token.type) {
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "br":
      return <br />;
    case "codespan":
      return <code>{token.text}</code>;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "link":
      return <OutwardLink href={token.href}>{inner()}</OutwardLink>;
    case "image":
      return <OutwardLink href={token.href}>🖼 {token.text || "picture"}</OutwardLink>;
    case "text":
      return token.tokens ? inner() : unescaped(token.text);
    case "escape":
      return token.text;
    default:
      return token.raw;
  }
}

function OutwardLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (!isSafeLink(href)) return <span title={href}>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  );
}

/** Headings of a message stand below those of the page. */
function Heading({ depth, children }: { readonly depth: number; readonly children: ReactNode }) {
  const Tag = `h${Math.min(depth + 2, 6)}` as keyof JSX.IntrinsicElements;
  return <Tag dir="auto">{children}</Tag>;
}

function List({ list, depth }: { readonly list: Tokens.List; readonly depth: number }) {
  const items = list.items.map((item, at) => (
    <li key={at} dir="auto">
      <Blocks tokens={item.tokens} depth={depth} />
    </li>
  ));
  return list.ordered ? (
    <ol dir="auto" start={list.start === "" ? 1 : list.start}>
      {items}
    </ol>
  ) : (
    <ul dir="auto">{items}</ul>
  );
}

/** How a column stands, as its author said. */
function classOf(align: "center" | "left" | "right" | null): string | undefined {
  return align === null ? undefined : `at-${align}`;
}

function Table({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard.
    <section className="scroll-x" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map(({ tokens, align }, at) => (
              <th key={at} className={classOf(align)}>
                <Blocks tokens={tokens} depth={depth} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>
              {row.map(({ tokens, align }, column) => (
                <td key={column} className={classOf(align)} dir="auto">
                  <Blocks tokens={tokens} depth={depth} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const entities: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " };

/** The lexer leaves these as they were written; elements are made of text, so they are safe. */
function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => entities[name] ?? whole);
}
