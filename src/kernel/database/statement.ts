import type postgres from "postgres";
import type { AnySql } from "./client.ts";

/** Stands in a statement for a value that is read anew each time it is sent; `sql` makes typed ones. */
export type Given<Values> = (read: (values: Values, sql: AnySql) => unknown) => postgres.Fragment;

/** What a statement's text depends on. */
type Shape = Readonly<Record<string, boolean | string>>;

/**
 * Returns a function that sends a statement whose text is put together once for each shape. The large statements on a turn's
 * way are made of 20 to 150 fragments, each of which is a promise to the driver: to put one together took 0.1 to 0.3 ms each time.
 *
 * `write` is to be a function of the module that sees nothing of a single use but the shape, so that no value of one can stay
 * in the text of all: values come by `given`. Its `sql` makes fragments only; what else stands in the text is a constant.
 */
export function statement<S extends Shape, Values, Row extends object>(
  write: (sql: AnySql, given: Given<Values>, shape: S) => postgres.Fragment,
): (sql: AnySql, shape: S, values: Values) => postgres.PendingQuery<Row[]> {
  const known = new Map<string, Text>();
  return (sql, shape, values) => {
    const key = Object.values(shape).join(" ");
    let text = known.get(key);
    if (text === undefined) {
      text = flat(write(writer, (read) => new Value(read as Read) as never, shape));
      known.set(key, text);
    }
    const args = text.args.map((arg) => (arg instanceof Value ? arg.read(values, sql) : arg));
    return (sql as Send<Row>)(text.strings, ...args);
  };
}

type Send<Row> = (strings: TemplateStringsArray, ...args: unknown[]) => postgres.PendingQuery<Row[] & object[]>;

/** A statement as the driver is given it: the texts between its values. */
interface Text {
  readonly strings: TemplateStringsArray;
  readonly args: readonly unknown[];
}

type Read = (values: unknown, sql: AnySql) => unknown;

class Value {
  readonly read: Read;
  constructor(read: Read) {
    this.read = read;
  }
}

class Piece {
  readonly strings: readonly string[];
  readonly args: readonly unknown[];
  constructor(strings: readonly string[], args: readonly unknown[]) {
    this.strings = strings;
    this.args = args;
  }
}

/** Stands for the client while a statement is put together. */
const writer = Object.assign((strings: TemplateStringsArray, ...args: unknown[]) => new Piece(strings, args), {
  unsafe: (text: string) => new Piece([text], []),
}) as unknown as AnySql;

/** Puts what a piece is made of in its place, as the driver would. */
function flat(whole: unknown): Text {
  const strings = [""];
  const args: unknown[] = [];
  const addText = (text = "") => {
    strings[strings.length - 1] += text;
  };
  const add = (part: unknown) => {
    if (part instanceof Piece) {
      addText(part.strings[0]);
      part.args.forEach((arg, index) => {
        add(arg);
        addText(part.strings[index + 1]);
      });
    } else if (Array.isArray(part) && part[0] instanceof Piece) {
      for (const one of part) {
        addText(" ");
        add(one);
      }
    } else {
      if (part instanceof Promise)
        throw new TypeError("A fragment of a client stands in a text that is put together once.");
      args.push(part);
      strings.push("");
    }
  };
  add(whole);
  return { strings: Object.assign(strings, { raw: strings }), args };
}
