import { createHash } from "node:crypto";
import type { ToolSet } from "ai";
import { prepareTools } from "ai/internal";
import { sleep } from "../../kernel/async/wait.ts";
import { isBlank } from "../../messages/blank.ts";
import { cleanText, storable } from "../../messages/text.ts";
import { ToolNames } from "./call-names.ts";
import { type FitSchema, fitSchema } from "./fit-schema.ts";
import type { VendorRules } from "./rules.ts";

type PreparedTool = NonNullable<Awaited<ReturnType<typeof prepareTools>>>[number];
export type ToolDefinition = Extract<PreparedTool, { readonly type: "function" }>;

/** A tool as a vendor is offered it. */
export interface FitTool {
  /** As the model has it elsewhere, and the reader. */
  readonly name: string;
  readonly definition: ToolDefinition;
  /** The same for the same tool in another turn. */
  readonly key: string;
  /** The input's fields that are sent by another name: by that name, their own. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** A tool that a vendor was not offered, and why. */
export interface UnofferedTool {
  readonly tool: string;
  readonly reason: string;
}

/** The tools of a turn, fit for one vendor. */
export interface FitTools {
  readonly offered: readonly FitTool[];
  readonly names: ToolNames;
  readonly leftOut: readonly UnofferedTool[];
}

/** Tools are made fit for so long, in milliseconds, before others have a turn. */
const sliceMs = 10;

const fitted = new WeakMap<ToolSet, Map<VendorRules["name"], Promise<FitTools>>>();

/** Returns the tools of a turn as a vendor takes them: the first ones, where it takes fewer. They are the same in all steps of the turn. */
export function fitTools(tools: ToolSet, rules: VendorRules): Promise<FitTools> {
  let ofVendors = fitted.get(tools);
  if (ofVendors === undefined) {
    ofVendors = new Map();
    fitted.set(tools, ofVendors);
  }
  let found = ofVendors.get(rules.name);
  if (found === undefined) {
    found = makeFit(tools, rules);
    ofVendors.set(rules.name, found);
  }
  return found;
}

async function makeFit(tools: ToolSet, rules: VendorRules): Promise<FitTools> {
  const { name: vendor, toolName, toolsMax, descriptionMax, schemas } = rules;
  const names = new ToolNames(toolName, Object.keys(tools));
  const offered: FitTool[] = [];
  const leftOut: UnofferedTool[] = [];
  let began = performance.now();
  for (const prepared of (await prepareTools({ tools })) ?? []) {
    if (prepared.type !== "function") continue;
    if (performance.now() - began > sliceMs) {
      await sleep(0);
      began = performance.now();
    }
    const { name, description = "", inputSchema, ...rest } = prepared;
    if (toolsMax !== null && offered.length === toolsMax) {
      leftOut.push({ tool: name, reason: `The vendor takes at most ${toolsMax} tools.` });
      continue;
    }
    const { fit, digest } = fitOf(inputSchema, vendor, schemas);
    if ("reason" in fit) {
      leftOut.push({ tool: name, reason: fit.reason });
      continue;
    }
    const sent = names.sentOf(name);
    // A vendor refuses a description without a word, and one without it knows no more than the name.
    const said = isBlank(description) ? sent : shortened(cleanText(description), descriptionMax ?? Infinity);
    const definition: ToolDefinition = { ...rest, name: sent, description: said, inputSchema: fit.schema };
    offered.push({ name, definition, key: `${name} ${digest} ${digestOf(said)}`, renamed: fit.renamed });
  }
  return { offered, names, leftOut };
}

/** Returns a text of at most that many characters: a longer one ends after a word, with an ellipsis. */
function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  // Not with half of a pair at its end.
  const begin = text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "");
  const lastWord = begin.search(/\s\S*$/);
  // One "word" of half the text is none.
  return `${(lastWord > max / 2 ? begin.slice(0, lastWord) : begin).trimEnd()}…`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

interface KnownSchema {
  readonly digest: string;
  readonly fits: Map<VendorRules["name"], FitSchema>;
}

/** Schemas of servers and clients are the same objects for many turns; those of built-in tools are made anew in each, and are short. */
const knownObjects = new WeakMap<object, KnownSchema>();
const knownTexts = new Map<string, KnownSchema>();
/** Schemas that are kept by their text: this many, of at most this many characters, take 8 MB. */
const knownTextsMax = 1_000;
const knownCharactersMax = 4_096;

function fitOf(
  sent: unknown,
  vendor: VendorRules["name"],
  rules: VendorRules["schemas"],
): { fit: FitSchema; digest: string } {
  const known = knownOf(sent);
  let fit = known.fits.get(vendor);
  if (fit === undefined) {
    fit = fitSchema(sent, rules);
    if ("schema" in fit) fit = { ...fit, schema: storable(fit.schema) };
    known.fits.set(vendor, fit);
  }
  return { fit, digest: known.digest };
}

function knownOf(sent: unknown): KnownSchema {
  const isObject = typeof sent === "object" && sent !== null;
  const same = isObject ? knownObjects.get(sent) : undefined;
  if (same !== undefined) return same;
  const text = JSON.stringify(sent) ?? "";
  const alike = knownTexts.get(text);
  const known = alike ?? { digest: digestOf(text), fits: new Map() };
  if (isObject) knownObjects.set(sent, known);
  if (text.length > knownCharactersMax) return known;
  // The map's last entry is the last used.
  knownTexts.delete(text);
  knownTexts.set(text, known);
  const oldest = knownTexts.keys().next().value;
  if (knownTexts.size > knownTextsMax && oldest !== undefined) knownTexts.delete(oldest);
  return known;
}
