import type { Agent, AgentUpdate, AgentVersion } from "parley/client";
import { jsonText, readJsonText } from "../parts/json-text.ts";

type PolicyMode = "full" | "auto" | "manual";

/** What a person edits of an agent. Fields have the API's names, so that its errors find them. */
export interface AgentForm {
  readonly name: string;
  readonly instructions: string;
  readonly providerId: string;
  readonly model: string;
  readonly thinkingLevel: string;
  readonly workspace: boolean;
  readonly write_todos: boolean;
  readonly memory: boolean;
  readonly memoryInjectionEnabled: boolean;
  readonly mcpConnectionIds: readonly string[];
  readonly "approvalInChat.default": string;
  readonly "approvalInChat.overrides": string;
  readonly "approvalInTasks.default": string;
  readonly "approvalInTasks.overrides": string;
  readonly "turnLimits.maxModelCalls": string;
  readonly "turnLimits.maxTokens": string;
  readonly "turnLimits.maxSeconds": string;
  readonly "modelSettings.temperature": string;
  readonly "modelSettings.topP": string;
  readonly "modelSettings.maxOutputTokens": string;
  readonly "modelSettings.stopSequences": string;
  readonly "modelSettings.seed": string;
  readonly promptCaching: string;
  readonly fallbackModels: string;
  readonly clientTools: string;
  readonly metadata: string;
  readonly autoCompaction: boolean;
  readonly compactionReserveTokens: string;
}

/** The form of a new agent. */
export const newAgent: AgentForm = {
  ...{ name: "", instructions: "", providerId: "", model: "", thinkingLevel: "" },
  ...{ workspace: false, write_todos: false, memory: false, memoryInjectionEnabled: false, mcpConnectionIds: [] },
  ...{ "approvalInChat.default": "full", "approvalInChat.overrides": "" },
  ...{ "approvalInTasks.default": "full", "approvalInTasks.overrides": "" },
  ...{ "turnLimits.maxModelCalls": "", "turnLimits.maxTokens": "", "turnLimits.maxSeconds": "" },
  ...{ "modelSettings.temperature": "", "modelSettings.topP": "", "modelSettings.maxOutputTokens": "" },
  ...{ "modelSettings.stopSequences": "", "modelSettings.seed": "", promptCaching: "auto" },
  ...{ fallbackModels: "", clientTools: "", metadata: "", autoCompaction: true, compactionReserveTokens: "16384" },
};

/** Returns the form of a new agent, with the provider and the model of the newest that has both; with `provider`, of those that use it. */
export function newAgentLike(agents: readonly Pick<Agent, "providerId" | "model">[], provider?: string): AgentForm {
  const like = agents.find(
    ({ providerId, model }) => providerId !== null && model !== null && (provider ?? providerId) === providerId,
  );
  return { ...newAgent, providerId: provider ?? like?.providerId ?? "", model: like?.model ?? "" };
}

/** A form that is saved as a version, with a word on why. */
export interface VersionForm extends AgentForm {
  readonly changeNote: string;
}

/** Returns the body that saves a form as a version, or as a draft. Throws as `agentOfForm`. */
export function versionOfForm({ changeNote, ...form }: VersionForm): AgentUpdate {
  const note = changeNote.trim();
  return { ...agentOfForm(form), ...(note !== "" && { changeNote: note }) };
}

const toolGroups = ["workspace", "write_todos", "memory"] as const;

/** Returns the form of an agent, or of one of its versions. */
export function formOfAgent(agent: Agent | AgentVersion): AgentForm {
  const { approvalInChat, approvalInTasks, turnLimits, modelSettings } = agent;
  const number = (value: number | undefined) => (value === undefined ? "" : String(value));
  return {
    name: agent.name,
    instructions: agent.instructions,
    providerId: agent.providerId ?? "",
    model: agent.model ?? "",
    thinkingLevel: agent.thinkingLevel ?? "",
    workspace: agent.tools.includes("workspace"),
    write_todos: agent.tools.includes("write_todos"),
    memory: agent.tools.includes("memory"),
    memoryInjectionEnabled: agent.memoryInjectionEnabled,
    mcpConnectionIds: agent.mcpConnectionIds,
    "approvalInChat.default": approvalInChat.default,
    "approvalInChat.overrides": jsonText(approvalInChat.overrides),
    "approvalInTasks.default": approvalInTasks.default,
    "approvalInTasks.overrides": jsonText(approvalInTasks.overrides),
    "turnLimits.maxModelCalls": number(turnLimits.maxModelCalls),
    "turnLimits.maxTokens": number(turnLimits.maxTokens),
    "turnLimits.maxSeconds": number(turnLimits.maxSeconds),
    "modelSettings.temperature": number(modelSettings.temperature),
    "modelSettings.topP": number(modelSettings.topP),
    "modelSettings.maxOutputTokens": number(modelSettings.maxOutputTokens),
    "modelSettings.stopSequences": jsonText(modelSettings.stopSequences ?? []),
    "modelSettings.seed": number(modelSettings.seed),
    promptCaching: agent.promptCaching,
    fallbackModels: jsonText(agent.fallbackModels),
    clientTools: jsonText(agent.clientTools),
    metadata: jsonText(agent.metadata),
    autoCompaction: agent.autoCompaction,
    compactionReserveTokens: String(agent.compactionReserveTokens),
  };
}

/** Returns the body that makes an agent of a form, or changes one to it. Throws `ParleyError` for a field that is no JSON. */
export function agentOfForm(form: AgentForm): AgentUpdate & { readonly name: string } {
  const policy = (field: "approvalInChat" | "approvalInTasks") => ({
    default: form[`${field}.default`] as PolicyMode,
    overrides: readJsonText<NonNullable<AgentUpdate["approvalInChat"]>["overrides"] & object>(
      `${field}/overrides`,
      form[`${field}.overrides`],
      [],
    ),
  });
  // What is no number goes to the service as it is: its answer says what is wrong with it.
  const number = (text: string) => (/^-?[\d.]+$/.test(text.trim()) ? Number(text) : (text as unknown as number));
  const limit = (name: "maxModelCalls" | "maxTokens" | "maxSeconds") =>
    form[`turnLimits.${name}`].trim() === "" ? {} : { [name]: number(form[`turnLimits.${name}`]) };
  const setting = (name: "temperature" | "topP" | "maxOutputTokens" | "seed") =>
    form[`modelSettings.${name}`].trim() === "" ? {} : { [name]: number(form[`modelSettings.${name}`]) };
  const stopSequences = readJsonText<string[]>("modelSettings/stopSequences", form["modelSettings.stopSequences"], []);
  return {
    name: form.name,
    instructions: form.instructions,
    providerId: form.providerId || null,
    model: form.model.trim() || null,
    thinkingLevel: form.thinkingLevel.trim() || null,
    tools: toolGroups.filter((group) => form[group]),
    memoryInjectionEnabled: form.memoryInjectionEnabled,
    mcpConnectionIds: [...form.mcpConnectionIds],
    approvalInChat: policy("approvalInChat"),
    approvalInTasks: policy("approvalInTasks"),
    turnLimits: { ...limit("maxModelCalls"), ...limit("maxTokens"), ...limit("maxSeconds") },
    modelSettings: {
      ...{ ...setting("temperature"), ...setting("topP"), ...setting("maxOutputTokens"), ...setting("seed") },
      ...(stopSequences.length === 0 ? {} : { stopSequences }),
    },
    promptCaching: form.promptCaching as NonNullable<AgentUpdate["promptCaching"]>,
    fallbackModels: readJsonText("fallbackModels", form.fallbackModels, []),
    clientTools: readJsonText("clientTools", form.clientTools, []),
    metadata: readJsonText("metadata", form.metadata, {}),
    autoCompaction: form.autoCompaction,
    compactionReserveTokens: number(form.compactionReserveTokens),
  };
}
