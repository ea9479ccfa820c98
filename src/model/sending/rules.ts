/**
 * What vendors of models demand of a prompt and its tools, as they publish it: a row for each.
 * docs/vendors.md has them as tables. `fit-prompt.ts`
 * and `fit-tools.ts` make a request fit for its row; what holds for all rows stands there.
 */
export interface VendorRules {
  readonly name: VendorName;
  /** The ids of calls that it takes; any other one becomes nine letters and digits, which all take. */
  readonly callId: RegExp;
  /** The names of tools that it takes; any other one becomes letters, digits, `_` and `-`, which all take. */
  readonly toolName: RegExp;
  /** A tool's description has at most this many characters, a longer one is cut; null: it publishes no number. */
  readonly descriptionMax: number | null;
  /** It takes at most this many tools; null: it publishes no number. */
  readonly toolsMax: number | null;
  /** Whose thoughts, and signatures of calls and texts, it takes. */
  readonly thoughts: ThoughtMaker;
  /** Whether messages of the assistant in a row are sent as one, and several texts of a user as one. */
  readonly alternates: boolean;
  /** Whether it wants words of the assistant before each message of the user, also between results of tools and that. */
  readonly answersAll: boolean;
  /** Whether it takes calls in a prompt only beside definitions of tools. */
  readonly callsNeedTools: boolean;
  /** Whether it is sent the files that its models made. */
  readonly ownFiles: boolean;
  /** It takes at most this many messages, of which the newest are sent; null: it publishes no number. */
  readonly messagesMax: number | null;
  readonly schemas: SchemaRules;
}

/** What a vendor demands of the schema of a tool's input, beyond what all do. */
export interface SchemaRules {
  /** The names of an input's fields that it takes; null: any. */
  readonly fieldName: RegExp | null;
  /** The formats of texts that it takes; null: any, as annotations. */
  readonly formats: readonly string[] | null;
  /** Whether it takes an empty text among the values of an `enum`. */
  readonly emptyValues: boolean;
  /** Whether every schema has a type, and none beside `anyOf`. */
  readonly typesInBranches: boolean;
  /** Whether nothing else stands beside `anyOf` and `$ref`. */
  readonly aloneUnions: boolean;
}

/** Who made a thought: the protocol whose client reads its signature. */
export type ThoughtMaker = "anthropic" | "google" | "openai" | "openrouter" | "chat" | "nobody";

export type VendorName =
  | "openai.responses"
  | "openai.chat"
  | "azure"
  | "anthropic"
  | "google"
  | "mistral"
  | "moonshot"
  | "deepseek"
  | "xai"
  | "groq"
  | "bedrock"
  | "common";

const openNames = /^[a-zA-Z0-9_-]{1,64}$/;
const ledNames = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
/** Moonshot's, the strictest of all. */
const threeNames = /^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$/;
const openIds = /^[a-zA-Z0-9_-]{1,64}$/;
const nineIds = /^[a-zA-Z0-9]{9}$/;

const anySchema: SchemaRules = {
  fieldName: null,
  formats: null,
  emptyValues: true,
  typesInBranches: false,
  aloneUnions: false,
};

/** What the rows have in common that speak Chat Completions. */
const chat = {
  callId: openIds,
  toolName: openNames,
  descriptionMax: null,
  toolsMax: 128,
  thoughts: "chat",
  alternates: false,
  answersAll: false,
  callsNeedTools: false,
  ownFiles: false,
  messagesMax: null,
  schemas: anySchema,
} as const;

const openaiChat = { ...chat, callId: /^[a-zA-Z0-9_-]{1,40}$/, thoughts: "nobody", messagesMax: 2_048 } as const;

const rows: Readonly<Record<VendorName, Omit<VendorRules, "name">>> = {
  "openai.responses": { ...chat, thoughts: "openai" },
  "openai.chat": openaiChat,
  // As OpenAI's own, which has dropped the limit of descriptions.
  azure: { ...openaiChat, descriptionMax: 1_024 },
  anthropic: {
    ...chat,
    toolsMax: null,
    thoughts: "anthropic",
    alternates: true,
    callsNeedTools: true,
    schemas: { ...anySchema, fieldName: /^[a-zA-Z0-9_.-]{1,64}$/ },
  },
  google: {
    ...chat,
    toolName: ledNames,
    thoughts: "google",
    alternates: true,
    answersAll: true,
    ownFiles: true,
    schemas: {
      ...anySchema,
      formats: ["enum", "date-time", "date", "time", "int32", "int64", "float", "double"],
      emptyValues: false,
      typesInBranches: true,
      aloneUnions: true,
    },
  },
  mistral: { ...chat, callId: nineIds, toolsMax: null, alternates: true, answersAll: true },
  moonshot: {
    ...chat,
    // Its models name their calls `functions.read:0`, and are told so again.
    callId: /^[a-zA-Z0-9_.:-]{1,64}$/,
    toolName: threeNames,
    schemas: { ...anySchema, typesInBranches: true },
  },
  deepseek: { ...chat, alternates: true, answersAll: true },
  xai: chat,
  groq: chat,
  bedrock: {
    ...chat,
    toolsMax: null,
    thoughts: "anthropic",
    alternates: true,
    callsNeedTools: true,
    schemas: { ...anySchema, fieldName: /^[a-zA-Z0-9_.-]{1,64}$/ },
  },
  common: {
    ...chat,
    callId: nineIds,
    toolName: threeNames,
    descriptionMax: 1_024,
    alternates: true,
    answersAll: true,
    schemas: { ...anySchema, emptyValues: false, typesInBranches: true },
  },
};

/** The vendor of a model, by the first part of its id at a router or a gateway. */
const makers: Readonly<Record<string, VendorName>> = {
  openai: "openai.chat",
  azure: "azure",
  anthropic: "anthropic",
  google: "google",
  vertex: "google",
  mistral: "mistral",
  mistralai: "mistral",
  moonshotai: "moonshot",
  deepseek: "deepseek",
  xai: "xai",
  "x-ai": "xai",
  groq: "groq",
  amazon: "bedrock",
  bedrock: "bedrock",
};

/** A model, as far as it says whose it is. */
export interface NamedModel {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

const known = new WeakMap<NamedModel, VendorRules>();

/** Returns the rules of a model's vendor; the strictest common form where nothing is known of it. */
export function rulesOf(model: NamedModel): VendorRules {
  const found = known.get(model) ?? findRules(model);
  known.set(model, found);
  return found;
}

function findRules({ provider, modelId }: NamedModel): VendorRules {
  if (provider === "openai.responses") return rowOf("openai.responses");
  if (provider === "openai.chat") return rowOf("openai.chat");
  const [client = ""] = provider.split(".", 1);
  if (client === "anthropic" || client === "google") return rowOf(client);
  if (client !== "openrouter" && client !== "gateway") return rowOf("common");
  const [maker = ""] = modelId.replace(/^~/, "").split("/", 1);
  const row = rowOf((Object.hasOwn(makers, maker) && makers[maker]) || "common");
  if (client === "openrouter") return { ...row, thoughts: "openrouter", ownFiles: false };
  return row.name === "openai.chat" || row.name === "azure" ? { ...row, thoughts: "openai" } : row;
}

/** Returns a row of the table. */
export function rowOf(name: VendorName): VendorRules {
  return { name, ...rows[name] };
}
