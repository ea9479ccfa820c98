import { nameAsSaid } from "./call-names.ts";
import type { FitTools } from "./fit-tools.ts";
import type { ThoughtMaker, VendorRules } from "./rules.ts";

/** What is said of a thought beside its text: whose it is. */
export type ThoughtName = Readonly<Record<string, Readonly<Record<string, never>>>>;

/** Reads a vendor's answer back: tools by the names that they have here. */
export class SaidParts {
  /** What a thought is told with that has no word of its vendor; null where it is of Chat Completions. */
  readonly nameOfThoughts: ThoughtName | null;
  readonly #tools: FitTools;

  constructor(tools: FitTools, { thoughts }: Pick<VendorRules, "thoughts">) {
    this.#tools = tools;
    this.nameOfThoughts = namers.has(thoughts) ? { [thoughts]: {} } : null;
  }

  /** Returns a part as it was meant. */
  read<P extends { readonly type: string }>(part: P): P {
    if (part.type !== "tool-input-start" && part.type !== "tool-call" && part.type !== "tool-result") return part;
    const { toolName } = part as P & { readonly toolName?: unknown };
    const name = this.#tools.names.realOf(nameAsSaid(toolName));
    return name === toolName ? part : { ...part, toolName: name };
  }
}

/** Makers of thoughts whose clients name them, though not each thought; one without a name is of Chat Completions. */
const namers: ReadonlySet<ThoughtMaker> = new Set(["anthropic", "google", "openai", "openrouter"] as const);
